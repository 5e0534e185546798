package driver

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// search is one call of [Find].
type search struct {
	q        Query
	caps     capSet
	tree     *tree
	listing  listing
	names    map[*dir][]string
	warnings warnings
	notes    []string
}

// warnings is a list without repetitions.
type warnings []mounts.Warning

func (w *warnings) add(code, message string) {
	for _, have := range *w {
		if have.Code == code && have.Message == message {
			return
		}
	}
	*w = append(*w, mounts.Warning{Code: code, Message: message})
}

// anchors are the libraries that show where a driver lies when libcuda is not
// asked for.
var anchors = [...]string{"libnvidia-ml", "libcuda", "libGLX_nvidia", "libnvidia-glcore"}

// Find finds the driver's files in root. What it returns belongs together: one
// version, that of the kernel module.
//
// It fails with a *[MismatchError] where the libraries are of other versions
// only, and with a *[MissingError] where compute (or video) is asked for and
// libcuda is nowhere. The lack of anything else is a warning.
func Find(root *mounts.Root, q Query) (Files, error) {
	s, m, err := newSearch(root, q)
	if err != nil {
		return Files{}, err
	}
	p := s.newPass(m)
	for _, name := range q.LibraryDirs {
		p.configured(name)
	}
	if err := p.anchor(); err != nil {
		return Files{}, err
	}
	var out Files
	out.Libraries = p.libraries()
	out.Libraries = append(out.Libraries, p.compat32()...)
	out.Files, out.Links = p.dataFiles()
	p.include(&out)
	out.Links = append(out.Links, libraryLinks(out.Libraries, s.caps)...)
	s.exclude(&out)
	s.finish(&out)
	return out, nil
}

func newSearch(root *mounts.Root, q Query) (*search, machine, error) {
	if !driverLike(q.Version) {
		return nil, machine{}, fmt.Errorf("find driver files: %.200q is no driver version", q.Version)
	}
	caps, err := parseCapabilities(q.Capabilities)
	if err != nil {
		return nil, machine{}, fmt.Errorf("find driver files: %w", err)
	}
	if err := checkPatterns(q.Include, q.Exclude); err != nil {
		return nil, machine{}, fmt.Errorf("find driver files: %w", err)
	}
	m, err := machineOf(q.Machine)
	if err != nil {
		return nil, machine{}, err
	}
	s := &search{q: q, caps: caps, tree: newTree(root), listing: readCache(root), names: map[*dir][]string{}}
	return s, m, nil
}

// configured makes a directory of the configuration a home even without an
// anchor in it.
func (p *pass) configured(name string) {
	d := p.tree.dir(cleanAbs(name))
	if d == nil {
		p.warn("no-library-dir", "driver.library-dirs names %.200q, which is not a directory of the driver root; correct the configuration", name)
		return
	}
	p.addHome(d)
}

// anchor finds the driver, or says why there is none for this container.
func (p *pass) anchor() error {
	if p.caps&^compat32 == 0 && len(p.q.Include) == 0 {
		return nil
	}
	if p.caps&compute != 0 {
		if p.locate("libcuda") {
			return nil
		}
	} else {
		for _, stem := range anchors {
			if p.locate(stem) {
				return nil
			}
		}
	}
	p.survey()
	if len(p.others) > 0 {
		sort.Strings(p.others)
		return &MismatchError{Module: p.q.Version, Files: p.others}
	}
	missing := &MissingError{Root: p.q.RootPath, Library: "libcuda.so." + p.q.Version, Looked: p.looked, Absent: p.absent}
	if p.caps&compute == 0 {
		if p.caps != 0 {
			missing.Library = "libnvidia-ml.so." + p.q.Version
			p.warn("no-driver-files", "%v; %s", missing, missing.Cure())
		}
		return nil
	}
	missing.Elsewhere = p.elsewhere()
	return missing
}

// elsewhere looks for libcuda in the host's own root.
func (p *pass) elsewhere() string {
	if p.q.Elsewhere == nil {
		return ""
	}
	other := &pass{machine: p.machine, search: &search{q: p.q, tree: newTree(p.q.Elsewhere), listing: readCache(p.q.Elsewhere)}}
	other.cache = other.listing.of(p.machine, p.q.Version)
	if !other.locate("libcuda") {
		return ""
	}
	f, ok := other.exact("libcuda", "")
	if !ok {
		return ""
	}
	return p.tree.path(f)
}

// compat32 finds the 32-bit libraries. That there are none is never an error.
func (p *pass) compat32() []Library {
	if !p.q.Compat32 || p.caps&compat32 == 0 {
		return nil
	}
	if p.machine.compat == 0 {
		return nil
	}
	m, err := machineOf(p.machine.compat)
	if err != nil {
		return nil
	}
	p32 := p.newPass(m)
	stems := anchors[:]
	if p.caps&compute != 0 {
		stems = []string{"libcuda", "libnvidia-ml", "libGLX_nvidia"}
	}
	for _, stem := range stems {
		if p32.locate(stem) {
			return p32.libraries()
		}
	}
	p.warn("no-compat32", "the host has no 32-bit driver libraries of version %s; install them, or leave compat32 out of "+
		"NVIDIA_DRIVER_CAPABILITIES", p.q.Version)
	return nil
}

// finish makes the lists stable: one file for each SONAME and class, one for
// each target.
func (s *search) finish(out *Files) {
	if len(s.tree.denied) > 0 {
		s.warn("unreadable-driver-file", "no right to look at %s, so what is there is left out; allow root to read it",
			strings.Join(s.tree.denied, ", "))
	}
	out.Warnings = append(out.Warnings, s.warnings...)
	out.Notes = s.notes
	out.Libraries = unique(out.Libraries, func(a, b Library) bool { return a.SONAME == b.SONAME && a.Class == b.Class })
	sort.SliceStable(out.Libraries, func(i, j int) bool {
		a, b := out.Libraries[i], out.Libraries[j]
		if a.Class != b.Class {
			return a.Class > b.Class
		}
		return a.Name < b.Name
	})
	out.Files = unique(out.Files, func(a, b File) bool { return a.Target == b.Target })
	sort.SliceStable(out.Files, func(i, j int) bool { return out.Files[i].Target < out.Files[j].Target })
	out.Links = unique(out.Links, func(a, b Link) bool { return a.Path == b.Path })
	sort.SliceStable(out.Links, func(i, j int) bool { return out.Links[i].Path < out.Links[j].Path })
}

// unique keeps the first of equal elements.
func unique[T any](list []T, same func(a, b T) bool) []T {
	kept := list[:0]
next:
	for _, x := range list {
		for _, k := range kept {
			if same(k, x) {
				continue next
			}
		}
		kept = append(kept, x)
	}
	return kept
}

// errPattern is the cause of a bad include or exclude pattern.
var errPattern = errors.New("not a shell pattern")
