package mounts

import (
	"errors"
	"fmt"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// branches are the directories of a new tree by their path in it.
type branches map[string]int

// in returns the handle of a directory and makes it if needed. The tree is ours
// alone, so its paths hold no links yet, and names are made exclusively.
func (b branches) in(dir string) (int, error) {
	if fd, ok := b[dir]; ok {
		return fd, nil
	}
	parent, err := b.in(path.Dir(dir))
	if err != nil {
		return -1, err
	}
	name := path.Base(dir)
	if err := unix.Mkdirat(parent, name, 0o755); err != nil {
		return -1, &PathError{Op: "create directory", Path: dir, Err: err}
	}
	fd, err := unix.Openat(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &PathError{Op: "open", Path: dir, Err: err}
	}
	b[dir] = fd
	return fd, nil
}

func (b branches) close() {
	for dir, fd := range b {
		if dir != "." {
			unix.Close(fd)
		}
	}
}

// fill makes placeholders and links in a new tmpfs and mounts the files.
func (t Tree) fill(top int) error {
	dirs := branches{".": top}
	defer dirs.close()
	for _, f := range t.Files {
		dir, err := dirs.in(path.Dir(f.Path))
		if err != nil {
			return err
		}
		name := path.Base(f.Path)
		if err := f.From.placeholder(dir, name); err != nil {
			return &PathError{Op: "create", Path: f.Path, Err: err}
		}
		late := f.From.late != nil
		if err := f.From.attach(dir, name); err != nil {
			return &PathError{Op: "mount on", Path: f.Path, Err: err}
		}
		if late {
			_ = f.From.Close() // mounted; few descriptors are the point of it
		}
	}
	for _, f := range t.Texts {
		dir, err := dirs.in(path.Dir(f.Path))
		if err != nil {
			return err
		}
		if err := writeNew(dir, path.Base(f.Path), f.Content); err != nil {
			return &PathError{Op: "write", Path: f.Path, Err: err}
		}
	}
	for _, l := range t.Links {
		dir, err := dirs.in(path.Dir(l.Path))
		if err != nil {
			return err
		}
		if err := unix.Symlinkat(l.Target, dir, path.Base(l.Path)); err != nil {
			return &PathError{Op: "create link", Path: l.Path, Err: err}
		}
	}
	return nil
}

// writeNew writes a file that must not exist yet. No process is started meanwhile:
// it would hold the file open for writing until its exec, and the tree could not
// be made read-only (EBUSY).
func writeNew(dir int, name string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	f := file(fd, name)
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// placeholder makes what the file can be mounted on: a directory for a
// directory, an empty file for anything else. It fails where the name is taken.
func (p *Prepared) placeholder(dir int, name string) error {
	if p.kind() == unix.S_IFDIR {
		return unix.Mkdirat(dir, name, 0o755)
	}
	return unix.Mknodat(dir, name, unix.S_IFREG|0o644, 0)
}

// removePlaceholder takes away what placeholder made.
func (p *Prepared) removePlaceholder(dir int, name string) {
	flags := 0
	if p.kind() == unix.S_IFDIR {
		flags = unix.AT_REMOVEDIR
	}
	_ = unix.Unlinkat(dir, name, flags)
}

// seal makes the whole tree read-only in one call, or mount by mount.
func (t Tree) seal(top int, c Calls) error {
	err := seal(top, sealAttr, unix.AT_RECURSIVE, c)
	if !unsupported(err) {
		if err != nil {
			return fmt.Errorf("mount_setattr: %w", err)
		}
		return nil
	}
	for _, f := range t.Files {
		if err := sealBelow(top, f.Path); err != nil {
			return &PathError{Op: "remount", Path: f.Path, Err: err}
		}
	}
	if err := remount(top, sealAttr); err != nil {
		return fmt.Errorf("remount tree: %w", err)
	}
	return nil
}

// sealBelow seals one file of the tree. Its path is of our own making.
func sealBelow(top int, name string) error {
	fd, err := unix.Openat(top, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return remount(fd, sealAttr)
}
