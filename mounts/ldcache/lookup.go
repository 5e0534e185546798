package ldcache

import "sort"

// Lookup returns the paths that a program of the kind that flags describe
// would get for a name, the one that ld.so takes first. Entries of
// glibc-hwcaps directories are not among them: whether they win depends on
// the processor. It is a binary search like ld.so's, and finds nothing that
// ld.so would not.
func (c *Cache) Lookup(name string, flags int32) []string {
	n := c.Len()
	first := sort.Search(n, func(i int) bool { return c.order.names(c.name(i), name) <= 0 })
	want := (&Entry{Flags: flags}).class()
	var paths []string
	for i := first; i < n && c.order.names(c.name(i), name) == 0; i++ {
		e, ok := c.at(i)
		if ok && e.HWCaps == "" && !e.unusable() && e.class() == want {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// name returns the name of entry i, empty if it is not in the file.
func (c *Cache) name(i int) string {
	if c.loaded {
		return c.entries[i].Name
	}
	name, _ := c.str(u32(c.text, c.table+i*c.size+4))
	return name
}
