package mounts

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// forgetCalls makes this process's kernel answer ENOSYS to every call that
// Linux 4.18 does not have, by seccomp. Unlike the switches of Calls it reaches
// into pathrs-lite, too.
func forgetCalls() error {
	numbers := []uint32{
		unix.SYS_OPENAT2, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_STATX, unix.SYS_STATMOUNT,
	}
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // seccomp_data.nr
	for _, nr := range numbers {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: nr},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH}); err != unix.ENOSYS {
		return fmt.Errorf("openat2 still works: %w", err)
	}
	return nil
}

func TestOldKernel(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.MountNS(t)
	if os.Getenv(roleVar) != "" {
		return // this is the process started below
	}
	cmd := exec.Command("/proc/self/exe", "-test.short",
		"-test.run", "^Test(Root|MkdirAll|Owns|Write|PlaceLink|PlaceFile|Tree|HideDir|Attack|Namespace|FS)")
	cmd.Env = append(os.Environ(), roleVar+"=old-kernel")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("tests without new system calls: %v\n%s", err, out)
	}
}
