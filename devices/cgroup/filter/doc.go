// Package filter works on the text of cgroup device programs: the allow
// prologue that is put in front of a copy of a live program, an interpreter
// that says what a program grants, the cleaning of dumps that the kernel has
// rewritten or blinded, and a filter rebuilt from a list of device rules.
//
// It refuses to touch the kernel: no system call is made here, so every part
// can be tested and fuzzed as plain data. It also refuses programs that call
// helpers or use maps, because a dump of those cannot be loaded again.
//
// The instruction set is that of Linux 4.15, the first kernel with device
// programs (commit ebc614f68736): no 32-bit jumps (5.1) are generated, though
// they are understood. Instructions are little-endian, as on every machine
// with an NVIDIA driver (amd64, arm64, ppc64le).
package filter
