package ldcache

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Encode returns the cache in the new format, little endian. The same entries
// give the same bytes. Where a path ends in its entry's name the two share
// their bytes, as glibc's own writer has it since 2.33; every loader since
// 2.27 was seen to take that.
func (c *Cache) Encode() []byte {
	c.load()
	entries := c.entries
	hwcaps := c.usedHWCaps()
	start := newHeaderSize + len(entries)*newEntrySize
	out := make([]byte, start, c.encodedSize(hwcaps))

	for i := range entries {
		e := &entries[i]
		value := len(out)
		out = append(append(out, e.Path...), 0)
		key := value + len(e.Path) - len(e.Name)
		if !strings.HasSuffix(e.Path, e.Name) {
			key = len(out)
			out = append(append(out, e.Name...), 0)
		}
		hwcap := e.HWCap
		if e.HWCaps != "" {
			n, _ := slices.BinarySearch(hwcaps, e.HWCaps)
			hwcap = hwcap&hwcapISAMask | hwcapExtension | uint64(n)
		}
		b := out[newHeaderSize+i*newEntrySize:]
		binary.LittleEndian.PutUint32(b, uint32(e.Flags))
		binary.LittleEndian.PutUint32(b[4:], uint32(key))
		binary.LittleEndian.PutUint32(b[8:], uint32(value))
		binary.LittleEndian.PutUint32(b[12:], e.OSVersion)
		binary.LittleEndian.PutUint64(b[16:], hwcap)
	}
	names := make([]uint32, len(hwcaps))
	for i, name := range hwcaps {
		names[i] = uint32(len(out))
		out = append(append(out, name...), 0)
	}
	copy(out, newMagic)
	binary.LittleEndian.PutUint32(out[newCountAt:], uint32(len(entries)))
	binary.LittleEndian.PutUint32(out[newStringsAt:], uint32(len(out)-start))
	out[newEndianAt] = endianLittle
	return appendExtensions(out, c.Generator, names)
}

// appendExtensions writes the directory of extensions, the array of hwcaps
// names and the generator, in the order in which glibc has them.
func appendExtensions(out []byte, generator string, names []uint32) []byte {
	type section struct{ tag, offset, size uint32 }
	var sections []section
	if generator != "" {
		sections = append(sections, section{tag: tagGenerator, size: uint32(len(generator))})
	}
	if len(names) > 0 {
		sections = append(sections, section{tag: tagHWCaps, size: uint32(4 * len(names))})
	}
	if len(sections) == 0 {
		return out
	}
	for len(out)%4 != 0 {
		out = append(out, 0)
	}
	at := len(out)
	binary.LittleEndian.PutUint32(out[newExtensionAt:], uint32(at))
	array := uint32(at + extensionHeaderSize + len(sections)*sectionSize)
	out = binary.LittleEndian.AppendUint32(out, extensionMagic)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(sections)))
	for _, s := range sections {
		s.offset = array
		if s.tag == tagGenerator {
			s.offset += uint32(4 * len(names))
		}
		for _, n := range [...]uint32{s.tag, 0, s.offset, s.size} {
			out = binary.LittleEndian.AppendUint32(out, n)
		}
	}
	for _, n := range names {
		out = binary.LittleEndian.AppendUint32(out, n)
	}
	return append(out, generator...)
}

// usedHWCaps returns the names of the glibc-hwcaps directories in use, sorted
// as the loader needs them.
func (c *Cache) usedHWCaps() []string {
	var names []string
	for i := range c.entries {
		if name := c.entries[i].HWCaps; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// encodedSize is enough room for Encode to write without growing.
func (c *Cache) encodedSize(hwcaps []string) int {
	n := newHeaderSize + extensionHeaderSize + 2*sectionSize + len(c.Generator) + 4
	for i := range c.entries {
		e := &c.entries[i]
		n += newEntrySize + len(e.Path) + 1
		if !strings.HasSuffix(e.Path, e.Name) {
			n += len(e.Name) + 1
		}
	}
	for _, name := range hwcaps {
		n += len(name) + 1 + 4
	}
	return n
}
