package bpf

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

type pinAttr struct {
	path unsafe.Pointer
	fd   uint32
	flag uint32
}

// OpenPinned returns the device program pinned at a path.
func OpenPinned(path string) (*Program, error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("open pinned program %q: %w", path, err)
	}
	a := pinAttr{path: unsafe.Pointer(name)}
	fd, err := call(cmdObjGet, unsafe.Pointer(&a), unsafe.Sizeof(a))
	if err != nil {
		return nil, fmt.Errorf("open pinned program %q: %w", path, err)
	}
	return describe(fd)
}

// Repin makes a pinned path name this program: it is pinned beside the path and
// renamed over it, so that the path always names one of the two. The name
// beside it has no dot, which the BPF file system does not take in names.
func (p *Program) Repin(path string) error {
	beside := path + "_gpu_hook"
	name, err := unix.BytePtrFromString(beside)
	if err != nil {
		return fmt.Errorf("pin device program %q: %w", beside, err)
	}
	_ = os.Remove(beside) // Left by a hook that was killed.
	a := pinAttr{path: unsafe.Pointer(name), fd: uint32(p.fd)}
	if _, err := call(cmdObjPin, unsafe.Pointer(&a), unsafe.Sizeof(a)); err != nil {
		return fmt.Errorf("pin device program %q: %w", beside, err)
	}
	if err := unix.Rename(beside, path); err != nil {
		_ = os.Remove(beside)
		return fmt.Errorf("pin device program: %w", err)
	}
	return nil
}
