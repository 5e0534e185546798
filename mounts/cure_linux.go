package mounts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	opOpenRoot  = "open root" // the path of such a [PathError] is the host's
	opMount     = "mount on"
	opLeftover  = "remove leftover"
	opNamespace = "join mount namespace"
)

// mountOps are the operations for which the kernel wants CAP_SYS_ADMIN.
var mountOps = [...]string{opMount, opNamespace, "clone mount of", "hide", "remount", "unmount"}

// Cure says what a user can do, by the errno. It is empty where nothing is known.
func (e *PathError) Cure() string {
	mount := slices.Contains(mountOps[:], e.Op)
	switch {
	case errors.Is(e.Err, unix.ENOSPC) && mount: // the limit on mounts (Linux 4.9), or a placeholder
		return "make room on the container's root file system, or raise the sysctl fs.mount-max"
	case errors.Is(e.Err, unix.ENOSPC), errors.Is(e.Err, unix.EDQUOT):
		return "make room on the container's root file system"
	case errors.Is(e.Err, unix.EMFILE):
		return "raise the limit of open files, LimitNOFILE, of the engine"
	case errors.Is(e.Err, unix.ENFILE):
		return "raise the sysctl fs.file-max"
	case errors.Is(e.Err, ErrBusy):
		return "start the container again when that hook has ended"
	case e.ofProcess() && (errors.Is(e.Err, unix.EACCES) || errors.Is(e.Err, unix.EPERM)):
		return "start the hook with the rights of the runtime (CAP_SYS_PTRACE)"
	case mount && errors.Is(e.Err, unix.EPERM):
		return "start the hook with the rights of the runtime (CAP_SYS_ADMIN)"
	case e.Op != opOpenRoot && (errors.Is(e.Err, unix.ELOOP) || errors.Is(e.Err, unix.ENOTDIR)):
		return fmt.Sprintf("repair the image: what %.200q leads through must be a directory, not a file or a loop of links", e.Path)
	case e.Op == opLeftover:
		return "remove it from the image"
	}
	return ""
}

// ofProcess reports a link in /proc that the kernel follows only for those who
// may trace the process (proc(5)).
func (e *PathError) ofProcess() bool {
	return e.Op == opOpenRoot && strings.HasPrefix(e.Path, "/proc/")
}
