package hook

import (
	"cmp"
	"debug/elf"
	"path"
	"slices"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/driver"
)

// Names inside the private tree. CUDA images have lib and lib64 of
// /usr/local/nvidia in LD_LIBRARY_PATH and its bin in PATH, so both exist.
const (
	treeLib64 = "lib64"
	treeLib   = "lib" // a link to lib64
	treeLib32 = "lib32"
	treeBin   = "bin"
	treeFiles = "files" // what programs look for at fixed places, by full path
)

// libcuda is the SONAME that programs open the driver by.
const libcuda = "libcuda.so.1"

// FallbackTree is where the private tree goes when its usual place lies in a
// user's volume that has no such directory: volumes are never written to.
const FallbackTree = "/.gpu-hook"

// TextTree is where layout "direct" has the few files with content of our own.
const TextTree = "/usr/local/nvidia"

// fileOptions are the mount options of every driver file. Never noexec: the
// loader maps these files executable.
var fileOptions = [...]string{"ro", "nosuid", "nodev"}

// layout places driver files in the container: all in the private tree with
// links to it, or ("direct") each where the container's loader looks anyway.
type layout struct {
	f      Facts
	direct bool
	tree   string
	left   map[string]int // directory of a user's volume -> names left out
	// unusable are the optional names that the image leaves no place for, and why.
	unusable map[string]string
}

func newLayout(f Facts) *layout {
	l := &layout{f: f, direct: f.Config.Mounts.Layout == config.LayoutDirect, left: map[string]int{}, unusable: map[string]string{}}
	if !l.direct {
		l.tree = f.Config.Mounts.Dir
		if f.Places[l.tree].Kind == Foreign {
			l.tree = FallbackTree
		}
	}
	return l
}

// checkTree refuses a mount point that is no directory: the same that mounting
// there would end with, known before anything is done.
func (l *layout) checkTree() error {
	if l.direct {
		return nil
	}
	got := ""
	switch l.f.Places[l.tree].Kind {
	case File, Empty:
		got = "file"
	case Dangling:
		got = "dangling link"
	case Other:
		got = "special file"
	case ReadOnly:
		return fault.New(fault.Mount, "mount the driver's files", &mounts.ReadOnlyError{Path: l.tree})
	default:
		return nil
	}
	return fault.New(fault.Mount, "mount the driver's files", &mounts.MountPointError{Path: l.tree, Got: got})
}

// textDir is where files with content of our own go.
func (l *layout) textDir() string { return Plan{Tree: l.tree}.TextDir() }

// libDir is where libraries of one ELF class go.
func (l *layout) libDir(c elf.Class) string {
	switch {
	case l.direct && c == elf.ELFCLASS32:
		return l.f.Loader.LibDir32
	case l.direct:
		return l.f.Loader.LibDir
	case c == elf.ELFCLASS32:
		return path.Join(l.tree, treeLib32)
	default:
		return path.Join(l.tree, treeLib64)
	}
}

// ownLibDir is the container's own library directory of one ELF class, the
// second net beside the loader cache; "" where the container has none.
func (l *layout) ownLibDir(c elf.Class) string {
	if c == elf.ELFCLASS32 {
		return l.f.Loader.LibDir32
	}
	return l.f.Loader.LibDir
}

func (l *layout) addLibraries(p *Plan) {
	p.Tree = l.tree
	overlay := l.f.Decision.Overlay
	var served []string
	if overlay != nil {
		served = overlay.SONAMEs()
	}
	for _, lib := range l.f.Files.Libraries {
		if lib.Class == elf.ELFCLASS64 && slices.Contains(served, lib.SONAME) {
			continue // exactly one version of each SONAME is visible
		}
		l.addLibrary(p, lib)
	}
	if overlay != nil {
		l.addOverlay(p, overlay)
	}
	if !l.direct && len(p.Mounts)+len(p.Symlinks) > 0 {
		l.addTreeLink(p, treeLib, treeLib64)
	}
}

// addLibrary places one driver library, its SONAME link and its development
// links, and lists them for the loader cache.
func (l *layout) addLibrary(p *Plan, lib driver.Library) {
	dir := l.libDir(lib.Class)
	if dir == "" {
		return
	}
	target := path.Join(dir, lib.Name)
	if l.direct && !l.usable(target) {
		return
	}
	p.Mounts = append(p.Mounts, Mount{
		Source: path.Join(l.f.Host.DriverRoot(), lib.Path), Target: target,
		Options: slices.Clone(fileOptions[:]), Cover: l.covers(target),
	})
	l.addSONAME(p, lib.Class, cmp.Or(lib.SONAME, lib.Name), lib.Name, target)
	for _, name := range lib.Links {
		l.addLink(p, path.Join(dir, name), cmp.Or(lib.SONAME, lib.Name))
		l.list(p, lib.Class, dir, name)
	}
	l.addSecondNet(p, lib, dir)
}

// addSecondNet links the names that programs open themselves into the
// container's own library directory, for loaders that do not use the cache.
func (l *layout) addSecondNet(p *Plan, lib driver.Library, dir string) {
	own := l.ownLibDir(lib.Class)
	if l.direct || !lib.Direct || own == "" {
		return
	}
	name := cmp.Or(lib.SONAME, lib.Name)
	l.addNamed(p, path.Join(own, name), path.Join(dir, name))
	if slices.Contains(lib.Links, "libcuda.so") {
		l.addNamed(p, path.Join(own, "libcuda.so"), path.Join(dir, "libcuda.so"))
	}
}

// addOverlay makes the SONAMEs of the compat set lead to the overlay. An
// overlay in the image is reached by links that the container resolves in its
// own root, so no path of the image is ever mounted; one on the host is mounted
// like any driver file.
func (l *layout) addOverlay(p *Plan, o *compat.Overlay) {
	dir := l.libDir(elf.ELFCLASS64)
	if dir == "" {
		return
	}
	if o.Host {
		p.Compat.Overlay = dir // where the container sees it
	}
	for _, m := range o.Members {
		target := path.Join(o.Dir, m.File)
		at := target
		if o.Host {
			file := path.Join(dir, path.Base(m.File))
			p.Mounts = append(p.Mounts, Mount{
				Source: path.Join(l.f.Host.Root, o.Dir, m.File), Target: file, Options: slices.Clone(fileOptions[:]),
			})
			target, at = path.Base(m.File), file
		}
		l.addSONAME(p, elf.ELFCLASS64, m.SONAME, target, at)
		if l.direct && m.SONAME == libcuda {
			l.addLink(p, path.Join(dir, "libcuda.so"), m.SONAME)
		}
		if own := l.ownLibDir(elf.ELFCLASS64); !l.direct && own != "" && m.SONAME == libcuda {
			l.addNamed(p, path.Join(own, m.SONAME), path.Join(dir, m.SONAME))
			l.addLink(p, path.Join(dir, "libcuda.so"), m.SONAME)
			l.addNamed(p, path.Join(own, "libcuda.so"), path.Join(dir, "libcuda.so"))
			l.list(p, elf.ELFCLASS64, dir, "libcuda.so")
		}
	}
}

// addLoader says which directories and names the loader must know.
func (l *layout) addLoader(p *Plan) {
	p.Loader = Loader{Kind: l.f.Loader.Kind.String(), Cache: "none", Dirs: []string{}, Libraries: p.Loader.Libraries}
	if len(p.Loader.Libraries) == 0 {
		return
	}
	p.Loader.Cache = l.f.Loader.Action()
	for _, lib := range p.Loader.Libraries {
		if dir := path.Dir(lib.Path); !slices.Contains(p.Loader.Dirs, dir) {
			p.Loader.Dirs = append(p.Loader.Dirs, dir)
		}
	}
	slices.Sort(p.Loader.Dirs)
}

func (l *layout) list(p *Plan, c elf.Class, dir, name string) {
	l.listFile(p, c, name, path.Join(dir, name))
}
