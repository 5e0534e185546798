package mounts

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	reasonForeign  = "it is on another mount than the container's root"
	reasonReadOnly = "its file system is read-only"
)

// maxLooks bounds how often a name is looked at again after something appeared
// or went away between looking and acting.
const maxLooks = 8

// spot is a single name in a directory of a root.
type spot struct {
	r     *Root
	dir   *os.File // r's own handle
	name  string
	path  string // for messages, untrusted
	owned bool   // dir is on the root's own mount
	made  made   // directories made for it
}

// spot finds the place for a name and makes missing directories. A reason
// instead of a spot means that it is not ours to write.
func (r *Root) spot(unsafePath string) (s spot, reason string, err error) {
	dir, name, ok := split(unsafePath)
	if !ok {
		return spot{}, "", wrap("place", unsafePath, unix.EINVAL)
	}
	d, made, err := r.mkdirAll(dir)
	if reason := whyNot(err); reason != "" {
		return spot{}, reason, nil
	}
	if err != nil {
		return spot{}, "", err
	}
	owned, err := r.Owns(d)
	if err != nil {
		return spot{}, "", wrap("stat", unsafePath, err)
	}
	return spot{r: r, dir: d, name: name, path: unsafePath, owned: owned, made: made}, "", nil
}

// whyNot turns the errors that mean "not ours to write" into a reason.
func whyNot(err error) string {
	if _, ok := errors.AsType[*ForeignMountError](err); ok {
		return reasonForeign
	}
	if errors.Is(err, unix.EROFS) {
		return reasonReadOnly
	}
	return ""
}

func (s spot) fd() int { return int(s.dir.Fd()) }

// found is what is at a spot.
type found struct {
	fd      int // O_PATH, of a link itself
	st      unix.Stat_t
	mounted bool // on another mount than the directory: something is mounted there
}

func (f found) kind() uint32 { return f.st.Mode & unix.S_IFMT }

// leftover reports a zero-byte file: what other hooks leave in an image as
// places for their bind mounts.
func (f found) leftover() bool { return f.kind() == unix.S_IFREG && f.st.Size == 0 }

func (f found) close() { unix.Close(f.fd) }

// look opens what is at the spot; ENOENT stays as it is.
func (s spot) look() (found, error) {
	fd, err := unix.Openat(s.fd(), s.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return found{}, err
	}
	f := found{fd: fd}
	if err := unix.Fstat(fd, &f.st); err != nil {
		f.close()
		return found{}, err
	}
	mine, err := s.r.mount(fd)
	if err != nil {
		f.close()
		return found{}, err
	}
	dirs, err := s.r.mount(s.fd())
	if err != nil {
		f.close()
		return found{}, err
	}
	f.mounted = mine != dirs
	return f, nil
}

// dangles reports whether the link at the spot leads nowhere inside the root, or
// to a leftover: a zero-byte file is what a driver's library leaves in an image.
// One that leads to itself is as useless as one to a missing file.
func (s spot) dangles() (bool, error) {
	fd, err := s.r.open(s.path, unix.O_PATH)
	switch {
	case err == nil:
		defer unix.Close(fd)
		f := found{fd: fd}
		err := unix.Fstat(fd, &f.st)
		return f.leftover(), err
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return true, nil
	}
	return false, err
}

// first returns the first component of a relative path.
func first(path string) string {
	for i := range len(path) {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return path
}

// kindAt returns the type bits of an entry, 0 where there is none.
func kindAt(dir int, name string) uint32 {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return 0
	}
	return st.Mode & unix.S_IFMT
}
