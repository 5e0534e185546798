// Package devices knows the NVIDIA GPUs of a host: which there are, which of
// them a container asked for, and which device nodes it needs to use them.
//
// It reads /proc/driver/nvidia, /proc/devices and /sys/bus/pci below the roots
// that a [Host] names, so that a plain directory can stand in for a host. It
// makes nodes by a directory handle and one file name, and looks again at what
// it made before it changes anything.
//
// What it refuses to do: it loads no NVIDIA library, walks no path inside a
// container's root (the caller hands in a handle of the container's /dev),
// writes no cgroup rule (see the sub-package cgroup), and starts no process
// except in modules_linux.go (modprobe) and smi_linux.go (nvidia-smi), both of
// which run only when the caller says so.
//
// Files of the host are read with a size limit and never block; nonsense in
// them makes a GPU with a [GPU.Fault], not a failure, since a broken GPU that
// nobody asked for must stop nobody.
//
// It needs Linux 4.18; fchmodat2 (6.6) is used where there is one.
package devices
