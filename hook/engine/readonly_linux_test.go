package engine

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// inReadOnly calls fn while dir is read-only, on a thread with a mount
// namespace of its own that ends with the calling goroutine.
func inReadOnly(dir string, fn func()) error {
	runtime.LockOSThread() // never unlocked
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	fn()
	return nil
}
