package bpf

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of bpf(2), enum bpf_cmd in include/uapi/linux/bpf.h.
const (
	cmdProgLoad     = 5
	cmdObjPin       = 6
	cmdObjGet       = 7
	cmdProgAttach   = 8
	cmdProgDetach   = 9
	cmdProgFdByID   = 13
	cmdObjInfo      = 15
	cmdProgQuery    = 16
	progTypeDevice  = 15 // BPF_PROG_TYPE_CGROUP_DEVICE.
	attachDevice    = 6  // BPF_CGROUP_DEVICE.
	queryEffective  = 1  // BPF_F_QUERY_EFFECTIVE.
	flagReplace     = 4  // BPF_F_REPLACE, Linux 5.6 (commit 7dd68b3279f1).
	maxInterrupts   = 16 // The verifier gives up with EAGAIN when a signal is pending; Go's preemption sends them.
	firstQuerySize  = 64 // BPF_CGROUP_MAX_PROGS, kernel/bpf/cgroup.c.
	maxQuerySize    = 64 * 256
	maxDumpSize     = 4096 * 8
	firstDumpSize   = 512 * 8 // runc's programs have 64 instructions, crun's 77.
	maxVerifierText = 64 << 10
)

// FlagMulti is BPF_F_ALLOW_MULTI: the verdicts of all programs are ANDed, those
// of the cgroups above as well. Only such programs can be replaced one by one.
const FlagMulti = 2

// call makes one bpf(2) call and repeats it while a signal interrupts it.
func call(cmd uintptr, attr unsafe.Pointer, size uintptr) (int, error) {
	for try := 0; ; try++ {
		fd, _, errno := unix.Syscall(unix.SYS_BPF, cmd, uintptr(attr), size)
		switch {
		case errno == 0:
			return int(fd), nil
		case (errno == unix.EAGAIN || errno == unix.EINTR) && try < maxInterrupts:
		default:
			return -1, errno
		}
	}
}

type attachAttr struct {
	target    uint32
	prog      uint32
	typ       uint32
	flags     uint32
	replaceFd uint32
	_         uint32
}

// Replace puts a program in the place of another one that is attached with
// [FlagMulti]: no moment without a filter. EINVAL comes from kernels before 5.6.
func Replace(cgroup *os.File, program, old *Program) error {
	a := attachAttr{
		target: uint32(cgroup.Fd()), prog: uint32(program.fd), typ: attachDevice,
		flags: FlagMulti | flagReplace, replaceFd: uint32(old.fd),
	}
	if _, err := call(cmdProgAttach, unsafe.Pointer(&a), unsafe.Sizeof(a)); err != nil {
		return fmt.Errorf("replace device program %d: %w", old.ID, err)
	}
	return nil
}

// Attach adds a program with the flags given. Without [FlagMulti] it takes the
// place of the one that is attached.
func Attach(cgroup *os.File, program *Program, flags uint32) error {
	a := attachAttr{target: uint32(cgroup.Fd()), prog: uint32(program.fd), typ: attachDevice, flags: flags}
	// replace_bpf_fd came with 5.6; a shorter structure suits older kernels too.
	if _, err := call(cmdProgAttach, unsafe.Pointer(&a), unsafe.Offsetof(a.replaceFd)); err != nil {
		return fmt.Errorf("attach device program: %w", err)
	}
	return nil
}

// Detach takes a program off.
func Detach(cgroup *os.File, program *Program) error {
	a := attachAttr{target: uint32(cgroup.Fd()), prog: uint32(program.fd), typ: attachDevice}
	if _, err := call(cmdProgDetach, unsafe.Pointer(&a), unsafe.Offsetof(a.replaceFd)); err != nil {
		return fmt.Errorf("detach device program %d: %w", program.ID, err)
	}
	return nil
}
