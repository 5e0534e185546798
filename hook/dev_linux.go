package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/hook/state"
	"github.com/gpu-hook/gpu-hook/mounts"
)

// foreignDev reports that the container's /dev is not its own: a user's bind
// mount, or the host's devtmpfs, of which every mount shows the same nodes.
// Making or replacing a node there would change the host's.
func foreignDev(spec state.Spec, r *mounts.Root) (bool, error) {
	if bindsDev(spec) {
		return true, nil
	}
	dev, err := r.Dir("/dev")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var have, host unix.Stat_t
	if err := unix.Fstat(int(dev.Fd()), &have); err != nil {
		return false, fmt.Errorf("stat /dev: %w", err)
	}
	if err := unix.Stat("/dev", &host); err != nil {
		return false, nil //nolint:nilerr // without a /dev here there is none to protect
	}
	return have.Dev == host.Dev, nil
}

// bindsDev reports that the container's /dev is a bind mount.
func bindsDev(spec state.Spec) bool {
	for _, m := range slices.Backward(spec.Mounts) {
		if path.Clean(m.Destination) == "/dev" {
			return m.Type == "bind" || slices.Contains(m.Options, "bind") || slices.Contains(m.Options, "rbind")
		}
	}
	return false
}

// keepPresent drops the nodes that a foreign /dev does not have, and says so.
func keepPresent(f *Facts, r *mounts.Root) {
	f.Nodes = slices.DeleteFunc(f.Nodes, func(n devices.Node) bool {
		if present(r, n) {
			return false
		}
		f.Warnings = append(f.Warnings, Warning{"user-volume", fmt.Sprintf(
			"/dev is a user's volume and is not written to; %s is missing there: leave the volume out, or make the node on the host", n.Path)})
		return true
	})
}

func present(r *mounts.Root, n devices.Node) bool {
	h, err := r.Lookup(n.Path)
	if err != nil {
		return false
	}
	defer h.Close()
	var st unix.Stat_t
	return unix.Fstat(int(h.Fd()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR &&
		st.Rdev == unix.Mkdev(n.Major, n.Minor)
}
