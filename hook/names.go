package hook

import (
	"cmp"
	"debug/elf"
	"path"
	"slices"

	"github.com/gpu-hook/gpu-hook/mounts/driver"
)

// addFiles places what is no library: binaries, and data at fixed places. In
// the private layout the file lies in the tree and its usual name is a link to
// it, so that an image keeps a link and no zero-byte file.
func (l *layout) addFiles(p *Plan) {
	for _, f := range l.f.Files.Files {
		l.addFile(p, f)
	}
	for _, k := range l.f.Files.Links {
		l.addDriverLink(p, k)
	}
}

func (l *layout) addFile(p *Plan, f driver.File) {
	m := Mount{
		Source: l.f.hostPath(f), Target: f.Target,
		Options: slices.Clone(fileOptions[:]), Optional: f.Optional,
	}
	if f.Kind == driver.Socket || f.Kind == driver.Directory {
		if f.Writable {
			// A socket is connected to, which needs write permission: never read-only.
			m.Options = []string{"nosuid", "nodev", "noexec"}
		}
		if l.usable(f.Target) {
			p.Mounts = append(p.Mounts, m)
		}
		return
	}
	inTree := path.Join(l.tree, treeFiles, f.Target)
	if f.Kind == driver.Binary {
		inTree = path.Join(l.tree, treeBin, path.Base(f.Target))
	}
	if f.Text != "" {
		l.addText(p, f)
		return
	}
	switch {
	case l.covers(f.Target):
		m.Cover = true // the image's own: covered, never changed
	case !l.usable(f.Target):
		if l.direct || f.Kind != driver.Binary {
			return
		}
		m.Target = inTree // still in PATH of CUDA images
	case !l.direct:
		m.Target = inTree
		l.addNamed(p, f.Target, inTree)
	}
	p.Mounts = append(p.Mounts, m)
}

// addText gives the container a file in other words than the host's: the
// host's names a library by a path that the container has not. An image's own
// file of that name is meant for the container as it is, and stays.
func (l *layout) addText(p *Plan, f driver.File) {
	if l.covers(f.Target) {
		p.warn("image-file", "the image has its own %.200q; it is left as it is", f.Target)
		return
	}
	inTree := path.Join(l.textDir(), f.Target)
	p.Texts = append(p.Texts, Text{Path: inTree, Content: f.Text})
	l.addNamed(p, f.Target, inTree)
}

// addDriverLink plans a link that belongs to the driver and lies outside its
// library directory, such as gbm/nvidia-drm_gbm.so.
func (l *layout) addDriverLink(p *Plan, k driver.Link) {
	name, target := l.f.linkNames(k, l.libDir(elf.ELFCLASS64))
	if name == "" || k.IfAbsent && l.f.Places[name].Kind != Absent {
		return
	}
	l.addNamed(p, name, target)
}

// addNamed plans a link at a name outside the tree, if that name is ours to use.
func (l *layout) addNamed(p *Plan, name, target string) {
	if l.f.Places.Replaceable(name, target) {
		l.addLink(p, name, target)
		return
	}
	switch l.f.Places[name].Kind {
	case Foreign, ReadOnly:
		l.left[path.Dir(name)]++
	case Unusable:
		l.unusable[name] = l.f.Places[name].Why
	case File, Link:
		p.warn("image-file", "the image has its own %.200q; it is left as it is and the loader cache puts the driver's first", name)
	default:
		p.warn("name-taken", "%.200q is taken by something that is no file; the link is left out", name)
	}
}

func (l *layout) addTreeLink(p *Plan, name, target string) {
	l.addLink(p, path.Join(l.tree, name), target)
}

// addLink plans a link once; the first of two with the same name wins.
func (l *layout) addLink(p *Plan, name, target string) {
	if slices.ContainsFunc(p.Symlinks, func(s Symlink) bool { return s.Path == name }) {
		return
	}
	link := Symlink{Path: name, Target: target, Optional: l.optional(name)}
	if pl := l.f.Places[name]; l.direct && pl.Kind == Link && pl.Target != target && l.f.intoOverlay(pl.Target) {
		link.Replaces = pl.Target // which set programs get is decided here
	}
	p.Symlinks = append(p.Symlinks, link)
}

// optional reports that a container may do without the name.
func (l *layout) optional(name string) bool {
	return name == eglProfile || slices.ContainsFunc(l.f.Files.Files, func(f driver.File) bool { return f.Target == name && f.Optional })
}

// usable reports that a file of ours may be placed at the name, and counts it
// as left out where it may not.
func (l *layout) usable(name string) bool {
	switch l.f.Places[name].Kind {
	case Absent, Dangling, Empty, File, Link:
		return true
	case Foreign, ReadOnly:
		l.left[path.Dir(name)]++
		return false
	case Unusable:
		l.unusable[name] = l.f.Places[name].Why
		return false
	default:
		l.unusable[name] = "something that is no file is there"
		return false
	}
}

// covers reports that the image has a file of its own at the name, over which
// the host's is bound.
func (l *layout) covers(name string) bool { return l.f.Places[name].Kind == File }

// summarise turns what was left out into one warning per directory.
func (l *layout) summarise(p *Plan) {
	dirs := make([]string, 0, len(l.left))
	for d := range l.left {
		dirs = append(dirs, d)
	}
	slices.SortFunc(dirs, cmp.Compare[string])
	for _, d := range dirs {
		p.warn("user-volume", "%.200q is a user's volume or read-only and is not written to; %d names are left out there", d, l.left[d])
	}
	for name, why := range l.unusable {
		p.warn("optional-file", "%.200q is left out: %s; repair the image if its programs need the file", name, why)
	}
	if !l.direct && l.tree != l.f.Config.Mounts.Dir {
		p.warn("tree-moved", "%.200q lies in a user's volume that has no such directory; the driver's files are at %s instead", l.f.Config.Mounts.Dir, l.tree)
	}
}
