package mounts

import (
	"bytes"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// WriteFile writes a small file into a directory of the container and makes the
// directory if it is missing. The file is written beside and renamed, so that a
// reader sees the old or the new one; there is no fsync, since the file is
// renewed at every start. A file with this content and mode is Kept.
//
// A link in the file's place is replaced, never followed. A directory, FIFO,
// device or socket is a *[WrongKindError]; a directory or a file on another
// mount is a *[ForeignMountError]; a read-only file system a *[ReadOnlyError].
func (r *Root) WriteFile(dir, name string, data []byte, mode uint32) (Outcome, error) {
	path := strings.TrimSuffix(dir, "/") + "/" + name
	if strings.Contains(name, "/") {
		return 0, wrap("write", path, unix.EINVAL)
	}
	s, reason, err := r.spot(path)
	switch {
	case err != nil:
		return 0, err
	case reason == reasonReadOnly:
		return 0, &ReadOnlyError{Path: path}
	case reason == reasonForeign || !s.owned:
		return 0, &ForeignMountError{Path: path}
	}
	outcome, err := s.put(data, mode)
	if err != nil {
		s.made.remove()
		if errors.Is(err, ErrUnsafePath) || whyNot(err) != "" && !errors.Is(err, unix.EROFS) {
			return 0, err
		}
		return 0, wrap("write", path, err)
	}
	return outcome, nil
}

// put looks and writes, again where another hook took the name meanwhile.
func (s spot) put(data []byte, mode uint32) (Outcome, error) {
	for range maxLooks {
		outcome, err := s.judge(data, mode)
		if err != nil || outcome == Kept {
			return outcome, err
		}
		err = s.replace(func(temp string) error { return s.write(temp, data, mode) })
		if !errors.Is(err, errMoved) {
			return outcome, err
		}
	}
	return 0, wrap("write", s.path, ErrChanged)
}

// judge looks at what is there before a file is written.
func (s spot) judge(data []byte, mode uint32) (Outcome, error) {
	f, err := s.look()
	if errors.Is(err, unix.ENOENT) {
		return Made, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.close()
	if f.mounted {
		return 0, &ForeignMountError{Path: s.path}
	}
	switch f.kind() {
	case unix.S_IFREG:
	case unix.S_IFLNK:
		return Replaced, nil
	default:
		return 0, &WrongKindError{Path: s.path, Got: kind(f.st.Mode), Want: "regular file"}
	}
	if f.st.Size != int64(len(data)) || f.st.Mode&0o7777 != mode {
		return Replaced, nil
	}
	old, err := s.r.reopenFile(f.fd, s.path)
	if err != nil {
		return 0, err
	}
	defer old.Close()
	same, err := readAll(old, s.path, int64(len(data)))
	if _, grew := errors.AsType[*TooLargeError](err); grew {
		return Replaced, nil
	}
	if err != nil {
		return 0, err
	}
	if bytes.Equal(same, data) {
		return Kept, nil
	}
	return Replaced, nil
}

// write makes the file under another name. Its mode is set by the descriptor:
// the umask has no part in it.
func (s spot) write(temp string, data []byte, mode uint32) error {
	fd, err := unix.Openat(s.fd(), temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	f := file(fd, s.path)
	err = s.pour(f, data, mode)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = unix.Unlinkat(s.fd(), temp, 0)
	}
	return err
}

func (s spot) pour(f *os.File, data []byte, mode uint32) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := unix.Fchmod(int(f.Fd()), mode); err != nil {
		return err
	}
	return s.r.labelFile(int(f.Fd()))
}
