package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// The modes of what is made: the log names containers and devices, which is
// for root and the group that an administrator gives the file.
const (
	fileMode = 0o640
	dirMode  = 0o755
)

// errPlanted is a link or file in a directory that others can write to and
// that is not ours: it would send our lines, written as root, elsewhere.
var errPlanted = errors.New("in a directory that others can write to, and not ours")

// open opens the log for appending, with the directories on the way to it,
// component by component: the check of a directory and the step into it must
// mean the same directory.
func open(path string) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("open log %.200q: not an absolute path", path)
	}
	names := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	dir, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	for _, name := range names[:len(names)-1] {
		next, err := step(dir, name)
		_ = unix.Close(dir)
		if err != nil {
			return nil, fmt.Errorf("open log %.200q: at %.200q: %w", path, name, err)
		}
		dir = next
	}
	defer func() { _ = unix.Close(dir) }()
	file, err := openFile(dir, names[len(names)-1], path)
	if err != nil {
		return nil, fmt.Errorf("open log %.200q: %w", path, err)
	}
	return file, nil
}

// step opens the directory name in dir, and makes it where there is none.
func step(dir int, name string) (int, error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		if err := unix.Mkdirat(dir, name, dirMode); err != nil && !errors.Is(err, unix.EEXIST) {
			return -1, os.NewSyscallError("mkdirat", err)
		}
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return -1, os.NewSyscallError("openat", err)
	}
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("fstat", err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFLNK {
		return fd, nil // if it is no directory, the next step says so
	}
	_ = unix.Close(fd)
	if err := trusted(dir, &info); err != nil {
		return -1, err
	}
	fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fd, os.NewSyscallError("openat", err)
}

// openFile opens the file itself: a regular one, no link, and in a directory
// that others can write to only our own without other names. O_NONBLOCK keeps
// a FIFO from holding the container up.
func openFile(dir int, name, path string) (*os.File, error) {
	const flags = unix.O_WRONLY | unix.O_APPEND | unix.O_CREAT | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, name, flags, fileMode)
	if err != nil {
		return nil, os.NewSyscallError("openat", err)
	}
	var info unix.Stat_t
	if err = os.NewSyscallError("fstat", unix.Fstat(fd, &info)); err == nil {
		if info.Mode&unix.S_IFMT != unix.S_IFREG {
			err = errors.New("not a regular file")
		} else {
			err = trusted(dir, &info)
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// trusted says whether something found in dir may be used: always where only
// the owner and the group can write to dir, else if it is ours and has no
// second name.
func trusted(dir int, found *unix.Stat_t) error {
	var info unix.Stat_t
	if err := unix.Fstat(dir, &info); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if info.Mode&unix.S_IWOTH == 0 {
		return nil
	}
	if found.Uid != uint32(os.Geteuid()) || found.Nlink > 1 {
		return errPlanted
	}
	return nil
}
