package cgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxProcFile bounds what is read of one file of a process. /proc/PID/cgroup
// has one line per hierarchy, of at most a path's length: 12 hierarchies of
// 4096 bytes are 48 KiB.
const maxProcFile = 256 << 10

func processName(pid int) string { return "process " + strconv.Itoa(pid) }

// openProcess returns a handle of /proc/PID. It names this process alone: when
// the id is used again, reads through it give ESRCH.
func openProcess(pid int) (*os.File, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("process id %d: %w", pid, ErrNoProcess)
	}
	name := strconv.Itoa(pid)
	if pid == os.Getpid() {
		// In a PID namespace with the procfs of another the number is somebody
		// else's there; cgroup.procs shows it as the reader knows it.
		name = "self"
	}
	f, err := os.OpenFile("/proc/"+name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("%w: %w", ErrNoProcess, err)
	}
	return f, err
}

// readProcess reads one file of the process.
func readProcess(proc *os.File, name string) ([]byte, error) {
	b, err := readAt(proc, name)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("%w: %w", ErrNoProcess, err)
	}
	return b, err
}

// readAt reads a file of a directory, at most [maxProcFile] bytes.
func readAt(dir *os.File, name string) ([]byte, error) {
	fd, err := openat(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxProcFile))
}

func openat(dir *os.File, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(int(dir.Fd()), name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1, &os.PathError{Op: "open", Path: dir.Name() + "/" + name, Err: err}
		}
		return fd, nil
	}
}
