package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// allow looks whether every change can be made, so that none is where one
// cannot.
func (h host) allow(changes []Change) error {
	for _, existing := range []bool{true, false} { // the engine's own file explains more than our copy of it
		for _, c := range changes {
			if (c.Old != nil && !c.Backup) != existing {
				continue
			}
			if err := allowed(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func allowed(c Change) error {
	const todo = "make it writable, or write what --dry-run shows where the file comes from"
	if info, err := os.Lstat(c.real); err == nil && !c.Link {
		// Root may write to a file that is read-only by its mode. Somebody set
		// that mode so that nobody does.
		if info.Mode()&0o222 == 0 {
			return refused(c.Path, fmt.Sprintf("is read-only (mode %04o)", info.Mode().Perm()), todo)
		}
		if err := unix.Access(c.real, unix.W_OK); err != nil { // read-only file system, chattr +i
			return &FileError{Path: c.Path, Reason: "is not writable: " + err.Error(), Err: err, Todo: todo}
		}
	}
	dir := filepath.Dir(c.real)
	for {
		err := unix.Access(dir, unix.W_OK|unix.X_OK)
		if errors.Is(err, unix.ENOENT) && dir != "/" {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return &FileError{Path: c.Path, Reason: fmt.Sprintf("directory %s is not writable: %s", dir, err), Err: err, Todo: todo}
		}
		return nil
	}
}

// apply makes the changes in their order. Where one fails those before it are
// taken back.
func (h host) apply(changes []Change) error {
	for i, c := range changes {
		err := c.apply()
		if err == nil {
			continue
		}
		errs := []error{fmt.Errorf("write %s: %w", c.Path, err)}
		for ; i > 0; i-- {
			back := changes[i-1]
			back.Old, back.New = back.New, back.Old
			if err := back.apply(); err != nil {
				errs = append(errs, fmt.Errorf("put back %s: %w", back.Path, err))
			}
		}
		return errors.Join(errs...)
	}
	return nil
}

func (c Change) apply() error {
	now, err := c.now()
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.Old) || (now == nil) != (c.Old == nil) {
		return errors.New("somebody else has just changed it")
	}
	if c.New == nil {
		return os.NewSyscallError("unlink", unix.Unlink(c.real))
	}
	if err := makeDirs(filepath.Dir(c.real)); err != nil {
		return err
	}
	if c.Link {
		if c.Old != nil {
			if err := unix.Unlink(c.real); err != nil {
				return os.NewSyscallError("unlink", err)
			}
		}
		return os.NewSyscallError("symlink", unix.Symlink(string(c.New), c.real))
	}
	return replaceFile(c.real, c.New, c.mode, c.like)
}

// now is what is there at this moment, nil for nothing.
func (c Change) now() ([]byte, error) {
	var data []byte
	var err error
	if c.Link {
		var target string
		target, err = os.Readlink(c.real)
		data = []byte(target)
	} else {
		data, err = os.ReadFile(c.real)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// makeDirs makes a directory and those above it, 0755 whatever the umask says.
func makeDirs(dir string) error {
	err := unix.Mkdir(dir, 0o755)
	if errors.Is(err, unix.ENOENT) {
		if err := makeDirs(filepath.Dir(dir)); err != nil {
			return err
		}
		err = unix.Mkdir(dir, 0o755)
	}
	switch {
	case err == nil:
		return os.NewSyscallError("chmod", unix.Chmod(dir, 0o755))
	case errors.Is(err, unix.EEXIST):
		return nil
	default:
		return fmt.Errorf("mkdir %s: %w", dir, err)
	}
}

// replaceFile writes a file beside its name and renames it over what is there,
// with that one's mode, owner and extended attributes (SELinux label). A new
// file gets those of the file at like, or mode where there is none.
func replaceFile(name string, data []byte, mode fs.FileMode, like string) error {
	// The dot keeps it from engines that read every file of a directory.
	temp, err := os.CreateTemp(filepath.Dir(name), ".gpu-hook-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err == nil {
		if _, missing := os.Lstat(name); missing == nil || like == "" {
			like = name
		}
		err = likeness(temp, like, mode)
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.NewSyscallError("rename", unix.Rename(temp.Name(), name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// likeness gives temp the mode and owner of the file at name; mode is for a
// file that is not there yet.
func likeness(temp *os.File, name string, mode fs.FileMode) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return temp.Chmod(mode)
	}
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return os.NewSyscallError("lstat", err)
	}
	if err := temp.Chown(int(st.Uid), int(st.Gid)); err != nil {
		return err
	}
	copyAttributes(temp, name)
	return temp.Chmod(info.Mode().Perm())
}

// copyAttributes copies extended attributes as far as they can be: file
// systems without them, and labels that the policy keeps, are no reason to
// stop.
func copyAttributes(temp *os.File, name string) {
	list := make([]byte, 1<<16)
	n, err := unix.Llistxattr(name, list)
	if err != nil {
		return
	}
	value := make([]byte, 1<<16)
	for attribute := range bytes.SplitSeq(list[:n], []byte{0}) {
		if len(attribute) == 0 {
			continue
		}
		if n, err := unix.Lgetxattr(name, string(attribute), value); err == nil {
			_ = unix.Fsetxattr(int(temp.Fd()), string(attribute), value[:n], 0)
		}
	}
}
