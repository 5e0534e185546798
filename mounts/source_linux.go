package mounts

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Source is a file of the host that is to be mounted in a container.
type Source struct {
	Root *Root
	Path string // inside Root, links followed
	// Device asks for a character device, and mounts it so that it can be
	// opened (without nodev). It is for containers where mknod cannot work.
	Device bool
	// Rdev is the number that the device must have (see [unix.Mkdev]).
	Rdev uint64
	// Writable mounts a socket or a directory of pipes so that programs can
	// write there; everything else is read-only.
	Writable bool
	// Late looks at the file now and clones it only when it is mounted, on
	// another thread, which must be in the host's namespace still. Each clone
	// is an open descriptor, and a process of several threads that needs more
	// than 64 waits 7 to 17 ms for its table to grow (expand_fdtable of Linux's
	// fs/file.c calls synchronize_rcu).
	Late bool
}

// Prepared is a Source that is ready to be mounted, once: a detached clone, or
// without open_tree (before Linux 5.2) what is needed to bind it by path inside
// the container's namespace.
type Prepared struct {
	path     string // inside the source's root, for messages
	host     string // path in the host's namespace; only without clone
	clone    *os.File
	st       unix.Stat_t
	device   bool
	writable bool
	late     *Source // where it is to be cloned from; nil once it is
	calls    Calls
}

// Prepare takes hold of a host file. It is called in the host's mount
// namespace: open_tree clones only mounts of the caller's own namespace. The
// file may be a regular file, a directory (without what is mounted below it) or
// a socket.
func Prepare(s Source, c Calls) (*Prepared, error) {
	fd, err := s.Root.open(s.Path, unix.O_PATH)
	if err != nil {
		return nil, wrap("open", s.Path, err)
	}
	defer unix.Close(fd)
	p := &Prepared{path: s.Path, device: s.Device, writable: s.Writable}
	if err := unix.Fstat(fd, &p.st); err != nil {
		return nil, wrap("stat", s.Path, err)
	}
	switch k := p.kind(); {
	case s.Device && k != unix.S_IFCHR:
		return nil, &WrongKindError{Path: s.Path, Got: kind(p.st.Mode), Want: "character device"}
	case s.Device && p.st.Rdev != s.Rdev:
		return nil, wrap("use device", s.Path, fmt.Errorf("it has the numbers %d:%d and not %d:%d",
			unix.Major(p.st.Rdev), unix.Minor(p.st.Rdev), unix.Major(s.Rdev), unix.Minor(s.Rdev)))
	case s.Device, k == unix.S_IFREG, k == unix.S_IFDIR, k == unix.S_IFSOCK:
	default:
		return nil, &WrongKindError{Path: s.Path, Got: kind(p.st.Mode), Want: "regular file"}
	}
	if s.Late {
		s.Late = false
		p.late, p.calls = &s, c
		return p, nil
	}
	if !c.NoOpenTree {
		clone, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
		if err == nil {
			p.clone = file(clone, s.Path)
			return p, nil
		}
		if !errors.Is(err, unix.ENOSYS) {
			return nil, wrap("clone mount of", s.Path, err)
		}
	}
	if p.host, err = s.Root.where(fd); err != nil {
		return nil, wrap("resolve", s.Path, err)
	}
	return p, nil
}

// take clones a file that was to be cloned late. This thread may have joined
// the container's namespace; a new goroutine runs on one that has not.
func (p *Prepared) take() error {
	if p.late == nil {
		return nil
	}
	source := *p.late
	p.late = nil
	done := make(chan error, 1)
	go func() {
		now, err := Prepare(source, p.calls)
		if err == nil && !p.is(&now.st) {
			_ = now.Close()
			err = wrap("open", source.Path, ErrChanged)
		}
		if err == nil {
			p.clone, p.host = now.clone, now.host
		}
		done <- err
	}()
	return <-done
}

// Close lets go of the file. A mount that was made of it stays.
func (p *Prepared) Close() error {
	if p.clone == nil {
		return nil
	}
	return p.clone.Close()
}

func (p *Prepared) kind() uint32 { return p.st.Mode & unix.S_IFMT }

// is reports whether st is this very file: seen through another mount it keeps
// device and inode number.
func (p *Prepared) is(st *unix.Stat_t) bool { return st.Dev == p.st.Dev && st.Ino == p.st.Ino }

// attach mounts the file on an entry of a directory, or on dir itself where
// name is empty. A link there is not followed.
func (p *Prepared) attach(dir int, name string) error {
	if err := p.take(); err != nil {
		return err
	}
	if p.clone == nil {
		return p.bind(dir, name)
	}
	flags := unix.MOVE_MOUNT_F_EMPTY_PATH
	if name == "" {
		flags |= unix.MOVE_MOUNT_T_EMPTY_PATH
	}
	return unix.MoveMount(int(p.clone.Fd()), "", dir, name, flags)
}

// bind is attach by mount(2), which takes only sources of the caller's own
// namespace (EINVAL otherwise), so that the handle from the host's is of no
// use. Until pivot_root the host's paths are still there in the container's
// namespace; the file found must be the same one.
func (p *Prepared) bind(dir int, name string) error {
	source, err := unix.Open(p.host, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open host file again: %w", err)
	}
	defer unix.Close(source)
	var st unix.Stat_t
	if err := unix.Fstat(source, &st); err != nil {
		return err
	}
	if !p.is(&st) {
		return fmt.Errorf("open host file again: %w", ErrChanged)
	}
	target := dir
	if name != "" {
		target, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(target)
	}
	return unix.Mount(fdPath(source), fdPath(target), "", unix.MS_BIND, "")
}
