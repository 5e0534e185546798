package bpf

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Attached is what a query found on a cgroup.
type Attached struct {
	IDs   []uint32
	Flags uint32 // How programs are attached here, see [FlagMulti]; 0 in an effective query.
}

type queryAttr struct {
	target      uint32
	typ         uint32
	queryFlags  uint32
	attachFlags uint32
	ids         unsafe.Pointer
	count       uint32
	_           uint32
	progFlags   unsafe.Pointer
	linkIDs     unsafe.Pointer
	linkFlags   unsafe.Pointer
	// Kernels from 6.17 on write this field whatever size is given, until 7.2;
	// so it is declared, and a zero tail is fine for all older ones.
	revision uint64
}

// Query returns the ids of the device programs attached to the cgroup itself.
func Query(cgroup *os.File) (Attached, error) { return query(cgroup, 0) }

// QueryEffective returns the ids of all device programs in force in the cgroup,
// those of the cgroups above it as well, even where they cannot be seen.
func QueryEffective(cgroup *os.File) (Attached, error) { return query(cgroup, queryEffective) }

func query(cgroup *os.File, flags uint32) (Attached, error) {
	for size := firstQuerySize; size <= maxQuerySize; size *= 4 {
		ids := make([]uint32, size)
		a := queryAttr{
			target: uint32(cgroup.Fd()), typ: attachDevice, queryFlags: flags,
			ids: unsafe.Pointer(&ids[0]), count: uint32(size),
		}
		_, err := call(cmdProgQuery, unsafe.Pointer(&a), unsafe.Sizeof(a))
		if errors.Is(err, unix.ENOSPC) {
			continue
		}
		if err != nil {
			return Attached{}, fmt.Errorf("query device programs: %w", err)
		}
		return Attached{IDs: ids[:min(int(a.count), size)], Flags: a.attachFlags}, nil
	}
	return Attached{}, fmt.Errorf("query device programs: %w", unix.ENOSPC)
}
