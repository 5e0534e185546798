package mounts

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Mounted reports whether something is mounted on the root's directory: it and
// the directory above it are then on different mounts. Every runtime mounts a
// container's rootfs on itself in the container's mount namespace.
func (r *Root) Mounted() (bool, error) {
	above, err := unix.Openat(int(r.dir.Fd()), "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, fmt.Errorf("open the directory above the root: %w", err)
	}
	defer unix.Close(above)
	own, err := r.owns(above)
	return !own, err
}
