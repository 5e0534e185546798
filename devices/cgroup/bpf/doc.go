// Package bpf makes the few bpf(2) calls that device rules need: query the
// device programs of a cgroup, read one back, load one, and attach, replace,
// detach or pin it.
//
// It is not a BPF library: no maps, no ELF files, no BTF, no links, one program
// type. The calls are made directly because linking cilium/ebpf costs 0.26 ms
// of process start (its asm package alone 0.19 ms) of a hook that has 4 ms;
// the tests use that library to check this package.
//
// The structures are those of 64-bit machines, the only ones with a driver.
// Device programs need Linux 4.15 (commit ebc614f68736).
package bpf
