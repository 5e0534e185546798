package mounts

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// made is a chain of directories that were made below an existing one.
type made struct {
	dir  *os.File // owned by the root
	path string   // "a/b/c"; "" = none were made
}

// walk calls fn for each directory that exists of the chain, from the top, with
// the handle of its parent, its name and its own handle. Each name is a single
// component that is not followed if it is a link.
func (m made) walk(fn func(parent int, name string, fd int) error) error {
	if m.path == "" {
		return nil
	}
	parent := int(m.dir.Fd())
	for name := range strings.SplitSeq(m.path, "/") {
		fd, err := unix.Openat(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := fn(parent, name, fd); err != nil {
			return err
		}
		parent = fd
	}
	return nil
}

// remove takes the directories away again, the deepest first. The kernel
// removes only empty ones, so nobody else's content can go with them.
func (m made) remove() {
	type entry struct {
		parent int
		name   string
	}
	var chain []entry
	_ = m.walk(func(parent int, name string, _ int) error {
		dup, err := unix.FcntlInt(uintptr(parent), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		chain = append(chain, entry{dup, name})
		return nil
	})
	for i := len(chain) - 1; i >= 0; i-- {
		_ = unix.Unlinkat(chain[i].parent, chain[i].name, unix.AT_REMOVEDIR)
		unix.Close(chain[i].parent)
	}
}
