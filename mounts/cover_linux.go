package mounts

import (
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// mayCover refuses to mount over a directory with content where a link led to
// it: a link "." at /usr/local/nvidia would hide all of /usr/local.
func (r *Root) mayCover(dir *os.File, unsafePath string) error {
	at, err := r.pathOf(int(dir.Fd()), unsafePath)
	if err != nil {
		return err
	}
	if at == path.Clean("/"+unsafePath) {
		return nil
	}
	empty, err := r.empty(int(dir.Fd()))
	if err != nil {
		return wrap("read", unsafePath, err)
	}
	if !empty {
		return &MountPointError{Path: unsafePath, Got: fullLink}
	}
	return nil
}

// leadsTo reports whether a path leads to the mount that a handle is on.
func (r *Root) leadsTo(unsafePath string, fd int) (bool, error) {
	found, err := r.open(unsafePath, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, err
	}
	defer unix.Close(found)
	want, err := r.mount(fd)
	if err != nil {
		return false, err
	}
	got, err := r.mount(found)
	return got == want, err
}
