package ldcache

// Entry is one line of the cache: a name that programs ask for and the file
// that answers it.
type Entry struct {
	// Name is the SONAME ("libcuda.so.1"), Path the file's absolute path.
	// Neither holds a NUL byte.
	Name, Path string
	// Flags say for which kind of program the file is; see [Flags].
	Flags int32
	// OSVersion is the oldest kernel the file is for (0x30200 is 3.2.0). 0
	// is right for a new entry: loaders before 2.36 skip an entry above the
	// running kernel's version, later ones do not look.
	OSVersion uint32
	// HWCap is the processor the file is for. For an entry with HWCaps its
	// low 32 bits mean nothing; Encode sets them.
	HWCap uint64
	// HWCaps names the directory below glibc-hwcaps ("x86-64-v3") and is
	// empty for a plain entry.
	HWCaps string
}

// unusable reports whether no loader takes the entry: it claims a
// glibc-hwcaps directory that the cache does not name.
func (e *Entry) unusable() bool {
	return e.HWCaps == "" && isExtension(e.HWCap)
}

// class tells programs apart that can share one SONAME. An i386 loader takes
// the types 1 (any ELF file) and 3 (one linked with glibc), so these count
// as one.
func (e *Entry) class() int32 {
	if e.Flags&flagTypeMask == flagELF {
		return e.Flags - flagELF + flagELFLibc6
	}
	return e.Flags
}
