package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

func TestPart(t *testing.T) {
	t.Parallel()
	text := "facts\n== nodes\na\nb\n== cache\nc\n"
	for name, want := range map[string]string{"nodes": "a\nb\n", "cache": "c\n", "none": ""} {
		if got := part(text, name); got != want {
			t.Errorf("part(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestOpened(t *testing.T) {
	t.Parallel()
	for errno, want := range map[syscall.Errno]string{
		0:              "open: opens",
		syscall.ENXIO:  "open: the cgroup lets it through; no driver is behind it on this machine",
		syscall.EPERM:  "closed: the cgroup forbids it",
		syscall.ENOMEM: "cannot allocate memory",
	} {
		if got := opened(int(errno)); got != want {
			t.Errorf("opened(%d) = %q, want %q", errno, got, want)
		}
	}
}

func TestRealMinors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lab.Write(t, filepath.Join(dir, "0000:41:00.0/information"), "Model: \t x\nDevice Minor: \t 0\n")
	lab.Write(t, filepath.Join(dir, "0000:01:00.0/information"), "Device Minor: \t 3\n")
	lab.Write(t, filepath.Join(dir, "0000:02:00.0/information"), "Device Minor: \t nonsense\n")
	if diff := cmp.Diff([]int{3, 0}, realMinors(dir)); diff != "" {
		t.Errorf("realMinors (-want +got):\n%s", diff)
	}
}
