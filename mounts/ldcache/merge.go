package ldcache

import (
	"slices"
	"sort"
	"strings"
)

// New returns an empty cache that names generator as its writer.
func New(generator string) *Cache {
	return &Cache{Generator: generator, loaded: true, order: order{signed: true}}
}

// Merge puts ours in front. Entries with a path below one of dirs, and those
// with a name of ours for the same kind of program, go: the search yields one
// path per name, so what stood behind ours could only mislead. All others
// keep their order. Merging the same again changes nothing.
func (c *Cache) Merge(ours []Entry, dirs ...string) {
	c.load()
	if len(ours) > 0 {
		c.order.signed = signedChar(ours[0].Flags)
	}
	kept := c.without(ours, dirs)
	byOrder := func(a, b Entry) int { return c.order.entries(&a, &b) }
	if !slices.IsSortedFunc(kept, byOrder) {
		slices.SortStableFunc(kept, byOrder)
	}
	ours = slices.Clone(ours)
	slices.SortStableFunc(ours, byOrder)

	// From the end, so that every entry moves once and in place.
	end := len(kept)
	c.entries = kept[:end+len(ours)]
	for i := len(ours) - 1; i >= 0; i-- {
		at := sort.Search(end, func(j int) bool { return c.order.entries(&ours[i], &c.entries[j]) <= 0 })
		copy(c.entries[at+i+1:], c.entries[at:end])
		c.entries[at+i] = ours[i]
		end = at
	}
	c.damage = nil
}

// without returns a copy of the entries that ours and dirs leave in place, with
// room for ours.
func (c *Cache) without(ours []Entry, dirs []string) []Entry {
	type key struct {
		name  string
		class int32
	}
	taken := make(map[key]struct{}, len(ours))
	for i := range ours {
		taken[key{ours[i].Name, ours[i].class()}] = struct{}{}
	}
	kept := make([]Entry, 0, len(c.entries)+len(ours))
	for i := range c.entries {
		e := &c.entries[i]
		if _, ok := taken[key{e.Name, e.class()}]; ok || below(e.Path, dirs) {
			continue
		}
		kept = append(kept, *e)
	}
	return kept
}

// below reports whether path lies in or under one of dirs.
func below(path string, dirs []string) bool {
	for _, dir := range dirs {
		dir = strings.TrimRight(dir, "/")
		if len(path) > len(dir) && path[len(dir)] == '/' && strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}
