package mounts

import (
	"errors"

	"golang.org/x/sys/unix"
)

// sealAttr is what every mount of ours gets. noexec must not be in it: the
// loader maps libraries executable. They are made private, too: a clone of a
// file on a shared mount is a peer of that mount, and what a container mounts
// over it would appear on the host's file.
const sealAttr = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// seal makes a mount read-only, nosuid, nodev and private by its handle; with
// AT_RECURSIVE in flags the mounts below it, too. mount_setattr only adds
// attributes, so that those locked by another user namespace are no obstacle.
// ENOSYS means that remount has to do it.
func seal(fd int, attr uint64, flags uint, c Calls) error {
	if c.NoMountSetattr {
		return unix.ENOSYS
	}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|flags,
		&unix.MountAttr{Attr_set: attr, Propagation: unix.MS_PRIVATE})
}

// remount is seal for a single attached mount by mount(2), for kernels before
// mount_setattr (5.12). It replaces all flags, so those that the mount has are
// given again: in a user namespace the kernel refuses to drop locked ones
// (EPERM). The access time flags are kept when none of them is given (Linux
// 3.17, commit ffbc6f0ead47).
func remount(fd int, attr uint64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return err
	}
	keep := uintptr(st.Flags) & (unix.ST_RDONLY | unix.ST_NOSUID | unix.ST_NODEV | unix.ST_NOEXEC) // the same bits as MS_*
	// The bits of MOUNT_ATTR_RDONLY, NOSUID and NODEV are those of MS_*, too.
	flags := unix.MS_REMOUNT | unix.MS_BIND | keep | uintptr(attr)
	if err := unix.Mount("", fdPath(fd), "", flags, ""); err != nil {
		return err
	}
	return unix.Mount("", fdPath(fd), "", unix.MS_PRIVATE, "")
}

// detach takes a mount away by a handle of its root, with all that is mounted
// on it.
func detach(fd int) error { return unix.Unmount(fdPath(fd), unix.MNT_DETACH) }

// sealed reports whether a mount is read-only.
func sealed(fd int) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false, err
	}
	return st.Flags&unix.ST_RDONLY != 0, nil
}

// unsupported reports whether a call is missing.
func unsupported(err error) bool { return errors.Is(err, unix.ENOSYS) }
