package mounts

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrUnsafePath matches, through [errors.Is], every error that says that a path
// is a loop, leads to the wrong kind of file, is too large, or changed while it
// was looked up.
var ErrUnsafePath = errors.New("path is not safe to use")

// ErrChanged says that a path was changed by somebody else while it was looked
// up or used. It matches [ErrUnsafePath] where it is part of a [PathError].
var ErrChanged = errors.New("it changed while being looked up")

// PathError is an operation on a path inside a root that the kernel refused.
// The errno stays visible to [errors.Is], so fs.ErrNotExist works.
type PathError struct {
	Op   string // verb, "open" or "create link"
	Path string // path inside the root, untrusted
	Err  error
}

func (e *PathError) Error() string {
	return fmt.Sprintf("%s %.200q: %v", e.Op, e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *PathError) Unwrap() error { return e.Err }

// Is reports loops, files in the place of directories and races as
// [ErrUnsafePath].
func (e *PathError) Is(target error) bool {
	if target != ErrUnsafePath {
		return false
	}
	return errors.Is(e.Err, unix.ELOOP) || errors.Is(e.Err, unix.ENOTDIR) || errors.Is(e.Err, ErrChanged)
}

// WrongKindError is a file of another kind than is needed, for example a FIFO
// where a regular file should be.
type WrongKindError struct {
	Path string // path inside the root, untrusted
	Got  string // "FIFO", "directory", "character device", ...
	Want string // "regular file", "directory", ...
}

func (e *WrongKindError) Error() string {
	return fmt.Sprintf("use %.200q: it is a %s, not a %s", e.Path, e.Got, e.Want)
}

// Cure says what a user can do.
func (e *WrongKindError) Cure() string { return "make it a " + e.Want + " in the image" }

// Is matches [ErrUnsafePath].
func (e *WrongKindError) Is(target error) bool { return target == ErrUnsafePath }

// TooLargeError is a file or directory above a limit.
type TooLargeError struct {
	Path string // path inside the root, untrusted
	Max  int64
	Unit string // of Max: "bytes" or "entries"
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("read %.200q: it has more than %d %s", e.Path, e.Max, e.Unit)
}

// Cure says what a user can do.
func (e *TooLargeError) Cure() string { return "make it smaller in the image" }

// Is matches [ErrUnsafePath].
func (e *TooLargeError) Is(target error) bool { return target == ErrUnsafePath }

// ForeignMountError is a place on another mount than the root's own: a user's
// volume, which may be a directory of the host.
type ForeignMountError struct {
	Path string // path inside the root, untrusted
}

func (e *ForeignMountError) Error() string {
	return fmt.Sprintf("write %.200q: it is on another mount than the container's root", e.Path)
}

// Cure says what a user can do.
func (e *ForeignMountError) Cure() string {
	return "mount the volume somewhere else, or choose another directory"
}

// ReadOnlyError is a place on a file system that cannot be written.
type ReadOnlyError struct {
	Path string // path inside the root, untrusted
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("write %.200q: %v", e.Path, unix.EROFS)
}

// Unwrap returns EROFS.
func (e *ReadOnlyError) Unwrap() error { return unix.EROFS }

// Cure says what a user can do.
func (e *ReadOnlyError) Cure() string {
	return "make the directory in the image, or give the container a writable root"
}

// MountPointError is something other than a directory where the private tree
// should be mounted.
type MountPointError struct {
	Path string // path inside the root, untrusted
	Got  string // "regular file", "dangling link", ...
}

func (e *MountPointError) Error() string {
	return fmt.Sprintf("mount on %.200q: it is a %s, not a directory of its own", e.Path, e.Got)
}

// Cure says what a user can do.
func (e *MountPointError) Cure() string {
	return "remove it from the image, or set mounts.dir to another directory"
}

// wrap gives err its verb and path. EROFS becomes a [ReadOnlyError].
func wrap(op, unsafePath string, err error) error {
	if errors.Is(err, unix.EROFS) {
		return &ReadOnlyError{Path: unsafePath}
	}
	return &PathError{Op: op, Path: unsafePath, Err: err}
}
