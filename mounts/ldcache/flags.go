package ldcache

import "debug/elf"

// Types of library, from sysdeps/generic/ldconfig.h: any ELF file, and one
// that needs glibc. The byte above holds the kind of machine.
const (
	flagTypeMask = 0xff
	flagELF      = 0x1
	flagELFLibc6 = 0x3
)

// machines holds what glibc's ldconfig.h gives the machines that NVIDIA has
// written Linux drivers for. A machine without a bit of its own (i386) is 0.
var machines = [...]struct {
	machine elf.Machine
	class   elf.Class
	flags   int32
	// signed says whether a C char is signed there: the order of names
	// with bytes above 0x7f depends on it.
	signed bool
}{
	{elf.EM_X86_64, elf.ELFCLASS64, 0x300, true},
	{elf.EM_386, elf.ELFCLASS32, 0x000, true},
	{elf.EM_AARCH64, elf.ELFCLASS64, 0xa00, false},
	{elf.EM_ARM, elf.ELFCLASS32, 0x900, false}, // hard float
	{elf.EM_X86_64, elf.ELFCLASS32, 0x800, true},
}

// Flags returns the flags of a library for glibc programs of machine m and
// class c, and false for a machine that has no NVIDIA driver.
func Flags(m elf.Machine, c elf.Class) (int32, bool) {
	for _, k := range machines {
		if k.machine == m && k.class == c {
			return k.flags | flagELFLibc6, true
		}
	}
	return 0, false
}

// signedChar reports whether the machine of an entry with these flags has a
// signed char. It is so for an unknown one.
func signedChar(flags int32) bool {
	for _, k := range machines {
		if k.flags == flags&^flagTypeMask {
			return k.signed
		}
	}
	return true
}
