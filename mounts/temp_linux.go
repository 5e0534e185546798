package mounts

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"
)

// maxTempName keeps the name of a temporary file below NAME_MAX (255 bytes).
const maxTempName = 200

// errMoved says that a name came or went between looking at it and acting.
var errMoved = errors.New("name came or went")

// temp is the name of what is on its way to the spot's name. It is the same in
// every run, so that what a killed run left is found by the next.
func (s spot) temp() string { return ".gpu-hook." + s.name[:min(len(s.name), maxTempName)] }

// replace makes something new beside the spot's name and renames it. create must
// make the name exclusively. A leftover of that name is removed first, which
// follows no link; one that cannot be removed, such as a directory, is an error.
func (s spot) replace(create func(temp string) error) error {
	temp := s.temp()
	err := create(temp)
	if errors.Is(err, unix.EEXIST) {
		if err := unix.Unlinkat(s.fd(), temp, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return wrap(opLeftover, path.Join(path.Dir(s.path), temp), err)
		}
		if err = create(temp); errors.Is(err, unix.EEXIST) {
			return errMoved
		}
	}
	if err != nil {
		return err
	}
	return s.rename(temp)
}

// rename puts what is at the name temp in the directory at the spot's name.
// rename(2) replaces a link itself and never follows it.
func (s spot) rename(temp string) error {
	err := unix.Renameat(s.fd(), temp, s.fd(), s.name)
	if errors.Is(err, unix.ENOENT) {
		return errMoved
	}
	if err != nil {
		_ = unix.Unlinkat(s.fd(), temp, 0)
	}
	return err
}
