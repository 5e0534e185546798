package wrapper

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// replace puts a new text in the place of a file: written beside it and
// renamed, with mode and owner of the old one, so that a reader sees either and
// an error leaves the old. A symbolic link is replaced by a file; what it led to
// may belong to other bundles. Nothing is synced: a bundle does not outlive the
// machine's run.
func replace(name string, text []byte) (err error) {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return fmt.Errorf("stat %.200q: %w", name, err)
	}
	// O_EXCL makes sure that the name is new; pid and time make it likely.
	temp := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.gpu-hook-%d-%d", filepath.Base(name), os.Getpid(), time.Now().UnixNano()))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp)
		}
	}()
	_, err = f.Write(text)
	if err == nil && (st.Uid != uint32(os.Geteuid()) || st.Gid != uint32(os.Getegid())) {
		err = f.Chown(int(st.Uid), int(st.Gid))
	}
	if err == nil {
		err = f.Chmod(os.FileMode(st.Mode & 0o777))
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err = unix.Rename(temp, name); err != nil {
		return &os.LinkError{Op: "rename", Old: temp, New: name, Err: err}
	}
	return nil
}
