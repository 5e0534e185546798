// Package access tests what containers may open, from the outside: real
// runtimes on every cgroup layout, as root and with id maps, on plain and on
// hardened kernels; what an update or a module reload takes away and "gpu-hook
// reapply" puts back; cgroups above the container that say no; and input that
// is wrong. Each container is asked for far more devices than it was given: the
// answers of a container without GPUs and of one with them may differ only in
// those.
//
// Runs have a private /run, so that records of other containers are neither
// seen nor made. Rows for the table that "make test" prints are noted with
// [lab.NoteAccess].
//
// The package changes net.core.bpf_jit_harden and kernel.kptr_restrict where
// GPUHOOK_MAY_HARDEN allows it, and puts them back. It needs root.
package access
