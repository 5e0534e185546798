package loader

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/ldcache"
)

// Library is a name that programs ask the loader for, and the path in the
// container at which ours lies.
type Library struct {
	Name  string // "libcuda.so.1"
	Path  string // "/usr/local/nvidia/lib64/libcuda.so.1"
	Class elf.Class
}

// Update is what the loader shall find.
type Update struct {
	// Dirs are the directories that belong to us alone: cache entries below
	// them are ours to drop, and ldconfig shall look there first. It is
	// empty where the libraries lie among the container's own.
	Dirs      []string
	Libraries []Library
}

// generator names us in a cache that had no writer before.
const generator = "gpu-hook"

// Apply makes the container's loader find the libraries first. Files are
// written beside and renamed, and only where /etc is the container's own; what
// was left out is a warning. A second time nothing is written, and nothing at
// all is done where there are no libraries. It must run in the container's
// mount namespace: elsewhere a rename would silently detach a file that is
// bound at one of these names.
func (u Update) Apply(r *mounts.Root, f Facts) ([]mounts.Warning, error) {
	if len(u.Libraries) == 0 {
		return nil, nil
	}
	w := writer{root: r}
	switch f.Kind {
	case Glibc:
		entries, err := u.entries(f.Machine)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 && w.allowed(f.Etc, u.fallback(f)) {
			w.cache(f, entries, u)
			w.configuration(u.Dirs)
		}
	case Musl:
		w.warn("loader-musl", "the image's C library is musl and NVIDIA's libraries need glibc; use an image with glibc, or add the package gcompat")
		w.muslPath(f, u)
	default:
		w.warn("loader-none", "the image has no dynamic loader at a known place; a program that brings its own needs LD_LIBRARY_PATH=%s", strings.Join(u.native(), ":"))
	}
	return w.warnings, nil
}

// entries turns the libraries into cache entries for a container's machine.
// 64-bit libraries are of no use to a 32-bit image and are left out.
func (u Update) entries(m elf.Machine) ([]ldcache.Entry, error) {
	t, ok := targetOf(m)
	if !ok {
		return nil, &MachineError{Machine: m}
	}
	entries := make([]ldcache.Entry, 0, len(u.Libraries))
	for _, lib := range u.Libraries {
		kind := t
		if t.class != lib.Class {
			if kind, ok = t.compat(); !ok {
				continue
			}
		}
		flags, ok := ldcache.Flags(kind.machine, lib.Class)
		if !ok {
			return nil, fmt.Errorf("enter %.200q: %w", lib.Path, &MachineError{Machine: m})
		}
		entries = append(entries, ldcache.Entry{Name: lib.Name, Path: lib.Path, Flags: flags})
	}
	return entries, nil
}

// native returns the directories of 64-bit libraries, or all where only 32-bit
// ones are known. musl takes the first file of a name whatever its class.
func (u Update) native() []string {
	var dirs []string
	for _, lib := range u.Libraries {
		if dir := path.Dir(lib.Path); lib.Class == elf.ELFCLASS64 && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return u.Dirs
	}
	return dirs
}

// owns reports whether a directory belongs to the tree that ours are in. The
// tree has lib beside lib64, and hides what the image has there.
func (u Update) owns(dir string) bool {
	dir = path.Clean(dir)
	for _, own := range u.Dirs {
		own = path.Clean(own)
		tree := path.Dir(own)
		sibling := path.Dir(dir) == tree && strings.HasPrefix(path.Base(dir), "lib")
		if dir == own || sibling && tree != "/" && tree != "/usr" {
			return true
		}
	}
	return false
}

// fallback says what remains where nothing can be written.
func (u Update) fallback(f Facts) string {
	dirs := strings.Join(u.native(), ":")
	if f.LibDir == "" {
		return "set LD_LIBRARY_PATH=" + dirs
	}
	return fmt.Sprintf("programs find the driver by its links in %.200q; if they do not, set LD_LIBRARY_PATH=%s", f.LibDir, dirs)
}

// behind says what becomes of the order without our drop-in.
const behind = "an ldconfig in the container puts the image's own driver files first, so remove them from the image"

// cache merges our entries into the cache, or writes a new one.
func (w *writer) cache(f Facts, entries []ldcache.Entry, u Update) {
	merged := ldcache.New(generator)
	switch f.Cache {
	case CacheGood:
		copied := *f.cache
		merged = &copied
	case CacheAbsent, CacheRejected:
	default:
		w.warn("loader-cache-"+f.Cache.String(), "%s was left as it is (%v); %s", cachePath, f.CacheFault, u.fallback(f))
		return
	}
	merged.Merge(entries, u.Dirs...)
	w.write(etcDir, cacheName, merged.Encode(), u.fallback(f))
}

// configuration makes a later ldconfig look into our directories first.
func (w *writer) configuration(dirs []string) {
	if len(dirs) == 0 {
		return
	}
	conf, err := w.root.ReadFile(confPath, maxConf)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.warn("loader-conf", "%s was left as it is (%v); %s", confPath, err, behind)
		return
	}
	if !w.write(dropInDir, dropInName, dropIn(dirs), behind) {
		return
	}
	if text, changed := withInclude(conf); changed {
		w.write(etcDir, path.Base(confPath), text, behind)
	}
}

// muslPath appends to musl's path file.
func (w *writer) muslPath(f Facts, u Update) {
	dirs := u.native()
	rest := "set LD_LIBRARY_PATH=" + strings.Join(dirs, ":")
	dir, name := path.Split(f.MuslPath)
	if dir == etcDir+"/" && !w.allowed(f.Etc, rest) {
		return
	}
	have, err := w.root.ReadFile(f.MuslPath, maxMuslPath)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		w.warn("loader-musl-path", "%.200q was left as it is (%v); %s", f.MuslPath, err, rest)
		return
	}
	if text, changed := withMuslDirs(string(have), !missing, dirs); changed {
		w.write(path.Clean(dir), name, []byte(text), rest)
	}
}
