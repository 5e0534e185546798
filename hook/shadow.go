package hook

import (
	"debug/elf"
	"path"
	"path/filepath"
	"slices"

	"github.com/gpu-hook/gpu-hook/mounts/loader"
)

// loaderUpdate is what the plan says for the container's loader.
func (p Plan) loaderUpdate() loader.Update {
	var up loader.Update
	if p.Tree != "" {
		up.Dirs = p.Loader.Dirs // ours alone
	}
	for _, lib := range p.Loader.Libraries {
		class := elf.ELFCLASS64
		if lib.Bits == 32 {
			class = elf.ELFCLASS32
		}
		up.Libraries = append(up.Libraries, loader.Library{Name: lib.Name, Path: lib.Path, Class: class})
	}
	return up
}

// warnShadowed names a libcuda or libnvidia-ml of the image's own that programs
// would get in the place of the driver's: nothing short of removing it helps,
// so the user must know where it is.
func (p *Plan) warnShadowed(f Facts, r *Roots) {
	search, _ := f.Request.Env.Lookup("LD_LIBRARY_PATH")
	ours := map[string]bool{}
	if o := f.Decision.Overlay; o != nil && !o.Host {
		for _, m := range o.Members {
			ours[path.Join(o.Dir, m.File)] = true
		}
	}
	for _, s := range loader.Shadowed(r.Container, f.Loader, p.loaderUpdate(), filepath.SplitList(search)) {
		if ours[s.Real] || slices.Contains(p.Hidden, path.Dir(s.Real)) {
			continue
		}
		when := "programs load it"
		if s.Later {
			when = "programs load it once ldconfig has run in the container"
		}
		p.warn("shadowed-"+stem(s.Name), "the image has its own %s at %.200q and %s instead of the driver's; remove it from the image, or its directory from LD_LIBRARY_PATH", s.Name, s.Path, when)
	}
	p.sort()
}

// stem is "libcuda" of "libcuda.so.1".
func stem(soname string) string {
	for i := range soname {
		if soname[i] == '.' {
			return soname[:i]
		}
	}
	return soname
}
