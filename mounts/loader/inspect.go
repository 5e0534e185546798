package loader

import (
	"debug/elf"
	"path"
	"strings"

	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/ldcache"
)

// Inspect reads what a container's loader goes by. host is the machine that
// the driver's files are for. Damaged, missing and odd files are facts, not
// errors; an error means that host itself is unknown.
func Inspect(r *mounts.Root, host elf.Machine) (Facts, error) {
	native, ok := targetOf(host)
	if _, known := ldcache.Flags(host, elf.ELFCLASS64); !ok || !known {
		return Facts{}, &MachineError{Machine: host}
	}
	f := Facts{Machine: host, Etc: etcState(r)}
	f.readCache(r)

	s := search{root: r, cache: f.cache}
	f.LibDir = s.libc(native)
	compat, ok := native.compat()
	if ok && exists(r, compat.loaders...) {
		f.LibDir32 = s.libc(compat)
	}
	switch {
	case f.LibDir != "" && !s.musl(native):
		f.Kind = Glibc
	case f.inspectMusl(r, native):
	case f.LibDir32 != "":
		f.Kind, f.Machine = Glibc, compat.machine
	default:
		f.Machine = foreign(r, host)
	}
	return f, nil
}

// muslPrefixes are where a musl loader may be started from. One in
// PREFIX/lib reads PREFIX/etc: it cuts two components off its own path
// (musl's ldso/dynlink.c, 1.2.3).
var muslPrefixes = [...]string{"", "/usr", "/usr/local"}

// inspectMusl looks for musl's loader.
func (f *Facts) inspectMusl(r *mounts.Root, t *target) bool {
	for _, prefix := range muslPrefixes {
		loader := prefix + "/lib/ld-musl-" + t.musl + ".so.1"
		if machineOf(r, loader) != t.machine {
			continue
		}
		dir, err := r.Resolve(path.Dir(loader))
		if err != nil {
			continue
		}
		f.Kind, f.LibDir = Musl, dir
		f.MuslPath = prefix + "/etc/ld-musl-" + t.musl + ".path"
		return true
	}
	return false
}

// foreign returns the machine that an image without a loader of ours is made
// for, or host if nothing tells.
func foreign(r *mounts.Root, host elf.Machine) elf.Machine {
	for i := range targets {
		t := &targets[i]
		for _, loader := range append([]string{"/lib/ld-musl-" + t.musl + ".so.1"}, t.loaders...) {
			if m := machineOf(r, loader); m != elf.EM_NONE && m != host {
				return m
			}
		}
	}
	// Static programs: what nearly every image with a shell has.
	for _, program := range []string{"/bin/sh", "/bin/busybox", "/usr/bin/env"} {
		if m := machineOf(r, program); m != elf.EM_NONE {
			return m
		}
	}
	return host
}

// exists reports whether one of the paths leads to something.
func exists(r *mounts.Root, paths ...string) bool {
	for _, p := range paths {
		f, err := r.Lookup(p)
		if err == nil {
			_ = f.Close() // A handle that was only looked at.
			return true
		}
	}
	return false
}

// search finds libc.so.6.
type search struct {
	root  *mounts.Root
	cache *ldcache.Cache // may be nil
	conf  []string       // directories of ld.so.conf, once read
	read  bool
}

// libc returns the directory in which libc.so.6 of a target lies, links
// resolved, or "". What the cache says counts before ld.so.conf, that before
// the known directories: the order in which ld.so itself would find it.
func (s *search) libc(t *target) string {
	if s.cache != nil {
		if flags, ok := ldcache.Flags(t.machine, t.class); ok {
			for _, p := range s.cache.Lookup("libc.so.6", flags) {
				if dir := s.dirOf(p, t); dir != "" {
					return dir
				}
			}
		}
	}
	if !s.read {
		s.conf, s.read = confDirs(rootFiles{s.root}), true
	}
	for _, dirs := range [][]string{s.conf, t.directories()} {
		for _, dir := range dirs {
			if found := s.dirOf(dir+"/libc.so.6", t); found != "" {
				return found
			}
		}
	}
	return ""
}

// dirOf returns the resolved directory of a file for target t. The file itself
// may be a link to somewhere else: it is its name that the loader looks for.
func (s *search) dirOf(unsafePath string, t *target) string {
	if !strings.HasPrefix(unsafePath, "/") || !matches(s.root, unsafePath, t) {
		return ""
	}
	dir, err := s.root.Resolve(path.Dir(unsafePath))
	if err != nil {
		return ""
	}
	return dir
}

// musl reports whether the libc.so.6 that was found is musl under glibc's name,
// as packages for running glibc programs on musl have it (gcompat,
// libc6-compat). A root with a cache has the real one.
func (s *search) musl(t *target) bool {
	if s.cache != nil || !exists(s.root, "/lib/ld-musl-"+t.musl+".so.1") {
		return false
	}
	for _, dir := range t.directories() {
		if file, err := s.root.Resolve(dir + "/libc.so.6"); err == nil {
			name := path.Base(file)
			return strings.Contains(name, "musl") || strings.Contains(name, "gcompat")
		}
	}
	return false
}
