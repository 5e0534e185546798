package mounts

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Root is a handle of a directory whose content is not trusted: a container's
// rootfs, or a directory that stands in for a host. Every path handed to it is
// resolved inside it: absolute links and ".." clamp to it and never leave it.
// Its methods may be called from several goroutines, and from a thread that has
// joined another mount namespace.
type Root struct {
	dir   *os.File // O_PATH
	proc  *os.File // this process's /proc/self/fd
	calls Calls
	label string

	noOpenat2 atomic.Bool // the kernel said so once
	noMntID   atomic.Bool // statx gives no mount id (before Linux 5.8)

	mu      sync.Mutex
	dirs    map[string]*os.File // resolved directories
	retired []*os.File          // handed out before something was mounted
	mountID uint64              // of dir; 0 = not asked yet
}

// OpenRoot opens a directory named by a trusted path of the host.
func OpenRoot(hostPath string, c Calls) (*Root, error) {
	dir, err := unix.Open(hostPath, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &PathError{Op: opOpenRoot, Path: hostPath, Err: err}
	}
	return newRoot(os.NewFile(uintptr(dir), hostPath), c)
}

// OpenRootIn opens hostPath as the process pid sees it, through
// /proc/PID/root. Reading through the result needs no setns, and after joining
// pid's mount namespace the same handles are valid targets for mounts.
func OpenRootIn(pid int, hostPath string, c Calls) (*Root, error) {
	top, err := OpenRoot("/proc/"+strconv.Itoa(pid)+"/root", c)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	r, err := top.Sub(hostPath)
	if err != nil {
		return nil, fmt.Errorf("open root of process %d: %w", pid, err)
	}
	return r, nil
}

// Sub opens a directory inside r as a root of its own: paths clamp to it, and
// [Root.Owns] compares with the mount that it is on. The container's own /dev,
// a mount of its own, is written through such a root.
func (r *Root) Sub(unsafePath string) (*Root, error) {
	dir, err := r.open(unsafePath, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, wrap("open", unsafePath, err)
	}
	sub, err := newRoot(os.NewFile(uintptr(dir), unsafePath), r.calls)
	if err != nil {
		return nil, err
	}
	sub.label = r.label
	return sub, nil
}

// newRoot takes dir over. The handle of /proc/self/fd is taken now, in the
// namespace of the host: after setns, and above all after pivot_root, /proc is
// somebody else's. All threads of a Go program share one table of descriptors.
func newRoot(dir *os.File, c Calls) (*Root, error) {
	proc, err := openProcFD()
	if err != nil {
		dir.Close()
		return nil, err
	}
	r := &Root{dir: dir, proc: proc, calls: c, dirs: map[string]*os.File{}}
	r.noOpenat2.Store(c.NoOpenat2)
	r.noMntID.Store(c.NoMountID)
	return r, nil
}

// SetLabel sets the SELinux label (linux.mountLabel of the container) of files,
// links and directories made through r. It is called before r is used.
func (r *Root) SetLabel(label string) { r.label = label }

// Forget closes the directory handles that the root gave out. None of them may
// be in use any more. The root itself stays open and finds directories anew.
func (r *Root) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.dirs {
		d.Close()
	}
	for _, d := range r.retired {
		d.Close()
	}
	clear(r.dirs)
	r.retired = nil
}

// Close closes the root and every directory handle that it gave out.
func (r *Root) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.dirs {
		d.Close()
	}
	for _, d := range r.retired {
		d.Close()
	}
	r.dirs, r.retired = nil, nil
	r.proc.Close()
	return r.dir.Close()
}
