package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ConfigName is the file that makes a directory a bundle.
const ConfigName = "config.json"

// maxConfig is the largest config.json in bytes. Engines write 10 to 50 kB;
// 10 MB were seen.
const maxConfig = 64 << 20

// Bundle is a container's bundle: its directory and what its config.json says.
type Bundle struct {
	Dir  string // absolute host path
	Spec Spec
}

// OpenBundle reads the bundle in a directory.
func OpenBundle(dir string) (Bundle, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Bundle{}, fmt.Errorf("find bundle: %w", err)
	}
	name := filepath.Join(dir, ConfigName)
	data, err := readRegular(name, maxConfig)
	if err != nil {
		return Bundle{}, err
	}
	return ParseBundle(name, data)
}

// ParseBundle is [OpenBundle] for a config.json that was read already, from the
// path name. It overwrites data.
func ParseBundle(name string, data []byte) (Bundle, error) {
	size := len(data)
	var spec Spec
	if err := json.Unmarshal(strip(data), &spec); err != nil {
		return Bundle{}, fmt.Errorf("parse %.200q of %d bytes: %w", name, size, err)
	}
	return Bundle{Dir: filepath.Dir(name), Spec: spec}, nil
}

// ReadConfig reads a config.json: a regular file of at most 64 MiB.
func ReadConfig(name string) ([]byte, error) { return readRegular(name, maxConfig) }

// Rootfs is the absolute host path of the container's root directory, with
// every symbolic link on the way followed: inside the container's mount
// namespace an absolute link would lead elsewhere.
func (b Bundle) Rootfs() (string, error) {
	path := b.Spec.Root.Path
	if path == "" {
		return "", fmt.Errorf("read %.200q: it names no root.path", filepath.Join(b.Dir, ConfigName))
	}
	resolved, err := filepath.EvalSymlinks(b.join(path))
	if err != nil {
		return "", fmt.Errorf("find rootfs %.200q: %w", path, err)
	}
	return resolved, nil
}

// join makes a path of config.json absolute.
func (b Bundle) join(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(b.Dir, path)
}

// readRegular reads a regular file of at most limit bytes. O_NONBLOCK makes
// opening a FIFO return at once, so that it can be refused.
func readRegular(name string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errNotRegular}
	}
	// One byte more than the size finds the end without a second buffer.
	data := make([]byte, 0, min(info.Size(), limit)+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("longer than %d bytes", limit)}
		}
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

var errNotRegular = errors.New("not a regular file")
