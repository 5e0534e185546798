package driver

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// checkPatterns refuses what [path.Match] cannot read.
func checkPatterns(lists ...[]string) error {
	for _, list := range lists {
		for _, p := range list {
			if _, err := path.Match(p, "x"); err != nil {
				return fmt.Errorf("read pattern %.200q: %w: %w", p, errPattern, err)
			}
		}
	}
	return nil
}

// matches holds a pattern against a path: its base name, or all of it where
// the pattern has a slash.
func matches(patterns []string, file string) bool {
	for _, p := range patterns {
		name := file
		if !strings.Contains(p, "/") {
			name = path.Base(file)
		}
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

// includeName is the capability of what only the configuration asks for.
const includeName = "include"

// include adds what mounts.include names and the capabilities did not bring: by
// base name what lies beside the driver's libraries, by path what lies
// anywhere in the driver root. Vendor-neutral libraries and other driver
// versions stay out here, too.
func (p *pass) include(out *Files) {
	for _, pattern := range p.q.Include {
		if strings.Contains(pattern, "/") {
			p.includePath(out, pattern)
			continue
		}
		hit := false
		for _, h := range p.homes {
			for _, n := range p.tree.list(h) {
				if ok, _ := path.Match(pattern, n); ok && p.includeFile(out, h, n) {
					hit = true
				}
			}
		}
		if !hit {
			p.warn("include-unmatched", "mounts.include has %.200q, which matches no file of the driver; correct or remove it", pattern)
		}
	}
}

func (p *pass) includePath(out *Files, pattern string) {
	names, err := fs.Glob(p.tree.root.FS(), strings.TrimLeft(path.Clean(pattern), "/"))
	if err != nil || len(names) == 0 {
		p.warn("include-unmatched", "mounts.include has %.200q, which matches no file of the driver root; correct or remove it", pattern)
		return
	}
	for _, n := range names {
		if d := p.tree.dir(path.Dir("/" + n)); d != nil {
			p.includeFile(out, d, path.Base(n))
		}
	}
}

// includeFile adds one file and tells whether it is (or was already) among
// those found.
func (p *pass) includeFile(out *Files, d *dir, name string) bool {
	f, err := p.tree.regular(d, name)
	if err != nil {
		p.broken(err)
		return false
	}
	stem, suffix, isLib := splitName(f.name)
	if !isLib {
		out.Files = append(out.Files, File{
			Source: p.tree.path(f), Target: path.Join(d.asked, name), Capability: includeName,
			Kind: Data, Optional: true, Root: p.tree.root,
		})
		return true
	}
	if neutral(stem) || driverLike(suffix) && suffix != p.q.Version {
		p.warn("include-refused", "mounts.include matches %.200q, which is vendor-neutral or of another driver version; make the pattern narrower", p.tree.path(f))
		return false
	}
	for _, l := range out.Libraries {
		if l.Path == p.tree.path(f) {
			return true
		}
	}
	row := rowOf(stem)
	libs := p.library(f, stem, row)
	for _, l := range libs {
		l.Capability = includeName
		out.Libraries = append(out.Libraries, l)
	}
	return len(libs) > 0
}

// exclude takes out what mounts.exclude names, and links to it.
func (s *search) exclude(out *Files) {
	if len(s.q.Exclude) == 0 {
		return
	}
	libs := out.Libraries[:0]
	gone := map[string]bool{}
	for _, l := range out.Libraries {
		if matches(s.q.Exclude, l.Path) || matches(s.q.Exclude, l.SONAME) {
			gone[l.SONAME] = true
			continue
		}
		libs = append(libs, l)
	}
	files := out.Files[:0]
	for _, f := range out.Files {
		if !matches(s.q.Exclude, f.Source) && !matches(s.q.Exclude, f.Target) {
			files = append(files, f)
		}
	}
	links := out.Links[:0]
	for _, l := range out.Links {
		if !gone[l.Target] && !matches(s.q.Exclude, l.Path) {
			links = append(links, l)
		}
	}
	out.Libraries, out.Files, out.Links = libs, files, links
}

func cleanAbs(name string) string { return path.Clean("/" + name) }
