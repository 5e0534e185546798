package wrapper

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// searchPath is where names are looked up: fixed, since an engine's clean-up
// may come without a PATH (podman: conmon's exit command), and since a caller's
// PATH must not choose what runs as root.
var searchPath = [...]string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// finder finds the runtime to become.
type finder struct {
	dirs []string
	self string // the path of this program's file
}

// NoRuntimeError lists where no runtime was found.
type NoRuntimeError struct {
	Names []string
	Own   string // a candidate that is this program, "" = none
}

func (e *NoRuntimeError) Error() string {
	text := fmt.Sprintf("none of %.200q is installed in %s", strings.Join(e.Names, ", "), strings.Join(searchPath[:], ":"))
	if e.Own != "" {
		text += fmt.Sprintf(" (%.200q is gpu-hook itself)", e.Own)
	}
	return text
}

// Cure says what to do.
func (*NoRuntimeError) Cure() string {
	return "install runc or crun, or set runtime.runtimes to its path"
}

// find returns the first runtime of the list that is there and is not this
// program under another name.
func (f finder) find(names []string) (string, error) {
	missing := &NoRuntimeError{Names: names}
	for _, name := range names {
		candidates := []string{name}
		if !filepath.IsAbs(name) {
			candidates = candidates[:0]
			for _, dir := range f.dirs {
				candidates = append(candidates, filepath.Join(dir, name))
			}
		}
		for _, path := range candidates {
			switch err := f.usable(path); {
			case err == nil:
				return path, nil
			case errors.Is(err, errSelf):
				missing.Own = path
			}
		}
	}
	return "", fault.New(fault.Other, "find an OCI runtime", missing)
}

var (
	errSelf          = errors.New("is gpu-hook itself")
	errNotExecutable = errors.New("is no executable file")
)

// usable reports why a path is not the runtime.
func (f finder) usable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return errNotExecutable
	}
	own, err := os.Stat(f.self)
	if err != nil {
		return nil //nolint:nilerr // a program whose file is gone is no other file either
	}
	if os.SameFile(info, own) || info.Size() == own.Size() && sameBytes(path, f.self) {
		return errSelf
	}
	return nil
}

// sameBytes finds a copy of this program: executing it would never end. It is
// asked only for files of the same length.
func sameBytes(a, b string) bool {
	x, err := os.Open(a)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false
	}
	defer y.Close()
	return equalReaders(x, y)
}

func equalReaders(x, y fs.File) bool {
	p, q := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errX := io.ReadFull(x, p)
		m, errY := io.ReadFull(y, q)
		if n != m || !bytes.Equal(p[:n], q[:m]) {
			return false
		}
		if errX != nil || errY != nil {
			return errX == errY //nolint:errorlint // io.EOF and io.ErrUnexpectedEOF as ReadFull gives them
		}
	}
}
