package ldcache

import "strings"

// extensions reads the directory of extensions that the header at c.base
// points to. All of its offsets count from the start of the file. On any
// fault, or without a directory, the cache has none.
func (c *Cache) extensions() {
	at := uint64(u32(c.text, c.base+newExtensionAt))
	size := uint64(len(c.text))
	if at == 0 || at%4 != 0 || at+extensionHeaderSize > size || u32(c.text, int(at)) != extensionMagic {
		return
	}
	count := uint64(u32(c.text, int(at)+4))
	first := at + extensionHeaderSize
	if first+count*sectionSize > size {
		return
	}
	var sections [2]string // by tag; the last of a kind counts
	for i := range count {
		section := int(first + i*sectionSize)
		off, n := uint64(u32(c.text, section+8)), uint64(u32(c.text, section+12))
		if off+n > size {
			return
		}
		if tag := u32(c.text, section); tag < uint32(len(sections)) {
			sections[tag] = c.text[off : off+n]
		}
	}
	c.Generator = sections[tagGenerator]
	c.hwcaps = c.hwcapNames(sections[tagHWCaps])
}

// hwcapNames reads an array of string offsets. In a compat cache glibc writes
// them relative to the new header but reads them relative to the file, so
// that no loader finds the names (2.36 to 2.43 seen). They are read here as
// they were written; in the new format both are the same.
func (c *Cache) hwcapNames(array string) []string {
	names := make([]string, 0, len(array)/4)
	for i := 0; i+4 <= len(array); i += 4 {
		name, ok := c.str(u32(array, i))
		if !ok || strings.Contains(name, "/") {
			name = ""
		}
		names = append(names, name)
	}
	return names
}
