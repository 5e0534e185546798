package devices

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

func TestTegraChip(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, compatible, want string }{
		{"Orin", "nvidia,p3737-0000+p3701-0005\x00nvidia,tegra234\x00", "tegra234"},
		{"no NUL", "nvidia,tegra194", "tegra194"},
		{"another board", "raspberrypi,4-model-b\x00brcm,bcm2711\x00", ""},
		{"empty", "", ""},
		{"no number", "nvidia,tegra\x00nvidia,tegra-x\x00", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tegraChip([]byte(tt.compatible)); got != tt.want {
				t.Errorf("tegraChip(%q) = %q, want %q", tt.compatible, got, tt.want)
			}
		})
	}
}

func TestReadJetson(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	h := HostAt(root)
	if inv, ok := ReadJetson(h); ok {
		t.Fatalf("an empty host is a Jetson: %v", inv)
	}
	dir := filepath.Join(root, "proc/device-tree")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"compatible": "nvidia,p3737-0000+p3701-0005\x00nvidia,tegra234\x00", "model": "NVIDIA Jetson AGX Orin\x00",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inv, ok := ReadJetson(h)
	if !ok {
		t.Fatal("no Jetson")
	}
	want := []GPU{{BusID: "tegra234", Minor: NoMinor, Model: "NVIDIA Jetson AGX Orin", Class: Tegra, Brand: "tegra"}}
	if diff := cmp.Diff(want, inv.GPUs); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	if _, err := inv.Select([]string{"all"}, []string{"all"}); err != nil {
		t.Errorf("Select(all): %v", err)
	}
}

func TestReadWSL(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := t.TempDir()
	h := HostAt(root)
	if _, ok := ReadWSL(h); ok {
		t.Fatal("an empty host is WSL")
	}
	if err := os.Mkdir(h.Dev, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mknod(h.Dev+"/dxg", unix.S_IFCHR|0o666, int(unix.Mkdev(10, 63))); err != nil {
		t.Fatal(err)
	}
	inv, ok := ReadWSL(h)
	if !ok || inv.Kind != WSL || len(inv.GPUs) != 1 {
		t.Fatalf("ReadWSL = %+v, %v", inv, ok)
	}
	if _, err := inv.Select([]string{"0"}, []string{"all"}); err != nil {
		t.Errorf("Select(0): %v", err)
	}
	nodes, err := WSLNodes(h)
	if err != nil || len(nodes) != 1 || nodes[0].Path != "/dev/dxg" || nodes[0].Major != 10 || nodes[0].Minor != 63 {
		t.Errorf("WSLNodes = %v, %v", nodes, err)
	}
	for _, path := range []string{"/dev/../etc/passwd", "/etc/passwd", "/dev/", "/dev/none", "dxg"} {
		if n, err := HostNode(h, path); err == nil {
			t.Errorf("HostNode(%q) = %v", path, n)
		}
	}
}
