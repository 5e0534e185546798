package mounts

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxFSFile limits fs.ReadFile through [Root.FS], in bytes. What is read that
// way are version files, package lists and JSON of a few kB; the largest seen,
// a dpkg status file, has 2 MB.
const maxFSFile = 16 << 20

// maxEntries limits one directory. The largest seen, a desktop's library
// directory, has some 6,000 entries; an entry takes about 100 bytes here.
const maxEntries = 100_000

// FS returns the root as an [fs.FS] with the same rules as the root's own
// methods, for packages that know nothing of mounts. It implements
// fs.ReadDirFS, fs.ReadFileFS, fs.StatFS and fs.ReadLinkFS. Files opened through
// it are *os.File and so have ReadAt.
func (r *Root) FS() fs.FS { return rootFS{r} }

type rootFS struct{ r *Root }

func (f rootFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, fsError("open", name, fs.ErrInvalid)
	}
	file, err := f.r.Open(name)
	if wrong, ok := errors.AsType[*WrongKindError](err); ok && wrong.Got == "directory" {
		dir, err := f.r.openDir(name)
		if err != nil {
			return nil, fsError("open", name, err)
		}
		return &directory{File: dir, r: f.r, path: name}, nil
	}
	if err != nil {
		return nil, fsError("open", name, err)
	}
	return file, nil
}

func (f rootFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, fsError("readdir", name, fs.ErrInvalid)
	}
	entries, err := f.r.ReadDir(name)
	return entries, fsError("readdir", name, err)
}

func (f rootFS) ReadFile(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, fsError("readfile", name, fs.ErrInvalid)
	}
	data, err := f.r.ReadFile(name, maxFSFile)
	return data, fsError("readfile", name, err)
}

func (f rootFS) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, fsError("stat", name, fs.ErrInvalid)
	}
	info, err := f.r.stat(name, 0)
	return info, fsError("stat", name, err)
}

func (f rootFS) Lstat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, fsError("lstat", name, fs.ErrInvalid)
	}
	info, err := f.r.stat(name, unix.O_NOFOLLOW)
	return info, fsError("lstat", name, err)
}

func (f rootFS) ReadLink(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", fsError("readlink", name, fs.ErrInvalid)
	}
	target, err := f.r.Readlink(name)
	return target, fsError("readlink", name, err)
}

// fsError gives an error the type that the io/fs contract wants. A nil error
// stays nil.
func fsError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if path, ok := errors.AsType[*PathError](err); ok && !errors.Is(err, ErrUnsafePath) {
		err = path.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// stat describes a file without opening it.
func (r *Root) stat(unsafePath string, flags int) (fs.FileInfo, error) {
	fd, err := r.open(unsafePath, unix.O_PATH|flags)
	if err != nil {
		return nil, wrap("stat", unsafePath, err)
	}
	f := file(fd, unsafePath)
	defer f.Close()
	return f.Stat()
}

// openDir opens a directory for reading its entries. O_DIRECTORY refuses
// everything else before it is opened. The name matters: os.File.ReadDir calls
// lstat(name + "/" + entry) where the file system gives no types.
func (r *Root) openDir(unsafePath string) (*os.File, error) {
	fd, err := r.open(unsafePath, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, wrap("open", unsafePath, err)
	}
	return file(fd, "/proc/self/fd/"+strconv.Itoa(fd)), nil
}

// ReadDir returns the entries of a directory, sorted by name. One with more than
// 100,000 is a *[TooLargeError].
func (r *Root) ReadDir(unsafePath string) ([]fs.DirEntry, error) {
	f, err := r.openDir(unsafePath)
	if err != nil {
		return nil, err
	}
	dir := &directory{File: f, r: r, path: unsafePath}
	defer dir.Close()
	entries, err := dir.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, wrap("read directory", unsafePath, err)
	}
	if len(entries) > maxEntries {
		return nil, &TooLargeError{Path: unsafePath, Max: maxEntries, Unit: "entries"}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// directory is an open directory whose entries are described through the root
// and not by a path of the host.
type directory struct {
	*os.File
	r    *Root
	path string
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.r.stat(d.path, 0) }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: unix.EISDIR}
}

func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	found, err := d.File.ReadDir(n)
	entries := make([]fs.DirEntry, len(found))
	for i, e := range found {
		entries[i] = entry{DirEntry: e, r: d.r, path: d.path + "/" + e.Name()}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fsError("readdir", d.path, err)
	}
	return entries, err
}

type entry struct {
	fs.DirEntry
	r    *Root
	path string
}

func (e entry) Info() (fs.FileInfo, error) { return e.r.stat(e.path, unix.O_NOFOLLOW) }
