package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// link is what stands at a name that we want for a link of ours.
type link struct {
	path, real string
	exists     bool
	target     string // "" where it is no link
}

// lookLink looks at a name without following it.
func (h host) lookLink(name string) (link, error) {
	dir, err := h.real(path.Dir(name))
	if err != nil {
		return link{}, err
	}
	l := link{path: name, real: filepath.Join(dir, path.Base(name))}
	info, err := os.Lstat(l.real)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("look at %s: %w", name, err)
	}
	l.exists = true
	if info.Mode()&fs.ModeSymlink != 0 {
		if l.target, err = os.Readlink(l.real); err != nil {
			return l, fmt.Errorf("look at %s: %w", name, err)
		}
	}
	return l, nil
}

// made reports a link that an earlier run made: the targets of ours are
// absolute, those of a package's are relative and stay.
func (l link) made() bool {
	return path.IsAbs(l.target) && ownProgram(l.target)
}

// place plans a link to target. done is false where something else stands
// there.
func (p *plan) place(l link, target string) (done bool) {
	if l.exists && !l.made() {
		return false
	}
	if l.target != target {
		c := Change{Path: l.path, Link: true, New: []byte(target), real: l.real}
		if l.exists {
			c.Old = []byte(l.target)
		}
		p.changes = append(p.changes, c)
	}
	return true
}

// takeAway plans the end of a link of ours.
func (p *plan) takeAway(l link) {
	twice := slices.ContainsFunc(p.changes, func(c Change) bool { return c.real == l.real }) // /bin is often a link to /usr/bin
	if l.made() && !twice {
		p.changes = append(p.changes, Change{Path: l.path, Link: true, Old: []byte(l.target), real: l.real})
	}
}

// placeWrapper sees to it that the wrapper's name leads to the program.
func (p *plan) placeWrapper(h host, o Options) error {
	name := o.wrapper()
	if name == o.Binary {
		return nil
	}
	l, err := h.lookLink(name)
	if err != nil || p.place(l, o.Binary) {
		return err
	}
	if err := h.checkBinary(name); err != nil {
		return refused(name, "is in the way: it is not gpu-hook's", "remove it, or install gpu-hook elsewhere and name that with --binary")
	}
	a, _ := h.real(name)
	b, _ := h.real(o.Binary)
	if a != b {
		p.warn("other-wrapper", "%s is another file than %s; engines start it as it is", name, o.Binary)
	}
	return nil
}

// wrapperFiles are where each engine's mention of the wrapper stands.
var wrapperFiles = [...]struct{ engine, file string }{
	{"containerd", containerdFile},
	{"containerd", path.Join(path.Dir(containerdFile), "conf.d", dropInName+".toml")},
	{"crio", crioFile},
	{"docker", dockerFile},
	{"podman", podmanFile},
}

// takeWrapper plans the end of the wrapper's link, unless another engine's
// configuration names it. named is what the engine's own configuration said,
// "" where it said nothing.
func (p *plan) takeWrapper(h host, o Options, named string) error {
	if path.Base(named) != wrapperName || !path.IsAbs(named) {
		named = o.wrapper()
	}
	for _, w := range wrapperFiles {
		if w.engine == o.Engine {
			continue
		}
		if f, err := h.read(w.file); err == nil && bytes.Contains(f.data, []byte(named)) {
			return nil
		}
	}
	l, err := h.lookLink(named)
	if err == nil {
		p.takeAway(l)
	}
	return err
}
