package mounts

import (
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Lookup returns an O_PATH handle of what unsafePath leads to, links followed
// inside the root. The caller closes it.
func (r *Root) Lookup(unsafePath string) (*os.File, error) {
	fd, err := r.open(unsafePath, unix.O_PATH)
	if err != nil {
		return nil, wrap("open", unsafePath, err)
	}
	return file(fd, unsafePath), nil
}

// lookupLink is Lookup without following a link in the last component.
func (r *Root) lookupLink(unsafePath string) (*os.File, error) {
	fd, err := r.open(strings.TrimRight(unsafePath, "/"), unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, wrap("open", unsafePath, err)
	}
	return file(fd, unsafePath), nil
}

// Open opens a regular file for reading; anything else is a *[WrongKindError].
// The file's kind is known before it is opened, so a FIFO never blocks and a
// device is never touched.
func (r *Root) Open(unsafePath string) (*os.File, error) {
	fd, err := r.open(unsafePath, unix.O_PATH)
	if err != nil {
		return nil, wrap("open", unsafePath, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, wrap("stat", unsafePath, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &WrongKindError{Path: unsafePath, Got: kind(st.Mode), Want: "regular file"}
	}
	f, err := r.reopenFile(fd, unsafePath)
	if err != nil {
		return nil, wrap("open", unsafePath, err)
	}
	return f, nil
}

// reopenFile opens a regular file for reading. O_NONBLOCK is for files under a
// lease, where open waits for the holder (fcntl F_SETLEASE); it is taken off
// again, since it would also put the file into Go's poller.
func (r *Root) reopenFile(fd int, name string) (*os.File, error) {
	readable, err := r.reopen(fd, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(readable), unix.F_SETFL, 0); err != nil {
		unix.Close(readable)
		return nil, err
	}
	return file(readable, name), nil
}

// ReadFile reads a regular file of at most limit bytes; a larger one is a
// *[TooLargeError].
func (r *Root) ReadFile(unsafePath string, limit int64) ([]byte, error) {
	f, err := r.Open(unsafePath)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, unsafePath, limit)
}

// readAll reads to the end: the size of files in procfs and sysfs says nothing.
func readAll(f *os.File, unsafePath string, limit int64) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, wrap("stat", unsafePath, err)
	}
	if st.Size > limit {
		return nil, &TooLargeError{Path: unsafePath, Max: limit, Unit: "bytes"}
	}
	data := make([]byte, 0, st.Size+512)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, &TooLargeError{Path: unsafePath, Max: limit, Unit: "bytes"}
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, wrap("read", unsafePath, err)
		}
	}
}

// Readlink returns the target of a link as it is written, unresolved. Anything
// but a link is a *[WrongKindError].
func (r *Root) Readlink(unsafePath string) (string, error) {
	f, err := r.lookupLink(unsafePath)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", wrap("stat", unsafePath, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", &WrongKindError{Path: unsafePath, Got: kind(st.Mode), Want: "link"}
	}
	target, err := readlink(int(f.Fd()))
	if err != nil {
		return "", wrap("read link", unsafePath, err)
	}
	return target, nil
}

// readlink reads the link that fd is a handle of: an empty name is that (Linux
// 2.6.39).
func readlink(fd int) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// Resolve returns the path inside the root at which unsafePath ends after all
// links, absolute and clean. It is for messages, comparisons and links; the way
// to use the file is a handle.
func (r *Root) Resolve(unsafePath string) (string, error) {
	fd, err := r.open(unsafePath, unix.O_PATH)
	if err != nil {
		return "", wrap("open", unsafePath, err)
	}
	defer unix.Close(fd)
	return r.pathOf(fd, unsafePath)
}

// pathOf returns the path of a handle inside the root.
func (r *Root) pathOf(fd int, unsafePath string) (string, error) {
	top, err := r.where(int(r.dir.Fd()))
	if err != nil {
		return "", wrap("resolve", unsafePath, err)
	}
	at, err := r.where(fd)
	if err != nil {
		return "", wrap("resolve", unsafePath, err)
	}
	if at == top {
		return "/", nil
	}
	rest, ok := strings.CutPrefix(at, strings.TrimSuffix(top, "/")+"/")
	if !ok {
		return "", wrap("resolve", unsafePath, ErrChanged)
	}
	return "/" + rest, nil
}

// kind names the type bits of a mode.
func kind(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "regular file"
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFLNK:
		return "link"
	case unix.S_IFIFO:
		return "FIFO"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR:
		return "character device"
	case unix.S_IFBLK:
		return "block device"
	}
	return "file of unknown kind"
}
