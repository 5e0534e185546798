package lab

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Node makes or replaces a node of the host's /dev, owned by root.
func (h *StandIn) Node(t T, name string, major, minor int, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(h.Dir, "dev", name)
	mkdir(t, filepath.Dir(path), ".")
	_ = os.Remove(path)
	if err := unix.Mknod(path, unix.S_IFCHR|uint32(mode), int(unix.Mkdev(uint32(major), uint32(minor)))); err != nil {
		t.Fatalf("mknod %s: %v", path, err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatalf("%v", err)
	}
}

// Major adds a line to the host's /proc/devices.
func (h *StandIn) Major(t T, major int, name string) {
	t.Helper()
	file := filepath.Join(h.Dir, "proc/devices")
	text := Content(file)
	Write(t, file, strings.Replace(text, "\n\nBlock devices:", fmt.Sprintf("\n%d %s\n\nBlock devices:", major, name), 1))
}

// IMEX makes channels.
func (h *StandIn) IMEX(t T, channels ...int) {
	t.Helper()
	h.Major(t, IMEXMajor, "nvidia-caps-imex-channels")
	for _, n := range channels {
		h.Node(t, fmt.Sprintf("nvidia-caps-imex-channels/channel%d", n), IMEXMajor, n, 0o666)
	}
}

// DRI gives each GPU its card and render node, mode 0660 of group 44, numbered
// from the last GPU to the first: the order of cards is not that of GPUs.
func (h *StandIn) DRI(t T) {
	t.Helper()
	for i, g := range h.GPUs {
		n := len(h.GPUs) - 1 - i
		for kind, minor := range map[string]int{fmt.Sprintf("card%d", n): n, fmt.Sprintf("renderD%d", 128+n): 128 + n} {
			Write(t, filepath.Join(h.Dir, "sys/bus/pci/devices", g.BusID, "drm", kind, "dev"), fmt.Sprintf("%d:%d\n", DRIMajor, minor))
			h.Node(t, "dri/"+kind, DRIMajor, minor, 0o660)
			if err := os.Chown(filepath.Join(h.Dir, "dev/dri", kind), 0, 44); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
}

// FeatureNodes makes the nodes of GPUDirect Storage, MOFED, GDRCopy and NVSwitch
// below a /dev of the host; dev is "dev", or that of a driver root.
func (h *StandIn) FeatureNodes(t T, dev string) {
	t.Helper()
	for i, name := range []string{
		"nvidia-fs0", "nvidia-fs1", "infiniband/uverbs0", "infiniband/rdma_cm", "gdrdrv", "nvidia-nvswitchctl", "nvidia-nvswitch0",
	} {
		h.Node(t, "../"+dev+"/"+name, fabric, i, 0o666)
	}
}

// Socket listens on a socket of the host until the test ends.
func (h *StandIn) Socket(t T, name string) {
	t.Helper()
	path := filepath.Join(h.Dir, name)
	mkdir(t, filepath.Dir(path), ".")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
}
