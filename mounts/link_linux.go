package mounts

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Link is a symbolic link. The path of one in a [Tree] is relative to the tree,
// that of one for [PlaceLink] is inside the root. The target is written as it
// is. Over is the text of a link that [PlaceLink] may replace although it leads
// somewhere.
type Link struct{ Path, Target, Over string }

// PlaceLink makes a link in a directory of the container and the directory if
// it is missing. The same link is Kept; a zero-byte leftover, a link to one or to
// nowhere and the one named by Over are Replaced; anything else is the image's or the user's and is
// Left, and so is every directory on another mount. The string is the reason
// for Left.
func PlaceLink(r *Root, l Link) (Outcome, string, error) {
	s, reason, err := r.spot(l.Path)
	if err != nil || reason != "" {
		return leftOr(reason, err)
	}
	for range maxLooks {
		outcome, reason, err := s.link(l)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EEXIST), errors.Is(err, errMoved):
			continue // it came or went since we looked
		case err == nil && outcome != Left:
			return outcome, "", nil
		}
		s.made.remove()
		if why := whyNot(err); why != "" {
			return Left, why, nil
		}
		if err != nil {
			return 0, "", wrap("create link", l.Path, err)
		}
		return Left, reason, nil
	}
	return 0, "", wrap("create link", l.Path, ErrChanged)
}

func leftOr(reason string, err error) (Outcome, string, error) {
	if err != nil {
		return 0, "", err
	}
	return Left, reason, nil
}

// link looks once and acts. Its errors are bare.
func (s spot) link(l Link) (Outcome, string, error) {
	f, err := s.look()
	if errors.Is(err, unix.ENOENT) {
		if !s.owned {
			return Left, reasonForeign, nil
		}
		return Made, "", s.newLink(l.Target, s.name)
	}
	if err != nil {
		return 0, "", err
	}
	defer f.close()
	switch {
	case f.kind() == unix.S_IFLNK:
		old, err := readlink(f.fd)
		if err != nil {
			return 0, "", err
		}
		if old == l.Target {
			return Kept, "", nil
		}
		if dangles, err := s.dangles(); err != nil {
			return 0, "", err
		} else if !dangles && (l.Over == "" || old != l.Over) {
			return Left, fmt.Sprintf("a link to %.200q is there", old), nil
		}
	case f.mounted:
		return Left, fmt.Sprintf("a %s is mounted there", kind(f.st.Mode)), nil
	case !f.leftover():
		return Left, fmt.Sprintf("the image has its own %s there", kind(f.st.Mode)), nil
	}
	if !s.owned {
		return Left, reasonForeign, nil
	}
	return Replaced, "", s.replace(func(temp string) error { return s.newLink(l.Target, temp) })
}

// newLink makes a link in the spot's directory.
func (s spot) newLink(target, name string) error {
	if err := unix.Symlinkat(target, s.fd(), name); err != nil {
		return err
	}
	if err := s.r.labelAt(s.fd(), name); err != nil {
		_ = unix.Unlinkat(s.fd(), name, 0)
		return err
	}
	return nil
}
