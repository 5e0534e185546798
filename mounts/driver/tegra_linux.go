package driver

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// tegraLists is where Jetson's packages put their file lists, and tegraBase
// the ones that every container gets (NVIDIA Container Toolkit, csv mode).
const tegraLists = "/etc/nvidia-container-runtime/host-files-for-container.d"

var tegraBase = [...]string{"devices.csv", "drivers.csv", "l4t.csv"}

// maxList bounds a file list, in bytes.
const maxList = 1 << 20

// FindTegra is [Find] for Jetson systems, whose driver is part of the system
// image: file lists say what belongs to a container, the names carry no driver
// version, and capabilities choose nothing. all takes every list of the
// directory, as the request csv-mounts=all wants, otherwise the base ones.
//
// What a list names and the host lacks is a note. A *[MissingError] means that
// compute is asked for and no list has libcuda.
func FindTegra(root *mounts.Root, q Query, all bool) (Files, error) {
	s, m, err := newFixedSearch(root, q)
	if err != nil {
		return Files{}, err
	}
	t := &tegra{pass: s.newPass(m)}
	for _, name := range t.lists(all) {
		t.list(name)
	}
	t.symlinks()
	if s.caps&compute != 0 && !hasStem(t.out.Libraries, "libcuda") {
		return Files{}, &MissingError{Root: q.RootPath, Library: "libcuda.so.1", Looked: []string{tegraLists}}
	}
	if len(t.missing) > 0 {
		shown := t.missing[:min(len(t.missing), 3)]
		t.warn("missing-list-entry", "%d files that the lists in %s name are not on this host (%.200q); install the packages that the lists come from",
			len(t.missing), tegraLists, strings.Join(shown, ", "))
	}
	s.exclude(&t.out)
	s.finish(&t.out)
	return t.out, nil
}

// tegra is one call of [FindTegra].
type tegra struct {
	*pass
	out     Files
	syms    []string
	missing []string
}

// lists are the names of the lists to read.
func (t *tegra) lists(all bool) []string {
	d := t.tree.dir(tegraLists)
	if d == nil {
		return nil
	}
	var names []string
	for _, n := range t.tree.list(d) {
		if strings.HasSuffix(n, ".csv") && (all || slices.Contains(tegraBase[:], n)) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

func (t *tegra) list(name string) {
	data, err := t.tree.root.ReadFile(path.Join(tegraLists, name), maxList)
	if err != nil {
		t.broken(err)
		return
	}
	entries, problems := parseList(data)
	for _, p := range problems {
		t.warn("bad-list-line", "%.200q, %s; correct the list", name, p)
	}
	for _, e := range entries {
		for _, p := range t.glob(e.path) {
			t.entry(e.kind, p)
		}
	}
}

// glob is the paths that an entry stands for: itself, unless it is a pattern.
func (t *tegra) glob(p string) []string {
	if !strings.ContainsAny(p, `*?[`) {
		return []string{p}
	}
	names, err := fs.Glob(t.tree.root.FS(), strings.TrimPrefix(p, "/"))
	if err != nil || len(names) == 0 {
		t.missing = append(t.missing, p)
		return nil
	}
	for i := range names {
		names[i] = "/" + names[i]
	}
	return names
}

// entry takes one line. Devices are left to those who make nodes; here they are
// only seen to be there.
func (t *tegra) entry(kind, p string) {
	d := t.tree.dir(path.Dir(p))
	if d == nil || !t.tree.has(d, path.Base(p)) {
		t.missing = append(t.missing, p)
		return
	}
	if kind == "sym" {
		t.syms = append(t.syms, p)
		return
	}
	f, err := t.tree.find(d, path.Base(p))
	if err != nil {
		t.missing = append(t.missing, p)
		return
	}
	file := File{Source: t.tree.path(f), Target: p, Capability: compute.name(), Optional: true, Root: t.tree.root}
	switch {
	case kind == "dev" && (f.isKind(unix.S_IFCHR) || f.isKind(unix.S_IFBLK)):
		file.Kind = Device
	case kind == "dir" && f.isKind(unix.S_IFDIR):
		file.Kind = Directory
	case kind == "lib" && f.isKind(unix.S_IFREG):
		if t.loadable(p) {
			t.takeLibrary(f)
			return
		}
		file.Kind = Data
	default:
		t.broken(fmt.Errorf("%.200q is not what its list says (%s)", p, kind))
		return
	}
	t.out.Files = append(t.out.Files, file)
}

// loadable tells libraries that the loader finds from plug-ins, which their
// programs look for at one place: the directories that L4T's ld.so.conf names.
func (t *tegra) loadable(p string) bool {
	if _, _, ok := splitName(path.Base(p)); !ok {
		return false
	}
	switch dir := path.Dir(p); path.Base(dir) {
	case "tegra", "tegra-egl", "nvidia", t.machine.triplet:
		return true
	}
	return false
}

func (t *tegra) takeLibrary(f found) {
	stem, _, ok := splitName(f.name)
	if !ok || neutral(stem) {
		return
	}
	row := rowOf(stem)
	for _, l := range t.library(f, stem, row) {
		l.Listed = true // by the host's own list
		l.Capability = compute.name()
		if row != nil {
			l.Capability = row.caps.name()
		}
		t.out.Libraries = append(t.out.Libraries, l)
	}
}

// symlinks sorts the sym lines out: one that leads to a library of the list is
// a further name of it, any other goes where it was.
func (t *tegra) symlinks() {
	for _, p := range t.syms {
		target, err := t.tree.root.Readlink(p)
		if err != nil {
			t.broken(err)
			continue
		}
		name := path.Base(p)
		if end, err := t.tree.root.Resolve(p); err == nil {
			i := slices.IndexFunc(t.out.Libraries, func(l Library) bool { return l.Path == end })
			if _, _, isLib := splitName(name); isLib && i >= 0 {
				if l := &t.out.Libraries[i]; name != l.SONAME && name != l.Name {
					l.Links = appendNew(l.Links, name)
				}
				continue
			}
		}
		t.out.Links = append(t.out.Links, Link{Path: p, Target: target, Capability: compute.name()})
	}
}
