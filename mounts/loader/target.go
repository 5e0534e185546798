package loader

import "debug/elf"

// target is a kind of program that a container may run.
type target struct {
	machine elf.Machine
	class   elf.Class
	// multiarch is Debian's name for it, used in directory names.
	multiarch string
	// loaders are the paths that glibc programs of this kind name as their
	// interpreter (glibc's shlib-versions and sysdeps/*/ldsodefs; the psABIs).
	loaders []string
	// plain are the directories beside Debian's where distributions have
	// libc.so.6, the built-in ones of Fedora, Arch and Debian's biarch.
	plain []string
	// musl is the architecture in the name of musl's loader and path file.
	musl string
}

// targets lists the machines that NVIDIA's driver exists for, then others that
// images are made for, by which a foreign image is recognised.
var targets = [...]target{
	{
		machine: elf.EM_X86_64, class: elf.ELFCLASS64, multiarch: "x86_64-linux-gnu", musl: "x86_64",
		loaders: []string{"/lib64/ld-linux-x86-64.so.2"},
		plain:   []string{"/lib64", "/usr/lib64", "/usr/lib", "/lib"},
	},
	{
		machine: elf.EM_AARCH64, class: elf.ELFCLASS64, multiarch: "aarch64-linux-gnu", musl: "aarch64",
		loaders: []string{"/lib/ld-linux-aarch64.so.1"},
		plain:   []string{"/lib64", "/usr/lib64", "/usr/lib", "/lib"},
	},
	{
		machine: elf.EM_386, class: elf.ELFCLASS32, multiarch: "i386-linux-gnu", musl: "i386",
		loaders: []string{"/lib/ld-linux.so.2"},
		plain:   []string{"/lib32", "/usr/lib32", "/usr/lib", "/lib"},
	},
	{
		machine: elf.EM_ARM, class: elf.ELFCLASS32, multiarch: "arm-linux-gnueabihf", musl: "armhf",
		loaders: []string{"/lib/ld-linux-armhf.so.3", "/lib/ld-linux.so.3"},
		plain:   []string{"/lib32", "/usr/lib32", "/usr/lib", "/lib"},
	},
	{
		machine: elf.EM_PPC64, class: elf.ELFCLASS64, musl: "powerpc64le",
		loaders: []string{"/lib64/ld64.so.2"},
	},
	{
		machine: elf.EM_S390, class: elf.ELFCLASS64, musl: "s390x",
		loaders: []string{"/lib/ld64.so.1"},
	},
	{
		machine: elf.EM_RISCV, class: elf.ELFCLASS64, musl: "riscv64",
		loaders: []string{"/lib/ld-linux-riscv64-lp64d.so.1"},
	},
	{
		machine: elf.EM_LOONGARCH, class: elf.ELFCLASS64, musl: "loongarch64",
		loaders: []string{"/lib64/ld-linux-loongarch-lp64d.so.1"},
	},
}

// directories returns where libc.so.6 may lie, in the order to look.
func (t *target) directories() []string {
	if t.multiarch == "" {
		return t.plain
	}
	dirs := []string{"/lib/" + t.multiarch, "/usr/lib/" + t.multiarch}
	return append(dirs, t.plain...)
}

// targetOf returns the row of a machine's own programs.
func targetOf(m elf.Machine) (*target, bool) {
	for i := range targets {
		if targets[i].machine == m {
			return &targets[i], true
		}
	}
	return nil, false
}

// compat returns the row of the 32-bit programs that a 64-bit machine runs.
func (t *target) compat() (*target, bool) {
	switch t.machine {
	case elf.EM_X86_64:
		return targetOf(elf.EM_386)
	case elf.EM_AARCH64:
		return targetOf(elf.EM_ARM)
	}
	return nil, false
}
