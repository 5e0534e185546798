package driver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/ldcache"
)

// loaderCache is where ldconfig of every distribution writes (FILES of
// ldconfig(8)).
const loaderCache = "/etc/ld.so.cache"

// maxCache bounds the loader cache, in bytes. One with 10,000 entries has
// 0.9 MB.
const maxCache = 32 << 20

// listing is what the host's loader cache says of the driver.
type listing struct {
	written int64  // when, in ns; 0 = there is none
	problem string // why it says nothing
	all     *ldcache.Cache
}

// listed is one entry for a library that may be the driver's.
type listed struct {
	stem, suffix string // of the name, which is the SONAME
	name, path   string
}

// readCache reads the cache of the host. That it is missing or broken is no
// error: there are directories to look at.
func readCache(root *mounts.Root) listing {
	l, err := openCache(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.problem = loaderCache + " (there is none)"
	case err != nil:
		l.problem = fmt.Sprintf("%s (%v)", loaderCache, err)
	}
	return l
}

func openCache(root *mounts.Root) (listing, error) {
	f, err := root.Open(loaderCache)
	if err != nil {
		return listing{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return listing{}, err
	}
	if info.Size() > maxCache {
		return listing{}, &mounts.TooLargeError{Path: loaderCache, Max: maxCache}
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return listing{}, err
	}
	c, err := ldcache.Parse(data)
	if err != nil {
		return listing{}, err
	}
	return listing{written: info.ModTime().UnixNano(), all: c}, nil
}

// flagType is the part of an entry's flags that says whether the library needs
// glibc (sysdeps/generic/ldconfig.h: 1 any ELF file, 3 one with glibc). The rest
// is the machine.
const flagType = 0xff

// of returns the entries for a machine that may be libraries of the driver.
// Entries for certain processors only (glibc-hwcaps) are copies of none.
func (l listing) of(m machine, version string) []listed {
	if l.all == nil {
		return nil
	}
	flags, ok := ldcache.Flags(m.elf, m.class)
	if !ok {
		return nil
	}
	var entries []listed
	for e := range l.all.All() {
		if e.Flags&^flagType != flags&^flagType || e.HWCap != 0 || !maybeDriver(e.Name, version) {
			continue
		}
		if stem, suffix, ok := splitName(e.Name); ok {
			entries = append(entries, listed{stem: stem, suffix: suffix, name: e.Name, path: e.Path})
		}
	}
	return entries
}

// fresh tells whether the cache knows every library of a directory: it lists
// some of it, and was written after the directory last changed. Images with
// all times alike (ostree sets them to 0) say nothing.
func (l listing) fresh(d *dir) bool {
	return d.inCache && l.written > d.mtime && d.mtime > 1e9
}
