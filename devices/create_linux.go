package devices

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errBadName says that a name is not one path component.
var errBadName = errors.New("name is not a single path component")

// stNodev is ST_NODEV of statfs(2): device nodes on this mount do not open.
const stNodev = 0x4

// Create makes a device node in a directory, by handle and single name, with
// the node's mode and owner (already mapped to the ids that the directory's
// user namespace understands). After the node is made it is opened again
// without following links, and type and numbers are compared before mode and
// owner are changed by that handle.
//
// The same device already there is [Kept], its mode and owner set to ours.
// Anything else there is unlinked and [Replaced]; a directory only if empty.
// So the caller must know that the directory is the container's own: on a
// host's /dev bound into the container nothing may be touched, and this
// function must not be called.
//
// The process needs umask 0, or a mode is set in two steps. Errors are
// [*NodeError]; they match [ErrNoMknod] where binding the host's node can do
// instead, and [ErrNodeChanged] where somebody swaps names meanwhile.
func Create(dir *os.File, name string, n Node) (Outcome, error) {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return 0, &NodeError{"make", n, fmt.Errorf("%w: %.200q", errBadName, name)}
	}
	fd := int(dir.Fd())
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return 0, &NodeError{"look at the directory of", n, os.NewSyscallError("fstatfs", err)}
	}
	if st.Flags&stNodev != 0 {
		return 0, &NodeError{"make", n, fmt.Errorf("%w: mounted nodev", ErrNoMknod)}
	}
	outcome := Made
	err := mknod(fd, name, n)
	if errors.Is(err, unix.EEXIST) {
		var same bool
		if same, err = sameDevice(fd, name, n); err != nil {
			return 0, &NodeError{"look at", n, err}
		}
		outcome = Kept
		if !same {
			outcome = Replaced
			if err := remove(fd, name); err != nil {
				return 0, &NodeError{"remove what is at", n, err}
			}
			err = mknod(fd, name, n)
		}
	}
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EOVERFLOW):
		return 0, &NodeError{"mknod", n, fmt.Errorf("%w: %w", ErrNoMknod, err)}
	case errors.Is(err, unix.EEXIST) && outcome == Replaced:
		return 0, &NodeError{"mknod", n, fmt.Errorf("%w: %w", ErrNodeChanged, err)}
	case err != nil:
		return 0, &NodeError{"mknod", n, err}
	}
	if err := settle(fd, name, n); err != nil {
		return 0, &NodeError{"set mode and owner of", n, err}
	}
	return outcome, nil
}

// mknod makes the node. Its errors are errnos, so that they read well behind
// the operation's name.
func mknod(dir int, name string, n Node) error {
	return retry(func() error {
		return unix.Mknodat(dir, name, unix.S_IFCHR|n.Mode&0o777, int(unix.Mkdev(n.Major, n.Minor)))
	})
}

// sameDevice looks at an existing name without following it. A name that
// vanished meanwhile is not the same.
func sameDevice(dir int, name string, n Node) (bool, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && isDevice(st, n), err
}

func isDevice(st unix.Stat_t, n Node) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFCHR && unix.Major(st.Rdev) == n.Major && unix.Minor(st.Rdev) == n.Minor
}

func remove(dir int, name string) error {
	err := retry(func() error { return unix.Unlinkat(dir, name, 0) })
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// settle opens the node by O_PATH, which runs no driver code, compares, and
// sets owner and mode by that handle. Right ones cost no further call.
func settle(dir int, name string, n Node) error {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNodeChanged, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if !isDevice(st, n) {
		return ErrNodeChanged
	}
	if st.Uid != n.UID || st.Gid != n.GID {
		// AT_EMPTY_PATH of fchownat: Linux 2.6.39.
		if err := unix.Fchownat(fd, "", int(n.UID), int(n.GID), unix.AT_EMPTY_PATH); err != nil {
			return os.NewSyscallError("fchownat", err)
		}
	}
	if st.Mode&0o7777 != n.Mode&0o777 {
		return chmodHandle(fd, n.Mode&0o777)
	}
	return nil
}

// chmodHandle sets the mode behind an O_PATH handle: fchmodat2 is in Linux 6.6
// (commit 09da082b07bb); before, /proc is the only way to it. The kernel's
// O_PATH handles refuse fchmod itself with EBADF.
func chmodHandle(fd int, mode uint32) error {
	err := unix.Fchmodat(fd, "", mode, unix.AT_EMPTY_PATH)
	if err == nil {
		return nil
	}
	if err != unix.EOPNOTSUPP && err != unix.EPERM {
		return os.NewSyscallError("fchmodat2", err)
	}
	// EPERM is what a seccomp filter older than the call answers.
	return chmodProc(fd, mode)
}

func chmodProc(fd int, mode uint32) error {
	return os.NewSyscallError("fchmodat", unix.Fchmodat(unix.AT_FDCWD, "/proc/thread-self/fd/"+strconv.Itoa(fd), mode, 0))
}

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
