package devices

import (
	"errors"

	// The package is deprecated since runc 1.5 and gone in 1.6; its successor
	// is github.com/moby/sys/devices, with the same signatures. This file is
	// the only one that imports it. Run no "go fix" here before that change is
	// meant: it honours the package's go:fix lines and rewrites the import.
	"github.com/opencontainers/runc/libcontainer/devices" //nolint:staticcheck // SA1019: chosen on purpose, see above.
)

// errNotDevice says that a host path is there but is no character device.
var errNotDevice = errors.New("not a character device")

// hostNode looks at a device node of the host. Links are not followed. The
// error matches fs.ErrNotExist where there is nothing.
func hostNode(path string) (Node, error) {
	device, err := devices.DeviceFromPath(path, "rw") //nolint:staticcheck // SA1019: see the import.
	if err != nil {
		return Node{}, err
	}
	if device.Type != 'c' {
		return Node{}, errNotDevice
	}
	return Node{
		Host:  path,
		Major: uint32(device.Major),
		Minor: uint32(device.Minor),
		Mode:  uint32(device.FileMode.Perm()),
		UID:   device.Uid,
		GID:   device.Gid,
	}, nil
}
