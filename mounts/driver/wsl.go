package driver

import (
	"path"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// Where Windows shows its driver inside a WSL2 system (Microsoft's WSL GPU
// documentation; libnvidia-container's dxcore part looks there, too): the
// libraries every program may load, and one directory for each installed
// driver package.
const (
	wslLibraries = "/usr/lib/wsl/lib"
	wslDrivers   = "/usr/lib/wsl/drivers"
)

// wslNeutral are libraries of WSL itself that are given with graphics: the
// container's Mesa renders through them.
var wslNeutral = [...]string{"libd3d12", "libd3d12core", "libdirectml"}

// FindWSL is [Find] for WSL2, whose driver is that of Windows: its files carry
// no version, all belong to one package, and [Query.Version] is not looked at.
// A *[MissingError] means that there is no libdxcore, or no libcuda where
// compute is asked for.
func FindWSL(root *mounts.Root, q Query) (Files, error) {
	s, m, err := newFixedSearch(root, q)
	if err != nil {
		return Files{}, err
	}
	p := s.newPass(m)
	var out Files
	lib := s.tree.dir(wslLibraries)
	if lib != nil {
		p.homes = []*dir{lib}
		p.wslLibraries(&out, lib)
	}
	if !hasSONAME(out.Libraries, "libdxcore.so") {
		return Files{}, &MissingError{Root: q.RootPath, Library: "libdxcore.so", Looked: []string{wslLibraries}}
	}
	if store := p.wslStore(); store != nil {
		p.wslFiles(&out, store)
		if !hasStem(out.Libraries, "libcuda") {
			p.wslLibraries(&out, store)
		}
	} else {
		p.warn("no-driver-store", "%s holds no NVIDIA driver package; update the Windows driver, then run: wsl --shutdown", wslDrivers)
	}
	if s.caps&compute != 0 && !hasStem(out.Libraries, "libcuda") {
		return Files{}, &MissingError{Root: q.RootPath, Library: "libcuda.so.1", Looked: []string{wslLibraries, wslDrivers}}
	}
	p.include(&out)
	s.exclude(&out)
	s.finish(&out)
	return out, nil
}

// newFixedSearch is newSearch for hosts whose files have no version. The one
// that stands in for it is the suffix of no file.
func newFixedSearch(root *mounts.Root, q Query) (*search, machine, error) {
	q.Version = "000.0"
	s, m, err := newSearch(root, q)
	if s != nil {
		s.listing = listing{}
	}
	return s, m, err
}

// wslLibraries takes the libraries of one directory that belong to the
// capabilities. libdxcore is always among them: without it nothing works.
func (p *pass) wslLibraries(out *Files, d *dir) {
	for _, n := range slices.Sorted(slices.Values(p.tree.list(d))) {
		stem, _, ok := splitName(n)
		if !ok {
			continue
		}
		capability, row := p.wslCapability(stem)
		if capability == "" {
			continue
		}
		f, ok := p.in(d, n)
		if !ok {
			continue
		}
		for _, l := range p.library(f, stem, row) {
			l.Capability, l.Listed = capability, true
			if !hasSONAME(out.Libraries, l.SONAME) {
				out.Libraries = append(out.Libraries, l)
			}
		}
	}
}

func (p *pass) wslCapability(stem string) (string, *libRow) {
	row := rowOf(strings.TrimSuffix(stem, "_loader"))
	switch {
	case stem == "libdxcore":
		return (p.caps | utility).name(), nil
	case slices.Contains(wslNeutral[:], stem):
		return (p.caps & graphics).name(), nil
	case row != nil:
		return (p.caps & row.caps).name(), row
	case !neutral(stem) && maybeDriver(stem+".so.1", p.q.Version):
		return (p.caps & compute).name(), nil
	}
	return "", nil
}

// wslStore finds the directory of NVIDIA's driver package. Windows keeps old
// packages for a while; the one that changed last is in use.
func (p *pass) wslStore() *dir {
	d := p.tree.dir(wslDrivers)
	if d == nil {
		return nil
	}
	var store *dir
	several := false
	for _, n := range p.tree.list(d) {
		candidate := p.tree.dir(path.Join(wslDrivers, n))
		if !strings.HasPrefix(n, "nv") || candidate == nil || !p.tree.has(candidate, "libcuda.so.1.1") {
			continue
		}
		several = several || store != nil
		if store == nil || candidate.mtime > store.mtime {
			store = candidate
		}
	}
	if several {
		p.warn("several-driver-stores", "%s holds more than one NVIDIA driver package; the newest, %.200q, is used; remove the others in Windows",
			wslDrivers, path.Base(p.tree.real(store)))
	}
	return store
}

// wslFiles takes the whole driver package, at the path by which libdxcore
// names it to the driver.
func (p *pass) wslFiles(out *Files, store *dir) {
	at := p.tree.real(store)
	for _, n := range p.tree.list(store) {
		smi := n == "nvidia-smi"
		if !smi && !strings.Contains(n, ".so") && !strings.HasSuffix(n, ".bin") && !strings.HasSuffix(n, ".dll") {
			continue
		}
		f, ok := p.in(store, n)
		if !ok {
			continue
		}
		out.Files = append(out.Files, File{Source: p.tree.path(f), Target: path.Join(at, n), Capability: compute.name(), Kind: Data, Root: p.tree.root})
		if smi && p.caps&utility != 0 {
			out.Files = append(out.Files, File{Source: p.tree.path(f), Target: "/usr/bin/nvidia-smi", Capability: utility.name(), Kind: Binary, Root: p.tree.root})
		}
	}
}

func hasSONAME(libs []Library, name string) bool {
	return slices.ContainsFunc(libs, func(l Library) bool { return l.SONAME == name })
}

func hasStem(libs []Library, stem string) bool {
	return slices.ContainsFunc(libs, func(l Library) bool {
		have, _, _ := splitName(l.Name)
		return have == stem
	})
}
