package mounts

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Owns reports whether dir lies on the mount that the root itself is on. Only
// there may anything be written: every other mount may be a user's volume, and
// with it a directory of the host.
func (r *Root) Owns(dir *os.File) (bool, error) { return r.owns(int(dir.Fd())) }

func (r *Root) owns(fd int) (bool, error) {
	id, err := r.mount(fd)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	own := r.mountID
	r.mu.Unlock()
	if own == 0 {
		if own, err = r.mount(int(r.dir.Fd())); err != nil {
			return false, err
		}
		r.mu.Lock()
		r.mountID = own
		r.mu.Unlock()
	}
	return id == own, nil
}

// mount returns the id of the mount that fd is on. The kernel reuses these ids,
// but not while a descriptor holds the mount, and both sides of our comparisons
// are open: the unique id of Linux 6.8 is not needed.
func (r *Root) mount(fd int) (uint64, error) {
	if !r.noMntID.Load() {
		var st unix.Statx_t
		err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st)
		if err == nil && st.Mask&unix.STATX_MNT_ID != 0 {
			return st.Mnt_id, nil
		}
		r.noMntID.Store(true)
	}
	return r.mountFromFdinfo(fd)
}

// mountFromFdinfo is for kernels before STATX_MNT_ID (Linux 5.8); the field has
// been in fdinfo since 3.15.
func (r *Root) mountFromFdinfo(fd int) (uint64, error) {
	f, err := r.openProc("fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, fmt.Errorf("read mount id: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return 0, fmt.Errorf("read mount id: %w", err)
	}
	return parseMountID(data)
}

// parseMountID finds "mnt_id:\t123" in a fdinfo file.
func parseMountID(data []byte) (uint64, error) {
	for line := range bytes.Lines(data) {
		value, ok := bytes.CutPrefix(line, []byte("mnt_id:"))
		if !ok {
			continue
		}
		id, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read mount id: %w", err)
		}
		return id, nil
	}
	return 0, fmt.Errorf("read mount id: %w: no mnt_id in fdinfo", unix.ENODATA)
}
