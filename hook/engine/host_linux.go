package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
	"golang.org/x/sys/unix"
)

// maxFile bounds a configuration file in bytes; a full containerd one has 10 kB.
const maxFile = 4 << 20

// host is the machine whose engines are configured: its root directory, seen
// from here. Links lead inside it, as they do for the engines themselves.
type host struct{ root string }

// file is a file as it is now. path is the host's name for it, real where its
// bytes lie on this machine.
type file struct {
	path, real string
	data       []byte
	exists     bool
}

func (h host) dir() string {
	if h.root == "" {
		return "/"
	}
	return h.root
}

// real is where a path of the host leads on this machine, links followed; the
// last part need not exist. The files are the administrator's: nobody else
// can swap a link while we look.
func (h host) real(name string) (string, error) {
	at, err := securejoin.SecureJoin(h.dir(), name)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", name, err)
	}
	return at, nil
}

// read reads a regular file; a missing one is no error.
func (h host) read(name string) (file, error) {
	at, err := h.real(name)
	if err != nil {
		return file{}, err
	}
	f := file{path: name, real: at}
	in, err := os.OpenFile(at, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if link, lerr := os.Readlink(filepath.Join(h.dir(), name)); lerr == nil {
			return f, refused(name, fmt.Sprintf("is a link to %.200q, where there is nothing", link), "make that file or remove the link")
		}
		return f, nil
	}
	if err != nil {
		return f, readError(name, err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return f, readError(name, err)
	}
	if !info.Mode().IsRegular() {
		return f, refused(name, "is not a regular file", "name the configuration file with --file")
	}
	f.data, err = io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(f.data) > maxFile {
		return f, refused(name, fmt.Sprintf("is longer than %d bytes", maxFile), "name the configuration file with --file")
	}
	if err != nil {
		return f, readError(name, err)
	}
	f.exists = true
	return f, nil
}

func readError(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("read %s: %w", name, err)
}

// exists reports that a path of the host leads to something.
func (h host) exists(name string) bool {
	at, err := h.real(name)
	if err != nil {
		return false
	}
	_, err = os.Lstat(at)
	return err == nil
}

// list gives the host's paths of a directory's files whose names end so, in
// the order of their names.
func (h host) list(dir, suffix string) []string {
	at, err := h.real(dir)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(at) // a directory that cannot be read is read by no engine either
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) && !e.IsDir() {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	return names
}

// checkBinary reports whether engines could start a program: they say nothing
// before the first container, and Podman not even then.
func (h host) checkBinary(name string) error {
	const todo = "install gpu-hook there or name its path with --binary"
	if !cleanPath(name) {
		return refused(name, "is not a plain absolute path", todo)
	}
	at, err := h.real(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return &FileError{Path: name, Reason: "there is no such program", Err: err, Todo: todo}
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return refused(name, "is not an executable file", "make it executable with: chmod 755 "+name)
	}
	return nil
}
