package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestCDI makes the specification of a stand-in host, lets the CDI project's own
// code inject two devices as an engine does, and runs the result: both GPUs are
// there, no third, by one run of the hook.
func TestCDI(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	for _, c := range combinations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inner := c.runtime(t)
			b := wrappedBundle(t, inner, host, lab.Options{
				// The image asks for all of them: what was named decides.
				Env: []string{"NVIDIA_VISIBLE_DEVICES=all"}, Args: witnessOf(mainJobQuestions(), ""),
			})
			inject(t, b, "nvidia.com/gpu=0", "nvidia.com/gpu="+host.GPUs[2].UUID)
			got := lab.Run(t, wrapped(t, inner, b), b, lab.Box{Cgroups: c.cgroups})
			if got.Code != 0 {
				t.Fatalf("%s ended with %d: %s\nlog:\n%s", c.name, got.Code, got.Stderr, got.Log)
			}
			wantErrnos(t, got.Facts, map[string]syscall.Errno{
				"stat:/dev/nvidia0": 0, "stat:/dev/nvidia1": syscall.ENOENT, "stat:/dev/nvidia2": 0, "stat:/dev/nvidia3": syscall.ENOENT,
				"open:/dev/nvidia0": syscall.ENXIO, "open:/dev/nvidia2": syscall.ENXIO, "open:/dev/nvidiactl": syscall.ENXIO,
				"open:/dev/nvidia-uvm": syscall.ENXIO, "node:/tmp/one:195:1": syscall.EPERM,
			})
			wantDriver(t, got.Facts, 12020, "/usr/local/nvidia/lib64/libcuda.so.1")
			if n := injections(got.Log); n != 1 {
				t.Errorf("the hook gave GPUs %d times, want once:\n%s", n, got.Log)
			}
			if len(b.Spec.Hooks.CreateRuntime) != 2 || strings.Count(got.Log, "source=cdi") != 1 {
				t.Errorf("%d entries, log:\n%s", len(b.Spec.Hooks.CreateRuntime), got.Log)
			}
		})
	}
}

// inject does what an engine does for --device.
func inject(t *testing.T, b *lab.Bundle, devices ...string) {
	t.Helper()
	dir := filepath.Join(b.Dir, "cdi")
	out, err := exec.Command(lab.Hook(t), append(slices.Clone(b.Hook[1:]), "cdi")...).Output()
	if err != nil {
		t.Fatalf("gpu-hook cdi: %v", err)
	}
	lab.Write(t, filepath.Join(dir, "gpu-hook.json"), string(out))
	cache, err := cdi.NewCache(cdi.WithSpecDirs(dir), cdi.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	if errs := cache.GetErrors(); len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, out)
	}
	text, err := os.ReadFile(filepath.Join(b.Dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	b.Spec = new(specs.Spec)
	if err := json.Unmarshal(text, b.Spec); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.InjectDevices(b.Spec, devices...); err != nil {
		t.Fatal(err)
	}
	b.Save(t)
}
