package mounts

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// PlaceFlags changes what [PlaceFile] may do.
type PlaceFlags uint

// Cover lets [PlaceFile] mount over a file or directory that the image has. It
// does not change the image's own.
const Cover PlaceFlags = 1 << iota

// PlaceFile mounts a prepared host file, read-only unless its source is writable, at a path of the container,
// and makes a placeholder where there is nothing. The same file is Kept; a
// zero-byte leftover is mounted over and a dangling link replaced; an image's
// own file is Left unless flags has [Cover]; a link that leads somewhere is
// always Left. Nothing is written on another mount, but something there can be
// mounted over. The string is the reason for Left.
func PlaceFile(r *Root, unsafePath string, p *Prepared, flags PlaceFlags) (Outcome, string, error) {
	s, reason, err := r.spot(unsafePath)
	if err != nil || reason != "" {
		return leftOr(reason, err)
	}
	for range maxLooks {
		outcome, reason, err := s.file(p, flags)
		switch {
		case errors.Is(err, errMoved):
			continue
		case err == nil && outcome != Left:
			if p.kind() == unix.S_IFDIR {
				r.retire()
			}
			return outcome, "", nil
		}
		s.made.remove()
		if why := whyNot(err); why != "" {
			return Left, why, nil
		}
		if err != nil {
			return 0, "", wrap("mount on", unsafePath, err)
		}
		return Left, reason, nil
	}
	return 0, "", wrap("mount on", unsafePath, ErrChanged)
}

// file looks once and acts.
func (s spot) file(p *Prepared, flags PlaceFlags) (Outcome, string, error) {
	f, err := s.look()
	if errors.Is(err, unix.ENOENT) {
		return s.newFile(p)
	}
	if err != nil {
		return 0, "", err
	}
	defer f.close()
	if p.is(&f.st) || p.device && f.kind() == unix.S_IFCHR && f.st.Rdev == p.st.Rdev {
		return Kept, "", nil
	}
	if f.kind() == unix.S_IFLNK {
		return s.replaceLink(f, p)
	}
	free, err := s.free(f, p)
	if err != nil {
		return 0, "", err
	}
	wantDir := p.kind() == unix.S_IFDIR
	fits := wantDir && f.kind() == unix.S_IFDIR || !wantDir && f.kind() == unix.S_IFREG
	switch {
	case free:
		return Made, "", s.mountFile(f.fd, p)
	case fits && flags&Cover != 0:
		return Replaced, "", s.mountFile(f.fd, p)
	case f.mounted:
		return Left, fmt.Sprintf("a %s is mounted there", kind(f.st.Mode)), nil
	}
	return Left, fmt.Sprintf("the image has its own %s there", kind(f.st.Mode)), nil
}

// free reports whether what is there is only a place to mount on: a zero-byte
// file, or an empty directory for a directory.
func (s spot) free(f found, p *Prepared) (bool, error) {
	if p.kind() != unix.S_IFDIR {
		return f.leftover(), nil
	}
	if f.kind() != unix.S_IFDIR {
		return false, nil
	}
	return s.r.empty(f.fd)
}

// newFile makes a placeholder and mounts on it.
func (s spot) newFile(p *Prepared) (Outcome, string, error) {
	if !s.owned {
		return Left, reasonForeign, nil
	}
	if err := s.newPlaceholder(p, s.name); err != nil {
		if errors.Is(err, unix.EEXIST) {
			err = errMoved
		}
		return 0, "", err
	}
	return Made, "", s.mountNew(p)
}

// replaceLink puts a placeholder in the place of a link that leads nowhere. One
// that leads somewhere is the image's, and is not followed.
func (s spot) replaceLink(f found, p *Prepared) (Outcome, string, error) {
	dangles, err := s.dangles()
	if err != nil {
		return 0, "", err
	}
	if !dangles {
		target, err := readlink(f.fd)
		return Left, fmt.Sprintf("a link to %.200q is there", target), err
	}
	if !s.owned {
		return Left, reasonForeign, nil
	}
	if p.kind() == unix.S_IFDIR { // rename puts no directory in the place of a link
		return Left, "a dangling link is there", nil
	}
	if err := s.replace(func(temp string) error { return s.newPlaceholder(p, temp) }); err != nil {
		return 0, "", err
	}
	return Replaced, "", s.mountNew(p)
}

func (s spot) newPlaceholder(p *Prepared, name string) error {
	if err := p.placeholder(s.fd(), name); err != nil {
		return err
	}
	err := s.r.labelAt(s.fd(), name)
	if err != nil {
		p.removePlaceholder(s.fd(), name)
	}
	return err
}

// mountNew mounts on a placeholder just made. It is looked at again before: it
// must still be an empty file, or directory, of nobody else's.
func (s spot) mountNew(p *Prepared) error {
	f, err := s.look()
	if errors.Is(err, unix.ENOENT) {
		return errMoved
	}
	if err != nil {
		return err
	}
	defer f.close()
	if free, err := s.free(f, p); err != nil || !free || f.mounted {
		return errors.Join(errMoved, err)
	}
	if err := s.mountFile(f.fd, p); err != nil {
		p.removePlaceholder(s.fd(), s.name)
		return err
	}
	return nil
}

// mountFile mounts on a handle. With mount_setattr the mount is read-only before
// it can be seen.
func (s spot) mountFile(target int, p *Prepared) error {
	attr := uint64(sealAttr)
	if p.device {
		attr &^= unix.MOUNT_ATTR_NODEV
	}
	if p.writable {
		attr = attr&^unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC
	}
	if err := p.take(); err != nil {
		return err
	}
	late := p.clone == nil
	if !late {
		err := seal(int(p.clone.Fd()), attr, 0, s.r.calls)
		late = unsupported(err)
		if err != nil && !late {
			return fmt.Errorf("mount_setattr: %w", err)
		}
	}
	if err := p.attach(target, ""); err != nil {
		return err
	}
	if !late {
		return nil
	}
	if p.clone == nil {
		return s.sealBound(p, attr)
	}
	return remountOr(int(p.clone.Fd()), attr)
}

// sealBound makes a mount by mount(2) read-only. That gives no handle, so the
// name is looked at again; what is there must be the file.
func (s spot) sealBound(p *Prepared, attr uint64) error {
	f, err := s.look()
	if err != nil {
		return err
	}
	defer f.close()
	if !p.is(&f.st) || !f.mounted {
		return ErrChanged
	}
	return remountOr(f.fd, attr)
}

// remountOr makes an attached mount read-only, or takes it away.
func remountOr(fd int, attr uint64) error {
	if err := remount(fd, attr); err != nil {
		return errors.Join(fmt.Errorf("remount: %w", err), detach(fd))
	}
	return nil
}
