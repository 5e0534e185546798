package compat

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Limits on the search for overlays.
const (
	maxOverlayDirs = 64 // directories of the host's overlay folder
	maxSets        = 4  // versions in one directory
	maxMembers     = 32 // libraries of one set; real ones have 4 to 8
)

// FindOverlays finds the cuda-compat sets of an image in /usr/local/cuda/compat
// and /usr/local/cuda-*/compat, there also in lib.real (and lib, which leads
// to it), as NVIDIA's NGC images have it. root is the container's file system.
// A set with a [Overlay.Problem] is returned, too, so that it can be explained.
func FindOverlays(root fs.FS) ([]Overlay, []Warning) {
	finder := &overlayFinder{tree: newTree(root), seen: map[string]int{}}
	for _, kit := range findToolkits(finder.tree) {
		for _, sub := range []string{"compat", "compat/lib.real", "compat/lib"} {
			for _, alias := range kit.aliases {
				finder.look(path.Join(alias, sub), false)
			}
		}
	}
	return finder.result()
}

// FindHostOverlays finds the cuda-compat sets of the host: in dir itself and in
// the directories in it. root is the host's root, dir a path below it.
func FindHostOverlays(root fs.FS, dir string) ([]Overlay, []Warning) {
	finder := &overlayFinder{tree: newTree(root), seen: map[string]int{}}
	name, ok := finder.tree.dir(dir)
	if !ok {
		return nil, []Warning{warnf("compat-host-dir", "compat.host-dir is %.200q, which is not a directory; correct or remove it", dir)}
	}
	finder.look(rooted(name), true)
	count := 0
	for _, entry := range finder.tree.list(name, prefixed("")) {
		if entry.Type().IsRegular() {
			continue
		}
		if count++; count > maxOverlayDirs {
			break
		}
		finder.look(rooted(path.Join(name, entry.Name())), true)
	}
	return finder.result()
}

// place of a directory that was searched: the sets found there.
type overlayDir struct {
	name  string
	names []string
	host  bool
	sets  []Overlay
}

type overlayFinder struct {
	tree     *tree
	seen     map[string]int
	dirs     []overlayDir
	warnings []Warning
}

// look searches one directory, once whatever links lead to it.
func (f *overlayFinder) look(unsafePath string, host bool) {
	name, ok := f.tree.dir(unsafePath)
	if !ok {
		return
	}
	i, known := f.seen[name]
	if !known {
		i = len(f.dirs)
		f.seen[name] = i
		f.dirs = append(f.dirs, overlayDir{name: name, names: []string{rooted(name)}, host: host})
		f.dirs[i].sets = f.sets(name)
	}
	if clean := path.Clean(unsafePath); !slices.Contains(f.dirs[i].names, clean) {
		f.dirs[i].names = append(f.dirs[i].names, clean)
	}
}

func (f *overlayFinder) result() ([]Overlay, []Warning) {
	var list []Overlay
	for _, dir := range f.dirs {
		for _, set := range dir.sets {
			set.Dir, set.Names, set.Host = rooted(dir.name), dir.names, dir.host
			list = append(list, set)
		}
	}
	if f.tree.exhausted() {
		f.warnings = append(f.warnings, warnf("compat-search-limit", "the search for cuda-compat packages was given up after %d steps", maxSteps))
	}
	return list, f.warnings
}

// libcudaPrefix begins the name of the driver library's files.
const libcudaPrefix = "libcuda.so."

// sets returns one overlay for each version of libcuda in a directory.
func (f *overlayFinder) sets(dir string) []Overlay {
	var list []Overlay
	others := false
	entries := f.tree.list(dir, prefixed("lib"))
	for _, entry := range entries {
		version, ok := strings.CutPrefix(entry.Name(), libcudaPrefix)
		if !ok {
			others = others || strings.HasPrefix(entry.Name(), "libnvidia-") && strings.Contains(entry.Name(), ".so.")
			continue
		}
		driver, err := ParseDriver(version)
		if err != nil || !strings.Contains(version, ".") || len(list) == maxSets {
			continue // libcuda.so.1, or not a version
		}
		list = append(list, f.set(dir, entries, entry, driver))
	}
	if len(list) == 0 && others {
		list = append(list, Overlay{Problem: "there is no libcuda in it"})
	}
	return list
}

// set reads the set of one version.
func (f *overlayFinder) set(dir string, entries []fs.DirEntry, libcuda fs.DirEntry, driver Driver) Overlay {
	overlay := Overlay{Driver: driver}
	if err := f.inspect(dir, libcuda, &overlay); err != nil {
		overlay.Problem = fmt.Sprintf("its %s is no usable library: %.200s", shown(libcuda.Name()), err)
	}
	if overlay.Note != nil && overlay.Note.CUDA.Known() {
		overlay.CUDA = overlay.Note.CUDA
	} else {
		overlay.CUDA, _ = driver.CUDA()
	}
	if overlay.Problem == "" {
		overlay.Members, overlay.Missing = f.members(dir, entries, driver.String())
	}
	if target, _, err := f.tree.lookup("/" + path.Join(dir, "libcuda.so.1")); err == nil {
		overlay.Linked = target == path.Join(dir, libcuda.Name())
	}
	return overlay
}

// inspect reads the headers and the note of a libcuda.
func (f *overlayFinder) inspect(dir string, entry fs.DirEntry, overlay *Overlay) error {
	if !entry.Type().IsRegular() {
		return errWrong
	}
	name := path.Join(dir, entry.Name())
	file, size, err := f.tree.open("/" + name)
	if err != nil {
		return err
	}
	defer file.Close()
	at, ok := file.(io.ReaderAt)
	if !ok {
		return errors.New("it cannot be read in parts")
	}
	img, header, err := openImage(at, size)
	if err != nil {
		return err
	}
	overlay.Machine = img.machine
	overlay.Note, err = img.note(header)
	if err != nil && !errors.Is(err, ErrNoNote) {
		f.warnings = append(f.warnings, warnf("compat-note-unreadable",
			"%s has a damaged forward-compatibility note and counts as having none: %.200s", shown("/"+name), err))
	}
	return nil
}
