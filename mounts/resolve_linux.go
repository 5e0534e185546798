package mounts

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"
)

// maxRetries bounds the tries of one openat2: with ".." in a path the kernel
// answers EAGAIN when anything anywhere was renamed or mounted meanwhile
// (RESOLVE_IN_ROOT, Linux 5.6). One try takes 3 us.
const maxRetries = 128

// open resolves unsafePath inside the root and opens it. flags are those of an
// O_PATH open, or O_RDONLY|O_DIRECTORY: nothing here may open a file for
// reading before its kind is known, since that blocks on a FIFO and may act on
// a device. The error is bare; callers give it verb and path.
func (r *Root) open(unsafePath string, flags int) (int, error) {
	unsafePath = inside(unsafePath)
	if r.noOpenat2.Load() {
		return r.openSlow(unsafePath, flags)
	}
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	for range maxRetries {
		fd, err := unix.Openat2(int(r.dir.Fd()), unsafePath, &how)
		switch err {
		case nil:
			return fd, nil
		case unix.EAGAIN, unix.EINTR:
		case unix.ENOSYS, unix.EPERM: // EPERM is what old seccomp profiles say instead
			r.noOpenat2.Store(true)
			return r.openSlow(unsafePath, flags)
		case unix.EXDEV:
			return -1, fmt.Errorf("%w: %w", ErrChanged, err)
		default:
			return -1, err
		}
	}
	return -1, fmt.Errorf("%w: %w", ErrChanged, unix.EAGAIN)
}

// openSlow is open without openat2: pathrs-lite walks the components.
func (r *Root) openSlow(unsafePath string, flags int) (int, error) {
	if flags&unix.O_NOFOLLOW != 0 {
		if dir, name, ok := split(unsafePath); ok {
			parent, err := r.openSlow(dir, unix.O_PATH|unix.O_DIRECTORY)
			if err != nil {
				return -1, err
			}
			defer unix.Close(parent)
			return unix.Openat(parent, name, flags|unix.O_CLOEXEC, 0)
		}
	}
	f, err := pathrs.OpenatInRoot(r.dir, unsafePath)
	if err != nil {
		return -1, pathrsCause(err)
	}
	defer f.Close()
	if flags&unix.O_PATH == 0 || flags&unix.O_DIRECTORY != 0 {
		return r.reopen(int(f.Fd()), flags&^unix.O_NOFOLLOW)
	}
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

// pathrsCause takes the errno out of an error of pathrs-lite, whose text names
// paths unquoted. What it calls a possible attack matches EXDEV.
func pathrsCause(err error) error {
	if errors.Is(err, unix.EXDEV) {
		return fmt.Errorf("%w: %w", ErrChanged, unix.EXDEV)
	}
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return errno
	}
	return err
}

// inside turns a path into one relative to the root. It does not clean it:
// "link/.." is not the directory that holds the link.
func inside(unsafePath string) string {
	if p := strings.TrimLeft(unsafePath, "/"); p != "" {
		return p
	}
	return "."
}

// split cuts the last component off. It is not ok where there is no last
// component that could name an entry of a directory.
func split(unsafePath string) (dir, name string, ok bool) {
	p := strings.TrimRight(inside(unsafePath), "/")
	dir, name = ".", p
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		dir, name = p[:i], p[i+1:]
	}
	return dir, name, name != "" && name != "." && name != ".."
}

// file makes an *os.File of a descriptor.
func file(fd int, name string) *os.File { return os.NewFile(uintptr(fd), name) }
