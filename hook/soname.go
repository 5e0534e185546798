package hook

import (
	"debug/elf"
	"path"
)

// addSONAME makes the name that a library is loaded by lead to it, and lists it
// for the loader cache. target is the link's text, file the library itself as
// the container sees it.
//
// In layout "direct" an image may have a library of its own under that name.
// It is left as it is, and the cache names ours by its file.
func (l *layout) addSONAME(p *Plan, c elf.Class, soname, target, file string) {
	name := path.Join(l.libDir(c), soname)
	switch {
	case name == file: // the name of the file itself
	case l.direct && l.imageOwn(name, target):
		p.warn("image-file", "the image has its own %.200q; it is left as it is, and programs get the driver's through the loader cache until ldconfig runs in the container; remove it from the image", name)
		l.listFile(p, c, soname, file)
		return
	default:
		l.addLink(p, name, target)
	}
	l.listFile(p, c, soname, name)
}

// imageOwn reports that a name in the container's library directory is the
// image's own. A link into a cuda-compat set is not: what it should lead to is
// decided here.
func (l *layout) imageOwn(name, target string) bool {
	switch pl := l.f.Places[name]; pl.Kind {
	case Absent, Dangling, Empty:
		return false
	case Link:
		return pl.Target != target && !l.f.intoOverlay(pl.Target)
	default:
		return true
	}
}

// listFile lists a library for the loader cache.
func (l *layout) listFile(p *Plan, c elf.Class, name, file string) {
	bits := 64
	if c == elf.ELFCLASS32 {
		bits = 32
	}
	p.Loader.Libraries = append(p.Loader.Libraries, LoaderLibrary{Name: name, Path: file, Bits: bits})
}
