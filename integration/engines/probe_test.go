package engines

import (
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// probe is a program of the image: it asks everything that a container with the
// first and the third of four GPUs must find. The nodes come first: the real
// libcuda makes missing ones itself where it may.
const probe = `#!/bin/sh
rm -f /tmp/one
exec /bin/witness stat:/dev/nvidia0 stat:/dev/nvidia1 stat:/dev/nvidia2 stat:/dev/nvidia3 \
	open:/dev/nvidia0 open:/dev/nvidia2 open:/dev/nvidiactl open:/dev/nvidia-uvm node:/tmp/one:195:1 \
	driver:libcuda.so.1 load:libnvidia-ml.so.1
`

// What cuDriverGetVersion says for the drivers that the stand-in hosts have.
const (
	cuda535 = 12020
	cuda550 = 12040
)

// wantGPUs checks what the probe said in a container with two GPUs.
func wantGPUs(t *testing.T, stdout string, cuda int) {
	t.Helper()
	facts := lab.ParseFacts(t, stdout)
	wantErrnos(t, facts, map[string]syscall.Errno{
		"stat:/dev/nvidia0": 0, "stat:/dev/nvidia1": syscall.ENOENT, "stat:/dev/nvidia2": 0, "stat:/dev/nvidia3": syscall.ENOENT,
		"open:/dev/nvidia0": syscall.ENXIO, "open:/dev/nvidia2": syscall.ENXIO,
		"open:/dev/nvidiactl": syscall.ENXIO, "open:/dev/nvidia-uvm": syscall.ENXIO,
		"node:/tmp/one:195:1": syscall.EPERM,
	})
	got := facts["driver:libcuda.so.1"]
	if got.Value != cuda || got.Path != "/usr/local/nvidia/lib64/libcuda.so.1" {
		t.Errorf("the loader took %+v, want a libcuda of %d from the private tree", got, cuda)
	}
	if got := facts["load:libnvidia-ml.so.1"]; got.Error != "" {
		t.Errorf("load libnvidia-ml.so.1: %s", got.Error)
	}
}

// wantClosed checks that the rules of two GPUs are gone or were never there.
func wantClosed(t *testing.T, stdout string) {
	t.Helper()
	wantErrnos(t, lab.ParseFacts(t, stdout), map[string]syscall.Errno{"open:/dev/nvidia0": syscall.EPERM, "open:/dev/nvidia2": syscall.EPERM})
}

// wantNoGPU checks what the probe said in a container without GPUs.
func wantNoGPU(t *testing.T, stdout string) {
	t.Helper()
	facts := lab.ParseFacts(t, stdout)
	wantErrnos(t, facts, map[string]syscall.Errno{
		"stat:/dev/nvidia0": syscall.ENOENT, "stat:/dev/nvidia1": syscall.ENOENT, "stat:/dev/nvidia2": syscall.ENOENT,
		"node:/tmp/one:195:1": syscall.EPERM,
	})
	if got := facts["driver:libcuda.so.1"]; got.Error == "" {
		t.Errorf("the loader took %+v, want no libcuda", got)
	}
}

func wantErrnos(t *testing.T, facts lab.Facts, want map[string]syscall.Errno) {
	t.Helper()
	got := map[string]syscall.Errno{}
	for question := range want {
		fact, ok := facts[question]
		if !ok {
			t.Errorf("the witness was not asked %s", question)
			continue
		}
		got[question] = syscall.Errno(fact.Errno)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errno by question (-want +got):\n%s", diff)
	}
}
