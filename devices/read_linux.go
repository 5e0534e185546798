package devices

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// maxFile bounds every file that is read but one. The longest of them,
// /proc/driver/nvidia/params, has some 2 KiB.
const maxFile = 64 << 10

// maxEntries bounds every directory listing. A host has at most 32 GPUs; /dev
// of a large machine has some thousand nodes.
const maxEntries = 16384

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("file too large")
	errTooMany    = errors.New("too many directory entries")
)

// readFile reads a regular file of at most [maxFile] bytes.
func readFile(path string) ([]byte, error) { return readUpTo(path, maxFile) }

// readUpTo does not block on a FIFO and does not read from a device. It avoids
// the os package, whose files are first offered to the poller: four more system
// calls each.
func readUpTo(path string, limit int) ([]byte, error) {
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "fstat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errNotRegular}
	}
	data := make([]byte, 0, 4096)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := unix.Read(fd, data[len(data):cap(data)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return data, nil
		}
		data = data[:len(data)+n]
		if len(data) > limit {
			return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)}
		}
	}
}

// readNames lists a directory, unsorted.
func readNames(path string) ([]string, error) {
	fd, err := open(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	names, err := dir.Readdirnames(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxEntries {
		return nil, &fs.PathError{Op: "readdir", Path: path, Err: errTooMany}
	}
	return names, nil
}

// open retries after a signal, which the Go runtime sends itself to preempt.
func open(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return fd, nil
	}
}

// exists reports whether a path of the host is there, links followed.
func exists(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil
}
