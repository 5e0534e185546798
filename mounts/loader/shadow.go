package loader

import (
	"path"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// Shadow is a file of the image that programs get in the place of ours.
type Shadow struct {
	Name string // the SONAME, "libcuda.so.1"
	Path string // the image's file, as the loader names it
	Real string // the same with links resolved
	// Later means: not at the start, but once ldconfig has run in the
	// container.
	Later bool
}

// shadowNames are the names that programs open themselves. The driver's other
// libraries are opened by these two.
var shadowNames = [...]string{"libcuda.so.1", "libnvidia-ml.so.1"}

// Shadowed finds the image's own libcuda and libnvidia-ml that win over ours,
// in the order in which the loader meets them: in directories of
// LD_LIBRARY_PATH (libraryPath, as the container will have it), then, where
// the loader's files could not be written, in what it goes by instead, then in
// glibc-hwcaps directories, which ldconfig puts in front of everything. A
// program's own RPATH is not looked at.
func Shadowed(r *mounts.Root, f Facts, u Update, libraryPath []string) []Shadow {
	t, ok := targetOf(f.Machine)
	if !ok || f.Kind == None {
		return nil
	}
	s := shadows{root: r, target: t, ours: u}
	for _, name := range shadowNames {
		if slices.ContainsFunc(u.Libraries, func(l Library) bool { return l.Name == name && l.Class == t.class }) {
			s.names = append(s.names, name)
		}
	}
	if len(s.names) == 0 {
		return nil
	}
	if s.libraryPath(libraryPath, f.Kind) {
		return s.found
	}
	if f.Kind == Musl {
		s.musl(f.MuslPath)
	} else {
		s.glibc(f)
	}
	return s.found
}

type shadows struct {
	root   *mounts.Root
	target *target
	ours   Update
	names  []string
	found  []Shadow
	seen   []string // where those found lie, links resolved
}

// add notes a file if it is there, of the right kind and not ours.
func (s *shadows) add(name, file string, later bool) {
	if !matches(s.root, file, s.target) {
		return
	}
	target, err := s.root.Resolve(file)
	if err != nil || slices.Contains(s.seen, target) || s.ours.owns(path.Dir(target)) {
		return
	}
	s.seen = append(s.seen, target)
	s.found = append(s.found, Shadow{Name: name, Path: file, Real: target, Later: later})
}

// directory notes the names in one directory.
func (s *shadows) directory(dir string, later bool) {
	for _, name := range s.names {
		s.add(name, dir+"/"+name, later)
	}
}

// hwcaps notes the names in the glibc-hwcaps directories below one.
func (s *shadows) hwcaps(dir string, later bool) {
	levels, err := s.root.ReadDir(dir + "/glibc-hwcaps")
	if err != nil {
		return
	}
	for _, level := range levels {
		s.directory(dir+"/glibc-hwcaps/"+level.Name(), later)
	}
}

// libraryPath looks into LD_LIBRARY_PATH and reports whether ours is in it:
// nothing behind it wins.
func (s *shadows) libraryPath(dirs []string, kind Kind) bool {
	for _, dir := range dirs {
		if s.ours.owns(dir) {
			return true
		}
		if !strings.HasPrefix(dir, "/") {
			continue // Below a working directory that is not known here.
		}
		if kind == Glibc {
			s.hwcaps(dir, false)
		}
		s.directory(dir, false)
	}
	return false
}

// musl looks into the directories that stand before ours.
func (s *shadows) musl(file string) {
	dirs := muslDefaults()
	if text, err := s.root.ReadFile(file, maxMuslPath); err == nil {
		dirs = muslDirs(string(text))
	}
	for _, dir := range dirs {
		if s.ours.owns(dir) {
			return
		}
		s.directory(dir, false)
	}
}

// glibc looks at what stands in the way while the cache cannot be written, and
// at what a later ldconfig prefers.
func (s *shadows) glibc(f Facts) {
	if f.Action() == "leave" {
		if f.cache != nil {
			for e := range f.cache.All() {
				if slices.Contains(s.names, e.Name) {
					s.add(e.Name, e.Path, false)
				}
			}
		}
		for _, dir := range s.target.directories() {
			s.directory(dir, false)
		}
	}
	// With our include line first no directory stands before ours, but a
	// glibc-hwcaps directory does.
	before := !f.Etc.Writable()
	for _, dir := range append(confDirs(rootFiles{s.root}), s.target.directories()...) {
		if s.ours.owns(dir) {
			before = false
			continue
		}
		s.hwcaps(dir, true)
		if before {
			s.directory(dir, true)
		}
	}
}
