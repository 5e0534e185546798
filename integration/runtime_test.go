package integration

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// mainJobQuestions ask everything that the main job promises. Nodes come
// first: the real libcuda makes missing ones itself where it may.
func mainJobQuestions() []string {
	return []string{
		"stat:/dev/nvidia0", "stat:/dev/nvidia1", "stat:/dev/nvidia2", "stat:/dev/nvidia3", "stat:/dev/nvidia7", "stat:/dev/nvidia-modeset",
		"open:/dev/nvidia0", "open:/dev/nvidia2", "open:/dev/nvidiactl", "open:/dev/nvidia-uvm", "open:/dev/nvidia-uvm-tools",
		"node:/tmp/one:195:1", "node:/tmp/modeset:195:254", "node:/tmp/two:195:2", "node:/tmp/caps:237:1",
		"stat:/usr/local/nvidia/lib64/libcuda.so.1", "stat:/usr/bin/nvidia-smi",
		"write:/usr/local/nvidia/lib64/x", "write:/usr/local/nvidia/lib64/libcuda.so.1",
		"driver:libcuda.so.1", "load:libnvidia-ml.so.1", "load:libnvcuvid.so.1", "load:libnvidia-encode.so.1", "load:libnvidia-opencl.so.1",
		"runtime:/cudart/libcudart.so.11.0", "nvml:libnvidia-ml.so.1",
	}
}

// TestMainJob is the main job of gpu-hook: a container that asks for two of
// eight GPUs gets these two and no other, and the host's driver works in it.
func TestMainJob(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := host535(t, lab.Debian)
	root := lab.Root(t, lab.Glibc)
	cudart := lab.Cudart(t, "11.8")
	driver := lab.Tree(t, host.Dir)
	for _, c := range combinations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			runtime := c.runtime(t)
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Env: askTwo(),
				Args:   witnessOf(mainJobQuestions(), "ldconfig -p"),
				Mounts: nil,
				Edit:   nil,
			})
			b.Spec.Mounts = append(b.Spec.Mounts, lab.Bind(cudart, "/cudart", "ro"))
			b.Save(t)
			before := lab.HostMounts(t)
			got := lab.Run(t, runtime, b, lab.Box{Cgroups: c.cgroups})
			if got.Code != 0 {
				t.Fatalf("%s ended with %d: %s\nlog:\n%s", c.name, got.Code, got.Stderr, got.Log)
			}
			wantErrnos(t, got.Facts, map[string]syscall.Errno{
				"stat:/dev/nvidia0": 0, "stat:/dev/nvidia1": syscall.ENOENT, "stat:/dev/nvidia2": 0,
				"stat:/dev/nvidia3": syscall.ENOENT, "stat:/dev/nvidia7": syscall.ENOENT, "stat:/dev/nvidia-modeset": syscall.ENOENT,
				"open:/dev/nvidia0": syscall.ENXIO, "open:/dev/nvidia2": syscall.ENXIO, "open:/dev/nvidiactl": syscall.ENXIO,
				"open:/dev/nvidia-uvm": syscall.ENXIO, "open:/dev/nvidia-uvm-tools": syscall.ENXIO,
				"node:/tmp/one:195:1": syscall.EPERM, "node:/tmp/modeset:195:254": syscall.EPERM,
				"node:/tmp/caps:237:1": syscall.EPERM, "node:/tmp/two:195:2": syscall.ENXIO,
				"write:/usr/local/nvidia/lib64/x": syscall.EROFS, "write:/usr/local/nvidia/lib64/libcuda.so.1": syscall.EROFS,
				"stat:/usr/local/nvidia/lib64/libcuda.so.1": 0, "stat:/usr/bin/nvidia-smi": 0,
			})
			wantNode(t, got.Facts["stat:/dev/nvidia2"], 195, 2)
			wantDriver(t, got.Facts, 12020, "/usr/local/nvidia/lib64/libcuda.so.1")
			if f := got.Facts["runtime:/cudart/libcudart.so.11.0"]; f.Code != 100 {
				t.Errorf("cudaGetDeviceCount = %+v, want 100 (no device)", f)
			}
			if f := got.Facts["nvml:libnvidia-ml.so.1"]; f.Code != 9 {
				t.Errorf("nvmlInit_v2 = %+v, want 9 (driver not loaded)", f)
			}
			for _, name := range []string{"libnvidia-ml.so.1", "libnvcuvid.so.1", "libnvidia-encode.so.1", "libnvidia-opencl.so.1"} {
				if f := got.Facts["load:"+name]; f.Error != "" || !strings.HasPrefix(f.Path, "/usr/local/nvidia/lib64/") {
					t.Errorf("load %s = %+v, want it from the private tree", name, f)
				}
			}
			if want := "libcuda.so.1 (libc6,x86-64) => /usr/local/nvidia/lib64/libcuda.so.1"; !strings.Contains(got.Stdout, want) {
				t.Errorf("ldconfig -p has no line %q:\n%s", want, got.Stdout)
			}
			if left := lab.Leftovers(t, b.Upper); left != nil {
				t.Errorf("empty driver files left in the root: %q", left)
			}
			if got.MountsBefore != got.MountsAfter {
				t.Errorf("mounts of the runtime's namespace changed:\n%s", cmp.Diff(got.MountsBefore, got.MountsAfter))
			}
			if after := lab.HostMounts(t); strings.Contains(after, b.Dir) || strings.Contains(after, "gpu-hook ") && !strings.Contains(before, "gpu-hook ") {
				t.Errorf("mounts of ours on the machine:\n%s", after)
			}
		})
	}
	t.Cleanup(func() { wantUnchanged(t, "the stand-in host", driver, lab.Tree(t, host.Dir)) })
}

// wantNode checks a device node of ours: world-accessible, owned by root.
func wantNode(t *testing.T, got lab.Fact, major, minor int) {
	t.Helper()
	want := lab.Fact{
		Op: "stat", Arg: got.Arg, Type: syscall.S_IFCHR, Mode: 0o666, Major: major, Minor: minor,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", got.Arg, diff)
	}
}

// wantDriver checks which libcuda the loader took and what it is.
func wantDriver(t *testing.T, facts lab.Facts, version int, path string) {
	t.Helper()
	got := facts["driver:libcuda.so.1"]
	if got.Code != 0 || got.Value != version || got.Error != "" {
		t.Errorf("cuDriverGetVersion = %+v, want %d", got, version)
	}
	if path != "" && got.Path != path {
		t.Errorf("the loader took %q, want %q", got.Path, path)
	}
}

// TestRulesAreExact reads the rules back that cgroup v1 keeps: the nodes given
// and no other, for reading and writing only.
func TestRulesAreExact(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Cgroup1(t)
	host := madeHost(t)
	b := lab.NewBundle(t, lab.Root(t, lab.Glibc), lab.Options{
		Host: host, Overlay: true, Env: askTwo(), Args: []string{"/bin/sleep", "100"},
	})
	list := func(env []string) []string {
		b.Spec.Process.Env = append(b.Spec.Process.Env[:1], env...)
		b.Save(t)
		got := lab.Run(t, lab.Runc(t), b, lab.Box{
			Cgroups: lab.V1,
			While:   "cat /sys/fs/cgroup/devices/$ID/devices.list",
		})
		if got.Code != 0 {
			t.Fatalf("runc ended with %d: %s", got.Code, got.Stderr)
		}
		lines := strings.Split(strings.TrimSpace(got.Stdout), "\n")
		slices.Sort(lines)
		return slices.Compact(lines)
	}
	without, with := list(nil), list(askTwo())
	var added []string
	for _, line := range with {
		if !slices.Contains(without, line) {
			added = append(added, line)
		}
	}
	want := []string{"c 195:0 rw", "c 195:2 rw", "c 195:255 rw", "c 510:0 rw", "c 510:1 rw"}
	if diff := cmp.Diff(want, added); diff != "" {
		t.Errorf("rules added (-want +got):\n%s", diff)
	}
}

// TestStages runs the hook at either stage, at both, and twice at one: a
// second run changes nothing.
func TestStages(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	host := madeHost(t)
	root := lab.Root(t, lab.Glibc)
	type outcome struct {
		Facts lab.Facts
		Upper map[string]string
	}
	questions := []string{
		"stat:/dev/nvidia0", "stat:/dev/nvidia2", "stat:/dev/nvidia1", "open:/dev/nvidia0", "node:/tmp/n:195:1", "driver:libcuda.so.1",
	}
	stages := map[string][]string{
		"prestart": {"prestart"}, "createRuntime": {"createRuntime"}, "both": {"prestart", "createRuntime"}, "twice": {"prestart", "prestart"},
	}
	for _, c := range combinations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			runtime := c.runtime(t)
			outcomes := map[string]outcome{}
			for name, list := range stages {
				b := lab.NewBundle(t, root, lab.Options{
					Host: host, Overlay: true, Env: askTwo(), Stages: list,
					Args: witnessOf(questions, "grep -c ' /usr/local/nvidia ' /proc/self/mountinfo"),
				})
				got := lab.Run(t, runtime, b, lab.Box{Cgroups: c.cgroups})
				if got.Code != 0 {
					t.Fatalf("%s ended with %d: %s", name, got.Code, got.Stderr)
				}
				if !strings.HasSuffix(got.Stdout, "\n1\n") {
					t.Errorf("%s: want one mount at /usr/local/nvidia:\n%s", name, got.Stdout)
				}
				wantDriver(t, got.Facts, 12020, "/usr/local/nvidia/lib64/libcuda.so.1")
				outcomes[name] = outcome{got.Facts, upper(t, b)}
			}
			for name := range stages {
				if diff := cmp.Diff(outcomes["prestart"], outcomes[name]); diff != "" {
					t.Errorf("%s differs from one run at prestart:\n%s", name, diff)
				}
			}
		})
	}
}

// upper describes what a container's root kept, without times.
func upper(t *testing.T, b *lab.Bundle) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, text := range lab.Tree(t, b.Upper) {
		head, tail, _ := strings.Cut(text, " changed=")
		_, tail, _ = strings.Cut(tail, " ")
		out[filepath.ToSlash(name)] = head + " " + tail
	}
	return out
}
