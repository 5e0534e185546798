package driver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// maxHops is how many links in one directory are followed: the kernel's own
// limit is 40 (path_resolution(7)); a driver has two, libcuda.so to
// libcuda.so.1 to the file.
const maxHops = 8

// dir is a directory of the driver root. A file in it costs one or two system
// calls, since its handle is kept; resolving each path from the root costs
// five times as much.
type dir struct {
	asked string // the path it was asked for by
	at    string // the path it is at, links followed; see [tree.real]
	fd    int    // O_PATH; the root closes it
	mtime int64  // in ns

	names    []string // all entries, once read
	wasRead  bool
	inCache  bool // the loader cache lists libraries in it
	viaCache bool // or its links lead here
}

// tree hands out directories of a root and remembers them, the missing ones
// too.
type tree struct {
	root *mounts.Root
	dirs map[string]*dir
	// known holds each directory once: /lib and /usr/lib are often one.
	known map[inode]*dir
	// denied holds what could not be looked at for want of rights.
	denied []string
}

// inode tells files apart.
type inode struct{ dev, ino uint64 }

func newTree(root *mounts.Root) *tree {
	return &tree{root: root, dirs: make(map[string]*dir, 32), known: make(map[inode]*dir, 16)}
}

// dir returns a directory, or nil if there is none.
func (t *tree) dir(name string) *dir {
	if d, ok := t.dirs[name]; ok {
		return d
	}
	for _, m := range markers {
		if len(name) > len(m) && name[len(m)] == '/' && name[:len(m)] == m && t.dir(m) == nil {
			return nil
		}
	}
	d, err := t.open(name)
	if errors.Is(err, fs.ErrPermission) {
		t.denied = append(t.denied, name)
	}
	t.dirs[name] = d
	return d
}

func (t *tree) open(name string) (*dir, error) {
	f, err := t.root.Dir(name)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	node := inode{dev: st.Dev, ino: st.Ino}
	if d := t.known[node]; d != nil {
		return d, nil
	}
	d := &dir{asked: name, fd: int(f.Fd()), mtime: st.Mtim.Nano()}
	t.known[node] = d
	return d, nil
}

// real returns the path that a directory is at. Most directories that are
// looked at have nothing to give, so it is asked for when it is needed.
func (t *tree) real(d *dir) string {
	if d.at == "" {
		d.at = d.asked
		if at, err := t.root.Resolve(d.asked); err == nil {
			d.at = at
		}
	}
	return d.at
}

// list reads the names in a directory, once.
func (t *tree) list(d *dir) []string {
	if d.wasRead {
		return d.names
	}
	d.wasRead = true
	fd, err := unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.denied = append(t.denied, t.real(d))
		return nil
	}
	f := os.NewFile(uintptr(fd), t.real(d))
	defer f.Close()
	if d.names, err = f.Readdirnames(-1); err != nil {
		t.denied = append(t.denied, t.real(d))
	}
	return d.names
}

// found is a file at the end of all links.
type found struct {
	dir  *dir
	name string
	mode uint32
}

// path is where a found file is in the driver root.
func (t *tree) path(f found) string { return t.join(f.dir, f.name) }

// name is a path of a found file that is good enough to open it: its real one
// where that is known without another system call.
func (t *tree) name(f found) string {
	if f.dir.at == "" {
		return path.Join(f.dir.asked, f.name)
	}
	return t.path(f)
}

func (t *tree) join(d *dir, name string) string {
	if at := t.real(d); at != "/" {
		return at + "/" + name
	}
	return "/" + name
}

// errEmpty is a zero-byte file: what an interrupted installation, or an older
// injector in an image that serves as a driver root, leaves behind.
var errEmpty = errors.New("empty file")

// find follows a name to what it leads to. A missing file, and an empty one,
// is fs.ErrNotExist.
func (t *tree) find(d *dir, name string) (found, error) {
	at := d
	for range maxHops {
		var st unix.Stat_t
		if err := unix.Fstatat(at.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			if err == unix.ENOENT {
				return found{}, fs.ErrNotExist // by far the most frequent answer: no words
			}
			if errors.Is(err, fs.ErrPermission) {
				t.denied = append(t.denied, t.join(d, name))
			}
			return found{}, fmt.Errorf("stat %.200q: %w", t.join(at, name), err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0 {
				return found{}, fmt.Errorf("stat %.200q: %w: %w", t.join(at, name), errEmpty, fs.ErrNotExist)
			}
			return found{dir: at, name: name, mode: st.Mode}, nil
		}
		next, to, err := t.follow(at, name)
		if err != nil {
			return found{}, err
		}
		at, name = next, to
	}
	return found{}, fmt.Errorf("follow %.200q: %w", t.join(d, name), unix.ELOOP)
}

// follow goes one link further: within the directory by its text, elsewhere by
// the root, which keeps absolute links inside.
func (t *tree) follow(d *dir, name string) (*dir, string, error) {
	var buf [256]byte
	n, err := unix.Readlinkat(d.fd, name, buf[:])
	if err != nil {
		return nil, "", fmt.Errorf("read link %.200q: %w", t.join(d, name), err)
	}
	if target := string(buf[:n]); n < len(buf) && target == path.Base(target) && target != "." && target != ".." {
		return d, target, nil
	}
	end, err := t.root.Resolve(t.join(d, name))
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			t.denied = append(t.denied, t.join(d, name))
		}
		return nil, "", err
	}
	next := t.dir(path.Dir(end))
	if next == nil {
		return nil, "", fmt.Errorf("open %.200q: %w", path.Dir(end), fs.ErrNotExist)
	}
	return next, path.Base(end), nil
}

// regular is find for regular files only.
func (t *tree) regular(d *dir, name string) (found, error) {
	f, err := t.find(d, name)
	if err != nil {
		return found{}, err
	}
	if f.mode&unix.S_IFMT != unix.S_IFREG {
		return found{}, fmt.Errorf("stat %.200q: not a regular file: %w", t.path(f), fs.ErrInvalid)
	}
	return f, nil
}

// isKind tells what a found file is.
func (f found) isKind(mode uint32) bool { return f.mode&unix.S_IFMT == mode }

// has tells whether a directory holds a name, whatever it is.
func (t *tree) has(d *dir, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// object reads the ELF header of a file and, if asked, its SONAME. The file was
// seen to be a regular one; should it be exchanged meanwhile, the flags keep a
// FIFO from blocking and a link from being followed.
func (t *tree) object(f found, withName bool) (object, string, error) {
	fd, err := unix.Openat(f.dir.fd, f.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return object{}, "", fmt.Errorf("open %.200q: %w", t.path(f), err)
	}
	defer unix.Close(fd)
	h, err := readHeader(descriptor(fd))
	if err != nil {
		return object{}, "", fmt.Errorf("%.200q: %w", t.path(f), err)
	}
	if !withName {
		return h.object, "", nil
	}
	name, err := readSONAME(descriptor(fd), h)
	if err != nil {
		return object{}, "", fmt.Errorf("%.200q: %w", t.path(f), err)
	}
	return h.object, name, nil
}

// descriptor reads at offsets of an open file. An [os.File] for each library
// would cost a finalizer and a visit of the poller.
type descriptor int

// ReadAt implements [io.ReaderAt].
func (d descriptor) ReadAt(b []byte, off int64) (int, error) {
	read := 0
	for read < len(b) {
		n, err := unix.Pread(int(d), b[read:], off+int64(read))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return read, os.NewSyscallError("pread", err)
		}
		if n == 0 {
			return read, io.EOF
		}
		read += n
	}
	return read, nil
}
