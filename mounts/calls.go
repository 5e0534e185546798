package mounts

// Calls switches single kernel calls off, so that each fallback can be forced
// in tests. The zero value uses all of them and falls back where the kernel
// says ENOSYS.
type Calls struct {
	// NoOpenat2 resolves paths with pathrs-lite (openat2 is Linux 5.6).
	NoOpenat2 bool
	// NoOpenTree binds by mount(2) instead of open_tree and move_mount
	// (Linux 5.2).
	NoOpenTree bool
	// NoFsopen makes the private tmpfs by mount(2) instead of fsopen, fsmount
	// and move_mount (Linux 5.2).
	NoFsopen bool
	// NoMountSetattr makes mounts read-only one by one with a remount
	// (mount_setattr is Linux 5.12).
	NoMountSetattr bool
	// NoMountID takes mount ids from fdinfo instead of statx (STATX_MNT_ID is
	// Linux 5.8).
	NoMountID bool
}
