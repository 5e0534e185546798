package integration

import (
	"path/filepath"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// labelOf reads SELinux's attribute of a name, links not followed.
func labelOf(name string) string {
	buf := make([]byte, 256)
	n, err := unix.Lgetxattr(name, "security.selinux", buf)
	if err != nil {
		return err.Error()
	}
	return strings.TrimRight(string(buf[:n]), "\x00")
}

// TestLabels gives a container a mount label. What is made in it has the label,
// on its /dev as well: on a kernel without SELinux root may set the attribute,
// and nobody acts on it. The host's files have none.
func TestLabels(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	const label = "system_u:object_r:container_file_t:s0:c17,c942"
	host := fullHost(t, lab.Debian, 1)
	b := lab.NewBundle(t, lab.Root(t, lab.Glibc), lab.Options{
		Host: host, Overlay: true, Env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=all"}, Config: lab.NoCgroups,
		Edit: func(s *specs.Spec) { s.Linux.MountLabel = label },
	})
	driver := lab.Tree(t, host.Dir)
	made := []string{
		"etc/ld.so.cache", "etc/ld.so.conf", "etc/ld.so.conf.d/00-gpu-hook.conf", "usr/bin/nvidia-smi", "etc/vulkan", "etc/vulkan/icd.d/nvidia_icd.json",
		"dev/nvidia0", "dev/nvidiactl", "dev/nvidia-uvm", "dev/dri", "dev/dri/card0", "dev/dri/by-path/pci-0000:10:00.0-card",
	}
	// The container's /dev is a directory here: its mount goes with the process.
	got := lab.RunDirect(t, b, lab.Direct{DevDir: true})
	if got.Code != 0 {
		t.Fatalf("the hook ended with %d: %s", got.Code, got.Stderr)
	}
	for _, name := range made {
		if got := labelOf(filepath.Join(b.Upper, name)); got != label {
			t.Errorf("label of %s: %q", name, got)
		}
	}
	wantUnchanged(t, "the stand-in host", driver, lab.Tree(t, host.Dir))
	for _, name := range []string{"dev/nvidia0", "etc/OpenCL/vendors/nvidia.icd"} {
		if got := labelOf(filepath.Join(host.Dir, name)); strings.Contains(got, "container_file_t") {
			t.Errorf("label of the host's %s: %q", name, got)
		}
	}
}
