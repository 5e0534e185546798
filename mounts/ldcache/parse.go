package ldcache

import (
	"errors"
	"fmt"
	"iter"
	"strings"
)

// ErrRejected marks bytes that ld.so does not use as a cache at all: it goes
// on as if there were none, so nothing is lost by replacing them.
var ErrRejected = errors.New("not a loader cache")

// Cache is one ld.so.cache. It is not safe for use by several goroutines.
type Cache struct {
	// Generator is the text by which a cache names its writer (glibc 2.33),
	// empty if it has none.
	Generator string

	text   string // the whole file
	base   int    // what keys and values count from
	table  int    // where the entries begin
	size   int    // bytes of an entry
	count  int
	hwcaps []string

	order   order
	loaded  bool
	entries []Entry // once loaded
	damage  error   // once loaded
}

// Parse reads the header and the extensions of a cache; the entries are read
// when they are asked for. Extensions that are damaged count as none, as they
// do for ld.so. An error is [ErrRejected].
func Parse(data []byte) (*Cache, error) {
	c := &Cache{text: string(data)}
	switch {
	case len(data) > newHeaderSize && strings.HasPrefix(c.text, newMagic):
		count := u32(c.text, newCountAt)
		if uint64(count) > uint64(len(data)-newHeaderSize)/newEntrySize {
			return nil, fmt.Errorf("read header: %w: %d entries in %d bytes", ErrRejected, count, len(data))
		}
		if err := c.header(0, int(count)); err != nil {
			return nil, err
		}
	case len(data) > oldHeaderSize && strings.HasPrefix(c.text, oldMagic):
		count := u32(c.text, oldCountAt)
		if uint64(count) > uint64(len(data)-oldHeaderSize)/oldEntrySize {
			return nil, fmt.Errorf("read header: %w: %d old entries in %d bytes", ErrRejected, count, len(data))
		}
		if err := c.oldHeader(int(count)); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("read header: %w: begins with %.200q", ErrRejected, c.text[:min(len(c.text), len(newMagic))])
	}
	c.order.signed = c.count == 0 || signedChar(int32(u32(c.text, c.table)))
	return c, nil
}

// oldHeader takes the old entries, or the new header behind them.
func (c *Cache) oldHeader(count int) error {
	end := oldHeaderSize + count*oldEntrySize
	at := align(end, compatAlign)
	if at+newHeaderSize > len(c.text) || !strings.HasPrefix(c.text[at:], newMagic) {
		c.base, c.table, c.size, c.count = end, oldHeaderSize, oldEntrySize, count
		return nil
	}
	// ld.so does not compare this count with the size of the file. What
	// lies beyond its end is damage, see load.
	inside := (len(c.text) - at - newHeaderSize) / newEntrySize
	declared := u32(c.text, at+newCountAt)
	if uint64(declared) > uint64(inside) {
		c.damage = fmt.Errorf("read header: %d entries in %d bytes", declared, len(c.text)-at)
		declared = uint32(inside)
	}
	return c.header(at, int(declared))
}

// header takes the new header at an offset in the file.
func (c *Cache) header(at, count int) error {
	if b := c.text[at+newEndianAt]; b != 0 && b&endianMask != endianLittle {
		return fmt.Errorf("read header: %w: byte order %d", ErrRejected, b)
	}
	c.base, c.table, c.size, c.count = at, at+newHeaderSize, newEntrySize, count
	c.extensions()
	return nil
}

// All yields every entry in the cache's own order, leaving out those that no
// loader takes: with a name or path outside the file, or below a
// glibc-hwcaps directory that the cache does not name.
func (c *Cache) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range c.Len() {
			if e, ok := c.at(i); ok && !e.unusable() && !yield(e) {
				return
			}
		}
	}
}

// Len returns the number of entries, those that All leaves out included until
// the cache is merged.
func (c *Cache) Len() int {
	if c.loaded {
		return len(c.entries)
	}
	return c.count
}

// Damage returns nil for a cache that ld.so uses in full, and otherwise the
// first reason why it does not find everything in it. Such a cache is better
// left alone: a repaired one would change what programs get.
func (c *Cache) Damage() error {
	c.load()
	return c.damage
}

// at returns entry i, and false if its name or path is not in the file.
func (c *Cache) at(i int) (Entry, bool) {
	if c.loaded {
		return c.entries[i], true
	}
	off := c.table + i*c.size
	name, ok := c.str(u32(c.text, off+4))
	path, ok2 := c.str(u32(c.text, off+8))
	e := Entry{Name: name, Path: path, Flags: int32(u32(c.text, off))}
	if c.size == newEntrySize {
		e.OSVersion = u32(c.text, off+12)
		e.HWCap = u64(c.text, off+16)
		if isExtension(e.HWCap) {
			if n := e.HWCap & hwcapIndexMask; n < uint64(len(c.hwcaps)) {
				e.HWCaps = c.hwcaps[n]
			}
		}
	}
	return e, ok && ok2
}

// str returns the string that a key or value points at. The end of the file
// ends no string: there ld.so reads on in whatever is mapped behind it.
func (c *Cache) str(off uint32) (string, bool) {
	if uint64(off) >= uint64(len(c.text)-c.base) {
		return "", false
	}
	s := c.text[c.base+int(off):]
	n := strings.IndexByte(s, 0)
	if n < 0 {
		return "", false
	}
	return s[:n], true
}

// load decodes every entry once and looks for damage.
func (c *Cache) load() {
	if c.loaded {
		return
	}
	entries := make([]Entry, 0, c.count)
	for i := range c.count {
		e, ok := c.at(i)
		if !ok {
			if c.damage == nil {
				c.damage = fmt.Errorf("read entry %d of %d: string outside the file", i, c.count)
			}
			continue
		}
		if n := len(entries); n > 0 && c.damage == nil && c.order.names(entries[n-1].Name, e.Name) < 0 {
			c.damage = fmt.Errorf("read entry %d of %d: %.200q is out of order", i, c.count, e.Name)
		}
		if !e.unusable() {
			entries = append(entries, e)
		}
	}
	c.entries, c.loaded = entries, true
}
