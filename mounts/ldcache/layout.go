package ldcache

// Offsets and sizes in bytes, from sysdeps/generic/dl-cache.h.
const (
	oldMagic      = "ld.so-1.7.0"
	oldHeaderSize = 16 // magic, one byte of padding, nlibs
	oldCountAt    = 12
	oldEntrySize  = 12 // flags, key, value

	newMagic       = "glibc-ld.so.cache1.1"
	newHeaderSize  = 48
	newCountAt     = 20
	newStringsAt   = 24 // length of the strings; no reader finds them by it
	newEndianAt    = 28
	newExtensionAt = 32
	newEntrySize   = 24 // flags, key, value, osversion, hwcap

	extensionMagic      = 0xeaa42174
	extensionHeaderSize = 8  // magic, count
	sectionSize         = 16 // tag, flags, offset, size
	tagGenerator        = 0
	tagHWCaps           = 1

	// compatAlign is where the new header may begin behind the old entries.
	compatAlign = 8
)

// The endian byte, known since glibc 2.33 (and Debian's 2.31). The loader
// compares the low two bits, and only where the byte is not 0.
const (
	endianMask   = 3
	endianLittle = 2
)

// An entry below a glibc-hwcaps directory (glibc 2.33) has this one bit set
// in the upper half of its hwcap, beside the ISA level that it needs; the
// lower half is the index of the directory's name.
const (
	hwcapExtension = 1 << 62
	hwcapISAMask   = 0x3ff << 32
	hwcapIndexMask = 1<<32 - 1
)

// isExtension reports whether hwcap belongs to a glibc-hwcaps entry. Loaders
// before 2.33 take the bit for a machine they are not and skip the entry.
func isExtension(hwcap uint64) bool {
	return hwcap&^(hwcapISAMask|hwcapIndexMask) == hwcapExtension
}

// u32 reads a little endian number at off, which must lie inside s.
func u32(s string, off int) uint32 {
	b := s[off : off+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// u64 is u32 for eight bytes.
func u64(s string, off int) uint64 {
	return uint64(u32(s, off)) | uint64(u32(s, off+4))<<32
}

// align rounds n up to a multiple of to, a power of two.
func align(n, to int) int { return (n + to - 1) &^ (to - 1) }
