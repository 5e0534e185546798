// Package systemd tests the device rules in a box with a real systemd as its
// init: a Debian root booted by systemd-nspawn, on cgroup v2, legacy v1 and
// hybrid, with runc and crun and the systemd cgroup driver, as root, with id maps
// and under an ordinary user's manager, on plain and on hardened kernels. A
// witness in a container opens nodes in a tight loop while the manager is
// reloaded, re-executed and given new properties; the same with the bus out of
// reach must be refused, until "gpu-hook reapply" has put the rules back.
//
// The test program is all there is but for that: by its environment it is the
// boot's driver, the OCI hook, or the witness. Between two commands the driver
// waits for the witness, never for a time. The root is made once under
// GPUHOOK_CACHE; cgroups made for a box are removed after it. Lines of the table
// that "make test" prints are noted with lab.NoteAccess. All boxes together take
// 3 to 4 minutes on 2 cores.
//
// It needs root, systemd-nspawn and debootstrap, and the network once.
package systemd
