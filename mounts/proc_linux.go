package mounts

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openProcFD opens this process's table of descriptors in procfs and makes sure
// that it is procfs: a bind mount over /proc/self could name other files.
func openProcFD() (*os.File, error) {
	fd, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /proc/self/fd: %w", err)
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("statfs /proc/self/fd: %w", err)
	}
	if st.Type != unix.PROC_SUPER_MAGIC {
		unix.Close(fd)
		return nil, fmt.Errorf("open /proc/self/fd: %w: not procfs", ErrChanged)
	}
	return os.NewFile(uintptr(fd), "/proc/self/fd"), nil
}

// fdPath names an open descriptor for the calls that take paths only (mount(2),
// umount2, setxattr). The name is resolved where the thread is: /proc must be
// that of the host, which it is until pivot_root. Calls that take a directory
// handle use the one in [Root] instead.
func fdPath(fd int) string { return "/proc/thread-self/fd/" + strconv.Itoa(fd) }

// reopen opens the file behind an O_PATH descriptor again.
func (r *Root) reopen(fd, flags int) (int, error) {
	return unix.Openat(int(r.proc.Fd()), strconv.Itoa(fd), flags|unix.O_CLOEXEC, 0)
}

// where returns the path of an open descriptor as the calling thread's root
// directory sees it.
func (r *Root) where(fd int) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(r.proc.Fd()), strconv.Itoa(fd), buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// openProc opens a file of the calling thread in procfs, also where /proc is not
// this process's: the handle leads to the top of procfs, and thread-self (Linux
// 3.17) to the thread. The thread's number would not do: a createContainer hook
// is in the container's PID namespace and sees the procfs of the host's, where
// the number is somebody else's.
func (r *Root) openProc(name string) (*os.File, error) {
	path := "../../thread-self/" + name
	fd, err := unix.Openat(int(r.proc.Fd()), path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return file(fd, name), nil
}
