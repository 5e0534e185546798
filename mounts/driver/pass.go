package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// pass is the search for the libraries of one word size.
type pass struct {
	*search
	machine machine
	cache   []listed
	homes   []*dir // where the driver's libraries lie, the first first

	looked, absent []string // for messages
	others         []string // the same libraries in another version
}

func (s *search) newPass(m machine) *pass {
	return &pass{search: s, machine: m, cache: s.listing.of(m, s.q.Version)}
}

// addHome appends a directory once. Debian keeps the libraries that have a
// SONAME without a version in nvidia/NAME, the others above it.
func (p *pass) addHome(d *dir) {
	if p.isHome(d) {
		return
	}
	p.homes = append(p.homes, d)
	if above := path.Dir(p.tree.real(d)); path.Base(above) == "nvidia" {
		if d := p.tree.dir(path.Dir(above)); d != nil {
			p.addHome(d)
		}
	}
}

func (p *pass) isHome(d *dir) bool {
	for _, h := range p.homes {
		if h == d {
			return true
		}
	}
	return false
}

// locate finds the directories of the driver by one of its libraries, and
// tells whether it is there: first where the administrator says, then where
// the loader cache says, then in the usual places.
func (p *pass) locate(stem string) bool {
	for _, name := range p.q.LibraryDirs {
		if d := p.tree.dir(path.Clean("/" + name)); d != nil && p.at(d, stem) {
			return true
		}
	}
	for _, c := range p.cache {
		if c.stem != stem {
			continue
		}
		d := p.tree.dir(path.Dir(c.path))
		if d == nil {
			continue
		}
		d.inCache, d.viaCache = true, true
		f, err := p.tree.regular(d, path.Base(c.path))
		if err == nil && p.isVersion(f) && p.sound(f) {
			f.dir.viaCache = true
			p.addHome(f.dir)
			p.addHome(d)
			return true
		}
		// A link leads to the newest version, which need not be the module's.
		if p.at(d, stem) || err == nil && f.dir != d && p.at(f.dir, stem) {
			p.addHome(d)
			return true
		}
	}
	for _, place := range p.places() {
		if d := p.tree.dir(place); d != nil && p.at(d, stem) {
			return true
		}
	}
	return false
}

// places are the usual directories of this word size.
func (p *pass) places() []string {
	names := places64[:]
	if p.machine.elf != p.q.Machine {
		names = places32[:]
	}
	fill := p.machine.words(p.q.Version)
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fill.fill(n)
	}
	return out
}

// at looks for a library of the module's version in one directory: by its full
// name, or behind the links that programs use (a directory of links into a
// package store has no more than those).
func (p *pass) at(d *dir, stem string) bool {
	for _, name := range [...]string{stem + ".so." + p.q.Version, stem + ".so.1", stem + ".so"} {
		f, err := p.tree.regular(d, name)
		switch {
		case errors.Is(err, errEmpty):
			p.looked = append(p.looked, fmt.Sprintf("%s (empty file)", p.tree.join(d, name)))
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			p.looked = append(p.looked, err.Error())
		case !p.isVersion(f):
			if _, suffix, _ := splitName(f.name); driverLike(suffix) {
				p.others = appendNew(p.others, p.tree.path(f))
			}
		case p.sound(f):
			p.addHome(f.dir)
			p.addHome(d)
			return true
		}
	}
	return false
}

// isVersion tells whether a file's name ends in the module's version.
func (p *pass) isVersion(f found) bool {
	_, suffix, ok := splitName(f.name)
	return ok && suffix == p.q.Version
}

// sound tells whether a file is a shared object for this machine.
func (p *pass) sound(f found) bool {
	o, _, err := p.tree.object(f, false)
	if err == nil {
		err = p.fits(f, o)
	}
	if err != nil {
		p.looked = appendNew(p.looked, err.Error())
	}
	return err == nil
}

func (p *pass) fits(f found, o object) error {
	if o.machine != p.machine.elf || o.class != p.machine.class {
		return fmt.Errorf("%.200q: made for %s of %s, not %s", p.tree.path(f),
			strings.TrimPrefix(o.machine.String(), "EM_"), o.class, strings.TrimPrefix(p.machine.elf.String(), "EM_"))
	}
	return nil
}

// survey is for the error: which places exist, and which other versions are
// there without a link to them.
func (p *pass) survey() {
	names := append(append([]string{}, p.q.LibraryDirs...), p.places()...)
	for _, c := range p.cache {
		names = appendNew(names, path.Dir(c.path))
	}
	for _, name := range names {
		d := p.tree.dir(path.Clean("/" + name))
		if d == nil {
			p.absent = appendNew(p.absent, name)
			continue
		}
		p.looked = appendNew(p.looked, p.tree.real(d))
		for _, n := range p.tree.list(d) {
			stem, suffix, ok := splitName(n)
			if !ok || stem != "libcuda" && stem != "libnvidia-ml" || suffix == p.q.Version || !driverLike(suffix) {
				continue
			}
			if f, err := p.tree.regular(d, n); err == nil {
				p.others = appendNew(p.others, p.tree.path(f))
			}
		}
	}
	if p.listing.problem != "" {
		p.looked = appendNew(p.looked, p.listing.problem)
	}
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}
