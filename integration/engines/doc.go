// Package engines tests gpu-hook under the container engines that people use:
// Docker, containerd (ctr and CRI) and Podman, of Debian 12 and of sid, with
// their own runc and crun, on cgroup v1, v2 and the mixture of both.
//
// Each cell of the matrix is a machine of its own: a Debian root made once by
// debootstrap under GPUHOOK_CACHE, an overlay over it, and private mount, pid
// and network namespaces, so that nothing is installed or changed on the real
// machine and everything ends with the test. What it leaves outside, cgroups
// below a name of its own, is removed. Images are made by code and imported;
// a stand-in host with NVIDIA's own driver files takes the place of GPUs.
//
// The tests print one table of what passed and what cannot apply; the file that
// GPUHOOK_TABLE names gets it, too. They need root, network once, and Linux 5.12.
package engines
