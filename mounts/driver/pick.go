package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
)

// libraries chooses the files of every row that the capabilities ask for.
func (p *pass) libraries() []Library {
	var out []Library
	missing := map[string][]string{}
	for i := range libraries {
		row := &libraries[i]
		caps := row.caps & p.caps
		if caps == 0 || row.naming == module {
			continue
		}
		libs := p.row(row)
		if len(libs) == 0 && row.need != extra {
			missing[caps.name()] = append(missing[caps.name()], row.stem)
		}
		for _, l := range libs {
			l.Capability = caps.name()
			out = append(out, l)
		}
	}
	if p.caps&compute != 0 {
		out = append(out, p.unlisted()...)
	}
	for _, c := range capNames {
		if names := missing[c.name]; len(names) > 0 && p.machine.elf == p.q.Machine {
			p.warn("missing-library", "driver %s on this host lacks %s, which %s needs; install the driver package that has it",
				p.q.Version, strings.Join(names, ", "), c.name)
		}
	}
	return out
}

// row returns the files of one row: one, none, or for a family several.
func (p *pass) row(row *libRow) []Library {
	if !row.family() && row.naming == versioned {
		f, ok := p.exact(row.stem, row.subdir)
		if !ok {
			return nil
		}
		return p.library(f, row.stem, row)
	}
	var out []Library
	for _, f := range p.members(row) {
		stem, _, _ := splitName(f.name)
		out = append(out, p.library(f, stem, row)...)
	}
	return out
}

// exact finds stem.so.VERSION.
func (p *pass) exact(stem, subdir string) (found, bool) {
	name := stem + ".so." + p.q.Version
	for _, h := range p.homes {
		if f, ok := p.in(h, name); ok {
			return f, true
		}
		if subdir == "" {
			continue
		}
		if d := p.tree.dir(p.tree.join(h, subdir)); d != nil {
			if f, ok := p.in(d, name); ok {
				return f, true
			}
		}
	}
	for _, c := range p.cache {
		if c.stem != stem {
			continue
		}
		if f, ok := p.behind(c); ok && p.isVersion(f) {
			return f, true
		}
	}
	return found{}, false
}

// in looks into one directory. Anything but absence is worth a warning.
func (p *pass) in(d *dir, name string) (found, bool) {
	f, err := p.tree.regular(d, name)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || errors.Is(err, errEmpty)) {
		p.broken(fmt.Errorf("%.200q: %w", name, err))
	}
	return f, err == nil
}

// behind follows an entry of the loader cache.
func (p *pass) behind(c listed) (found, bool) {
	d := p.tree.dir(path.Dir(c.path))
	if d == nil {
		return found{}, false
	}
	d.inCache, d.viaCache = true, true
	f, err := p.tree.regular(d, path.Base(c.path))
	if err != nil {
		p.broken(fmt.Errorf("%.200q, which the loader cache lists: %w", c.path, err))
		return found{}, false
	}
	f.dir.viaCache = true
	return f, true
}

// members finds the files of a family, and of libraries without the driver's
// version in their name. The latter are the driver's only if they lie beside
// its other libraries.
func (p *pass) members(row *libRow) []found {
	var out []found
	add := func(f found) {
		_, suffix, ok := splitName(f.name)
		if !ok || !row.accepts(suffix, p.q.Version) || row.naming != versioned && !p.isHome(f.dir) {
			return
		}
		for _, have := range out {
			if have == f {
				return
			}
		}
		out = append(out, f)
	}
	belongs := func(stem string) bool {
		return stem == row.stem || row.family() && strings.HasPrefix(stem, row.prefix())
	}
	for _, h := range p.homes {
		if p.listing.fresh(h) {
			continue
		}
		for _, n := range p.sorted(h) {
			if stem, _, ok := splitName(n); ok && belongs(stem) {
				if f, ok := p.in(h, n); ok {
					add(f)
				}
			}
		}
	}
	for _, c := range p.cache {
		if belongs(c.stem) {
			if f, ok := p.behind(c); ok {
				add(f)
			}
		}
	}
	return out
}

// sorted returns the names in a directory that may be the driver's, in byte
// order, so that a SONAME link comes before the files it could lead to.
func (p *pass) sorted(d *dir) []string {
	if names, ok := p.names[d]; ok {
		return names
	}
	var names []string
	for _, n := range p.tree.list(d) {
		if maybeDriver(n, p.q.Version) {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	p.names[d] = names
	return names
}

// library describes a chosen file, or says why it cannot be had. The SONAME is
// the loader cache's word where that leads to this directory, and is read from
// the file elsewhere.
func (p *pass) library(f found, stem string, row *libRow) []Library {
	lib := Library{Path: p.tree.path(f), Name: f.name, Class: p.machine.class}
	if row != nil {
		lib.Listed, lib.Direct = true, row.direct
	}
	lib.SONAME = p.cachedName(f, stem)
	o, name, err := p.tree.object(f, lib.SONAME == "")
	if err == nil {
		err = p.fits(f, o)
	}
	if err != nil {
		p.broken(err)
		return nil
	}
	switch {
	case lib.SONAME != "":
	case name != "":
		lib.SONAME = name
	default:
		lib.SONAME = f.name // ldconfig uses the file's name then, too
	}
	lib.Links = p.links(f, stem, row)
	return []Library{lib}
}

// cachedName is the name under which the cache lists a file. It is empty where
// the cache does not say, or says two things.
func (p *pass) cachedName(f found, stem string) string {
	if !f.dir.viaCache || !p.isVersion(f) {
		return ""
	}
	name := ""
	for _, c := range p.cache {
		switch {
		case c.stem != stem || driverLike(c.suffix) && c.name != f.name:
		case c.name == f.name || c.suffix == p.q.Version:
			return c.name
		case name != "":
			return ""
		default:
			name = c.name
		}
	}
	return name
}

// links are the further names of a library. Two of them are made on every
// host, since programs open them and packages leave them to -dev packages.
func (p *pass) links(f found, stem string, row *libRow) []string {
	if row == nil || !row.dev {
		return nil
	}
	name := stem + ".so"
	if stem == "libcuda" || stem == "libnvidia-opticalflow" {
		return []string{name}
	}
	if p.tree.has(f.dir, name) {
		return []string{name}
	}
	for _, h := range p.homes {
		if h != f.dir && p.tree.has(h, name) {
			return []string{name}
		}
	}
	return nil
}

// unlisted finds libraries with the driver's version that no row names: those
// of a driver younger than the table.
func (p *pass) unlisted() []Library {
	var out []Library
	add := func(stem string) {
		if rowOf(stem) != nil || neutral(stem) {
			return
		}
		f, ok := p.exact(stem, "")
		if !ok {
			return
		}
		for _, l := range p.library(f, stem, nil) {
			l.Capability = compute.name()
			out = append(out, l)
		}
	}
	seen := map[string]bool{}
	for _, h := range p.homes {
		if p.listing.fresh(h) {
			continue
		}
		for _, n := range p.sorted(h) {
			if stem, suffix, ok := splitName(n); ok && suffix == p.q.Version && !seen[stem] {
				seen[stem] = true
				add(stem)
			}
		}
	}
	for _, c := range p.cache {
		if !seen[c.stem] {
			seen[c.stem] = true
			add(c.stem)
		}
	}
	for _, l := range out {
		if matches(p.q.Exclude, l.Path) || matches(p.q.Exclude, l.SONAME) {
			continue // taken out later
		}
		p.warn("unlisted-library", "%s has the driver's version but is not known to gpu-hook, so it goes to every container with compute; "+
			"mounts.exclude keeps it out", l.Name)
	}
	return out
}

// broken notes an optional file that cannot be used.
func (p *pass) broken(err error) {
	p.warn("broken-driver-file", "a file of the driver is left out: %v; reinstall the driver package that has it", err)
}

// warn adds a warning once.
func (s *search) warn(code, format string, args ...any) {
	s.warnings.add(code, fmt.Sprintf(format, args...))
}
