package need

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Root needs user id 0 with the right to mount. Uid 0 of a user namespace does
// not count: it may not make device nodes.
func Root(t T) {
	t.Helper()
	check(t, "root", rootReason())
}

func rootReason() string {
	if uid := os.Geteuid(); uid != 0 {
		return fmt.Sprintf("runs as user %d", uid)
	}
	uidMap, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return err.Error()
	}
	if fields := strings.Fields(string(uidMap)); !slices.Equal(fields, []string{"0", "0", "4294967295"}) {
		return "runs in a user namespace"
	}
	return ""
}

// MountNS needs the right to make a private mount namespace.
func MountNS(t T) {
	t.Helper()
	check(t, "mntns", child(&syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}))
}

// UserNS needs the right to make a user namespace in which the caller is root.
func UserNS(t T) {
	t.Helper()
	check(t, "userns", child(&syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}))
}

// child starts a process that does nothing, and says why that did not work.
func child(attr *syscall.SysProcAttr) string {
	cmd := exec.Command("true")
	cmd.SysProcAttr = attr
	if err := cmd.Run(); err != nil {
		return err.Error()
	}
	return ""
}

// Overlay needs overlayfs, and root to mount it.
func Overlay(t T) {
	t.Helper()
	Root(t)
	check(t, "overlay", filesystem("overlay"))
}

// filesystem says why a file system is not there. The kernel lists file systems
// of modules only after they were loaded, so a mount is tried where it does not.
func filesystem(name string) string {
	list, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(list)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[len(fields)-1] == name {
			return ""
		}
	}
	if exec.Command("modprobe", name).Run() == nil {
		return ""
	}
	return "this kernel has no file system " + name
}

// Cgroup1 needs a mounted devices controller of cgroup v1.
func Cgroup1(t T) {
	t.Helper()
	reason := "no cgroup v1 hierarchy with the devices controller is mounted"
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		reason = err.Error()
	} else if cgroup1Devices(mounts) {
		reason = ""
	}
	check(t, "cgroup1", reason)
}

// cgroup1Devices reports whether a mount table has a v1 devices controller.
func cgroup1Devices(mountinfo []byte) bool {
	for line := range bytes.Lines(mountinfo) {
		_, after, ok := strings.Cut(string(line), " - ")
		fields := strings.Fields(after)
		if !ok || len(fields) < 3 || fields[0] != "cgroup" {
			continue
		}
		if slices.Contains(strings.Split(fields[2], ","), "devices") {
			return true
		}
	}
	return false
}

// Cgroup2 needs cgroup v2, which tests mount in a mount namespace of their own.
func Cgroup2(t T) {
	t.Helper()
	check(t, "cgroup2", filesystem("cgroup2"))
}

// BPF needs the right to load a device program (Linux 4.15).
func BPF(t T) {
	t.Helper()
	check(t, "bpf", bpfReason())
}

// bpfReason loads the program "r0 = 1; exit" and lets it go again.
func bpfReason() string {
	const progLoad, cgroupDevice = 5, 15 // BPF_PROG_LOAD, BPF_PROG_TYPE_CGROUP_DEVICE
	code := &[16]byte{0: 0xb7, 4: 1, 8: 0x95}
	license := &[4]byte{'G', 'P', 'L'}
	var pinner runtime.Pinner // The kernel reads both through addresses in attr.
	defer pinner.Unpin()
	pinner.Pin(code)
	pinner.Pin(license)
	attr := struct {
		progType, insnCount uint32
		insns, license      uint64
		rest                [104]byte
	}{
		progType: cgroupDevice, insnCount: 2,
		insns:   uint64(uintptr(unsafe.Pointer(code))),
		license: uint64(uintptr(unsafe.Pointer(license))),
	}
	var fd uintptr
	var errno unix.Errno
	for range 100 {
		fd, _, errno = unix.Syscall(unix.SYS_BPF, progLoad, uintptr(unsafe.Pointer(&attr)), 48)
		// The verifier gives up with EAGAIN while a signal is pending, and Go's
		// preemption sends them.
		if errno != unix.EAGAIN && errno != unix.EINTR {
			break
		}
	}
	if errno != 0 {
		return fmt.Sprintf("load a device program: %v", errno)
	}
	if err := unix.Close(int(fd)); err != nil {
		return err.Error()
	}
	return ""
}

// HardenVar allows tests to turn net.core.bpf_jit_harden up for a while. That
// is a setting of the whole machine, so it takes a word from its owner.
const HardenVar = "GPUHOOK_MAY_HARDEN"

// Harden needs leave and right to change net.core.bpf_jit_harden.
func Harden(t T) {
	t.Helper()
	reason := ""
	if os.Getenv(HardenVar) != "1" {
		reason = HardenVar + " is not 1, and net.core.bpf_jit_harden belongs to the whole machine"
	} else if err := unix.Access("/proc/sys/net/core/bpf_jit_harden", unix.W_OK); err != nil {
		reason = fmt.Sprintf("write net.core.bpf_jit_harden: %v", err)
	}
	check(t, "harden", reason)
}

// GPU needs a loaded NVIDIA driver with at least one GPU.
func GPU(t T) {
	t.Helper()
	check(t, "gpu", gpuReason("/proc/driver/nvidia"))
}

func gpuReason(dir string) string {
	gpus, err := os.ReadDir(dir + "/gpus")
	switch {
	case err != nil:
		return "no NVIDIA driver is loaded"
	case len(gpus) == 0:
		return "the NVIDIA driver found no GPU"
	}
	if _, err := os.Stat(dir + "/version"); err != nil {
		return err.Error()
	}
	return ""
}

// lineWith returns the first line of text that starts with prefix.
func lineWith(text []byte, prefix string) string {
	s := bufio.NewScanner(bytes.NewReader(text))
	for s.Scan() {
		if strings.HasPrefix(s.Text(), prefix) {
			return s.Text()
		}
	}
	return ""
}
