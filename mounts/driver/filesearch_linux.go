package driver

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// fileSearch looks for the rows of [fileRows].
type fileSearch struct {
	*pass
	words   words
	bins    []string // what {bin} stands for
	release bool     // {release} is known
	fw      string   // {firmware}
}

// dataFiles finds everything that is not a library.
func (p *pass) dataFiles() ([]File, []Link) {
	s := &fileSearch{pass: p, release: p.q.KernelRelease != "", fw: p.firmwarePath()}
	mps := cleanAbs(p.q.MPSDir)
	if p.q.MPSDir == "" {
		mps = "/tmp/nvidia-mps" // nvidia-cuda-mps-control(1), CUDA_MPS_PIPE_DIRECTORY
	}
	s.words = append(p.machine.words(p.q.Version), "{release}", p.q.KernelRelease, "{firmware}", s.fw,
		"{mps}", path.Base(mps), "{mpsdir}", path.Dir(mps))
	s.bins = s.binaryDirs()
	var files []File
	missing := map[string][]string{}
	for i := range fileRows {
		row := &fileRows[i]
		caps := row.caps & p.caps
		if caps == 0 {
			continue
		}
		got := s.row(row, caps.name())
		if len(got) == 0 && row.host {
			p.notes = append(p.notes, "the host has no "+path.Join(s.words.fill(row.in[0]), s.words.fill(row.names[0]))+": "+row.daemon)
		}
		if len(got) == 0 && row.need == expected {
			missing[caps.name()] = append(missing[caps.name()], s.words.fill(row.names[0]))
		}
		files = append(files, got...)
	}
	for _, c := range capNames {
		if names := missing[c.name]; len(names) > 0 {
			p.warn("missing-driver-file", "the driver on this host lacks %s, which %s needs; install the driver package that has it",
				strings.Join(names, ", "), c.name)
		}
	}
	return files, moduleLinks(files)
}

// row finds the files of one row.
func (s *fileSearch) row(row *fileRow, capability string) []File {
	trees := []*tree{s.tree}
	if row.host && s.q.Elsewhere != nil && s.q.Elsewhere != s.tree.root {
		trees = append(trees, newTree(s.q.Elsewhere))
	}
	var out []File
	taken := map[string]bool{}
	for _, t := range trees {
		for _, place := range s.expand(row.in) {
			d := t.dir(place)
			if d == nil {
				continue
			}
			for _, name := range s.rowNames(t, d, row) {
				if taken[name] {
					continue
				}
				f, ok := s.take(t, d, name, row.kind)
				if !ok {
					continue
				}
				taken[name] = true
				to := s.words.fill(row.to)
				switch {
				case to != "":
				case row.xorg != "" && !strings.Contains(place, "xorg"):
					to = path.Join(xorgModules, row.xorg)
				default:
					to = place
				}
				out = append(out, File{
					Source: t.name(f), Target: path.Join(to, name), Capability: capability,
					Kind: row.kind, Optional: row.kind != Binary, Writable: row.host, Text: driverListText(t, f, row.kind), Root: t.root,
				})
			}
		}
	}
	return out
}

// rowNames fills a row's names in; one with a star needs a look at the
// directory.
func (s *fileSearch) rowNames(t *tree, d *dir, row *fileRow) []string {
	var names []string
	for _, n := range row.names {
		switch {
		case strings.Contains(n, "*"):
			for _, have := range t.list(d) {
				if ok, _ := path.Match(n, have); ok {
					names = append(names, have)
				}
			}
			sort.Strings(names)
		case strings.Contains(n, "{"):
			names = append(names, s.words.fill(n))
		default:
			names = append(names, n)
		}
	}
	return names
}

// take looks at one file.
func (s *fileSearch) take(t *tree, d *dir, name string, kind Kind) (found, bool) {
	f, err := t.find(d, name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) || errors.Is(err, errEmpty) {
			s.broken(err)
		}
		return found{}, false
	}
	want := uint32(unix.S_IFREG)
	switch kind {
	case Socket:
		want = unix.S_IFSOCK
	case Directory:
		want = unix.S_IFDIR
	}
	if !f.isKind(want) {
		s.broken(fmt.Errorf("%.200q is not a %s", t.name(f), kindWord(kind)))
		return found{}, false
	}
	s.checkDriverList(t, f, kind)
	return f, true
}

func kindWord(k Kind) string {
	switch k {
	case Socket:
		return "socket"
	case Directory:
		return "directory"
	}
	return "regular file"
}

// expand turns a row's places into directories.
func (s *fileSearch) expand(places []string) []string {
	var out []string
	for _, place := range places {
		switch {
		case place == "{bin}":
			out = append(out, s.bins...)
		case strings.HasPrefix(place, "{home}"):
			for _, h := range s.homes {
				out = append(out, s.tree.real(h)+strings.TrimPrefix(place, "{home}"))
			}
		case strings.HasPrefix(place, "{firmware}") && s.fw == "":
		case strings.Contains(place, "{release}") && !s.release:
		case strings.Contains(place, "{"):
			out = append(out, s.words.fill(place))
		default:
			out = append(out, place)
		}
	}
	return out
}

// binaryDirs are the directories of programs, first those that belong to the
// libraries found: Debian keeps several drivers side by side as
// /usr/lib/TRIPLET/nvidia/NAME and /usr/lib/nvidia/NAME, and a driver with a
// prefix of its own has a bin beside its lib.
func (s *fileSearch) binaryDirs() []string {
	var dirs []string
	smi := false
	add := func(name string) {
		if d := s.tree.dir(name); d != nil {
			dirs = appendNew(dirs, d.asked)
			smi = smi || s.tree.has(d, "nvidia-smi")
		}
	}
	for _, h := range s.homes {
		at := s.tree.real(h)
		switch {
		case path.Base(path.Dir(at)) == "nvidia" && strings.HasPrefix(at, "/usr/lib/"):
			add("/usr/lib/nvidia/" + path.Base(at))
		case !strings.HasPrefix(at, "/usr/lib") && !strings.HasPrefix(at, "/lib"):
			add(path.Join(path.Dir(at), "bin"))
		}
	}
	for _, name := range binaryPlaces {
		add(name)
	}
	for _, name := range oddBinaryPlaces {
		if smi {
			break
		}
		add(s.words.fill(name))
	}
	return dirs
}

// firmwarePath reads the directory that an administrator gave the kernel
// (firmware_class.path=, since Linux 3.10).
func (p *pass) firmwarePath() string {
	if (utility|compute)&p.caps == 0 {
		return ""
	}
	const parameter, limit = "/sys/module/firmware_class/parameters/path", 4096
	b, err := p.tree.root.ReadFile(parameter, limit)
	if dir := strings.TrimSpace(string(b)); err == nil && path.IsAbs(dir) {
		return path.Clean(dir)
	}
	return ""
}

// moduleLinks gives the GLX module the name that Xorg loads it by.
func moduleLinks(files []File) []Link {
	var links []Link
	for _, f := range files {
		if stem, suffix, ok := splitName(path.Base(f.Target)); ok && stem == "libglxserver_nvidia" && suffix != "" {
			links = append(links, Link{Path: path.Join(path.Dir(f.Target), stem+".so"), Target: path.Base(f.Target), Capability: f.Capability})
		}
	}
	return links
}

// libraryLinks are the links that libraries other than NVIDIA's go by: Mesa's
// GBM opens gbm/nvidia-drm_gbm.so in its own library directory (535), and
// GLVND without X opens libGLX_indirect (libnvidia-container makes that link).
func libraryLinks(libs []Library, caps capSet) []Link {
	var links []Link
	for _, l := range libs {
		stem, _, _ := splitName(l.Name)
		switch {
		case caps&graphics == 0 || l.Class != elf.ELFCLASS64:
		case stem == "libnvidia-allocator":
			links = append(links, Link{Path: "gbm/nvidia-drm_gbm.so", Target: l.SONAME, Capability: graphics.name()})
		case stem == "libGLX_nvidia":
			links = append(links, Link{Path: "libGLX_indirect.so.0", Target: l.SONAME, Capability: graphics.name(), IfAbsent: true})
		}
	}
	return links
}
