package mounts

import (
	"errors"
	"io"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"
)

// HideDir mounts an empty read-only tmpfs over a directory, so that programs
// that are led there find nothing. Where there is no directory the outcome is
// Left: there is nothing to hide. The caller sees to it that no link of ours
// leads into it.
func HideDir(r *Root, unsafePath string) (Outcome, error) {
	d, err := r.Dir(unsafePath)
	if errors.Is(err, fs.ErrNotExist) {
		return Left, nil
	}
	if err != nil {
		return 0, err
	}
	if top, err := r.isTop(d); err != nil {
		return 0, wrap("hide", unsafePath, err)
	} else if top {
		return 0, &MountPointError{Path: unsafePath, Got: wholeRoot}
	}
	hidden, err := r.hidden(int(d.Fd()))
	if err != nil {
		return 0, wrap("hide", unsafePath, err)
	}
	if hidden {
		return Kept, nil
	}
	t, err := r.mountTmpfs(d, unsafePath, r.label, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, r.calls)
	r.retire()
	if err != nil {
		return 0, wrap("hide", unsafePath, err)
	}
	t.close()
	return Made, nil
}

// hidden reports whether a directory is already an empty mount of ours.
func (r *Root) hidden(fd int) (bool, error) {
	ours, err := r.isOurs(fd)
	if err != nil || !ours {
		return false, err
	}
	if ro, err := sealed(fd); err != nil || !ro {
		return false, err
	}
	return r.empty(fd)
}

// empty reports whether a directory has no entries.
func (r *Root) empty(fd int) (bool, error) {
	readable, err := r.reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return false, err
	}
	dir := file(readable, "/proc/self/fd/"+strconv.Itoa(readable)) // see Root.openDir
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}
