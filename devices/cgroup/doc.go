// Package cgroup gives a container's cgroup access to device nodes so that it
// stays: on cgroup v1 by devices.allow, on v2 by replacing device programs, and
// on scopes of systemd by telling systemd, whose next daemon-reload would
// otherwise close the devices again.
//
// [Detect] finds out which of these a process is under; nothing is configured.
// [Layout.Allow] grants rules, [Layout.Missing] says which are not granted.
//
// The package refuses to widen: rules name one character device exactly, a
// program is replaced by a copy with an allow prologue and never taken off
// without another filter in force, a unit without a device policy is left
// alone, and so is every cgroup above the container's own unit. Where such an
// outer cgroup denies a device the result carries a warning.
//
// It needs Linux 4.15 on v2 (device programs, commit ebc614f68736), and uses
// BPF_F_REPLACE where there is one (5.6, commit 7dd68b3279f1).
package cgroup
