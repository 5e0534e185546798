package compat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits that bound the work a hostile image can cause. The step limit is far
// above the 150 or so that the largest images need and ends after a few
// milliseconds.
const (
	maxSteps   = 4000 // calls into the file system, for one search
	maxLinks   = 40   // links followed in one path, as the kernel does
	maxPath    = 4096 // bytes of a path or of a link's target
	maxEntries = 8192 // directory entries looked at
)

var (
	errTooMuch  = errors.New("the search was given up: too many files")
	errWrong    = errors.New("not a regular file")
	errTooLarge = errors.New("too large")
	errName     = errors.New("name is not valid")
	errLoop     = errors.New("too many links")
)

// tree reads a file system within limits. Paths are those of a container
// ("/usr/local/cuda", also relative to its root); names are resolved: without
// links and without the leading slash, as io/fs has them.
type tree struct {
	fsys  fs.FS
	links fs.ReadLinkFS          // nil if the file system cannot tell links
	seen  map[string]fs.FileInfo // Lstat of directories and links on the way
	steps int
}

func newTree(fsys fs.FS) *tree {
	links, _ := fsys.(fs.ReadLinkFS)
	return &tree{fsys: fsys, links: links, seen: map[string]fs.FileInfo{}}
}

// step counts one call and says whether it may be made.
func (t *tree) step() error {
	t.steps++
	if t.steps > maxSteps {
		return errTooMuch
	}
	return nil
}

// exhausted says that the search came to its limit.
func (t *tree) exhausted() bool { return t.steps > maxSteps }

// lookup follows a path with all its links, which end inside the root whatever
// they say, and returns the name it ends at.
func (t *tree) lookup(unsafePath string) (string, fs.FileInfo, error) {
	if !sane(unsafePath) {
		return "", nil, errName
	}
	if t.links == nil {
		name := clean(unsafePath)
		if err := t.step(); err != nil {
			return "", nil, err
		}
		info, err := fs.Stat(t.fsys, name)
		return name, info, err
	}
	rest := strings.Split(unsafePath, "/")
	name, links := ".", 0
	info, err := t.lstat(name)
	for err == nil && len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			name = path.Dir(name)
			info, err = t.lstat(name)
			continue
		}
		next := path.Join(name, part)
		if info, err = t.lstat(next); err != nil {
			break
		}
		if info.Mode().Type() != fs.ModeSymlink {
			name = next
			continue
		}
		if links++; links > maxLinks {
			return "", nil, errLoop
		}
		target, readErr := t.readlink(next)
		if readErr != nil {
			return "", nil, readErr
		}
		if strings.HasPrefix(target, "/") {
			name = "."
		}
		rest = append(strings.Split(target, "/"), rest...)
		info, err = t.lstat(name)
	}
	return name, info, err
}

// lstat remembers directories and links, of which every path shares many.
func (t *tree) lstat(name string) (fs.FileInfo, error) {
	if info, ok := t.seen[name]; ok {
		return info, nil
	}
	if err := t.step(); err != nil {
		return nil, err
	}
	info, err := t.links.Lstat(name)
	if err == nil && (info.IsDir() || info.Mode().Type() == fs.ModeSymlink) {
		t.seen[name] = info
	}
	return info, err
}

func (t *tree) readlink(name string) (string, error) {
	if err := t.step(); err != nil {
		return "", err
	}
	target, err := t.links.ReadLink(name)
	if err == nil && !sane(target) {
		return "", errName
	}
	return target, err
}

// dir returns the name of the directory that a path leads to.
func (t *tree) dir(unsafePath string) (string, bool) {
	name, info, err := t.lookup(unsafePath)
	return name, err == nil && info.IsDir()
}

// list returns the entries of a directory that keep wants, in order of their
// names, the ones with control characters left out.
func (t *tree) list(name string, keep func(base string) bool) []fs.DirEntry {
	if t.step() != nil {
		return nil
	}
	entries := slices.DeleteFunc(t.entries(name), func(e fs.DirEntry) bool {
		return !keep(e.Name()) || !sane(e.Name())
	})
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries
}

// entries reads part of a long directory where the file system lets it.
func (t *tree) entries(name string) []fs.DirEntry {
	if file, err := t.fsys.Open(name); err == nil {
		defer file.Close()
		if dir, ok := file.(fs.ReadDirFile); ok {
			entries, _ := dir.ReadDir(maxEntries)
			return entries
		}
	}
	entries, err := fs.ReadDir(t.fsys, name)
	if err != nil {
		return nil
	}
	return entries[:min(len(entries), maxEntries)]
}

// open opens the regular file that a path leads to. Its kind is looked at
// first, so that a FIFO is never opened even where the file system would.
func (t *tree) open(unsafePath string) (fs.File, int64, error) {
	name, info, err := t.lookup(unsafePath)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("open %s: %w", shown("/"+name), errWrong)
	}
	if err := t.step(); err != nil {
		return nil, 0, err
	}
	file, err := t.fsys.Open(name)
	return file, info.Size(), err
}

// read returns the content of a small regular file.
func (t *tree) read(unsafePath string, limit int64) ([]byte, error) {
	file, size, err := t.open(unsafePath)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size > limit {
		return nil, fmt.Errorf("read %s: %w: %d bytes, the limit is %d", shown(unsafePath), errTooLarge, size, limit)
	}
	data := make([]byte, size)
	n, err := io.ReadFull(file, data)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// prefixed is the keep of a list of the names that begin with prefix.
func prefixed(prefix string) func(string) bool {
	return func(base string) bool { return strings.HasPrefix(base, prefix) }
}

// clean makes a name of a path without looking at the file system.
func clean(unsafePath string) string {
	name := path.Clean("/" + unsafePath)[1:]
	if name == "" {
		return "."
	}
	return name
}

// rooted makes the path that the container sees of a resolved name.
func rooted(name string) string { return path.Join("/", name) }

// sane accepts paths and names that can be shown to a person.
func sane(text string) bool {
	if text == "" || len(text) > maxPath || !utf8.ValidString(text) {
		return false
	}
	return strings.IndexFunc(text, unicode.IsControl) < 0
}
