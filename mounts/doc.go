// Package mounts puts driver files into a container and reads files out of
// root directories that somebody else controls.
//
// What it does: [Root] resolves paths inside a directory to file descriptors;
// [Prepare] clones the host's files as detached mounts; [Tree], [PlaceLink],
// [PlaceFile] and [HideDir] put them into the container's mount namespace,
// which [InNamespace] joins.
//
// What it refuses to do: it takes a directory handle and a single name; a path
// inside the rootfs never reaches the kernel as a string without
// RESOLVE_IN_ROOT. It opens no FIFO, device or socket. It writes only into
// directories on the root's own mount ([Root.Owns]), so that a user's volume is
// read but never changed. It does not run anything from the image.
//
// Which kernel it needs: Linux 5.12 has every call used (open_tree, move_mount
// and fsopen 5.2, openat2 5.6, STATX_MNT_ID 5.8, mount_setattr 5.12). Down to
// 4.18 each has a fallback, forced in tests by [Calls].
//
// The process's umask applies to the directories made here, so the caller sets
// it to 0 once: runtimes start hooks with their own caller's umask, and 077
// would hide the driver from a container's ordinary users.
package mounts
