package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// wrapped is a runtime behind "gpu-hook runtime", as an engine has it: one path
// and no arguments of its own.
func wrapped(t *testing.T, inner lab.Runtime, b *lab.Bundle) lab.Runtime {
	t.Helper()
	script := filepath.Join(b.Dir, "gpu-runtime.sh")
	text := fmt.Sprintf("#!/bin/sh\nexec %s %s runtime \"$@\"\n", lab.Hook(t), strings.Join(b.Hook[1:], " "))
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return lab.Runtime{Name: "wrapped-" + inner.Name, Path: script, Args: inner.Args}
}

// wrappedBundle is a bundle that has no hook unless the options name stages:
// the wrapper has to add it.
func wrappedBundle(t *testing.T, inner lab.Runtime, host *lab.StandIn, o lab.Options) *lab.Bundle {
	t.Helper()
	o.Host, o.Overlay = host, true
	o.Config = "[runtime]\nruntimes = [\"" + inner.Path + "\"]\n"
	if o.Stages == nil {
		o.Stages = []string{}
	}
	return lab.NewBundle(t, lab.Root(t, lab.Glibc), o)
}

// injections counts how often the hook gave GPUs.
func injections(log string) int { return strings.Count(log, "container got its GPUs") }

// TestWrapper runs the main job through the runtime wrapper; and once more with
// the hook that Docker's --gpus adds, which must stay the only one.
func TestWrapper(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	for _, c := range combinations() {
		for _, way := range []string{"alone", "beside-a-hook"} {
			t.Run(c.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				inner := c.runtime(t)
				o := lab.Options{Env: askTwo(), Args: witnessOf(mainJobQuestions(), "")}
				if way != "alone" {
					o.Stages = []string{"prestart"}
				}
				b := wrappedBundle(t, inner, host, o)
				got := lab.Run(t, wrapped(t, inner, b), b, lab.Box{Cgroups: c.cgroups})
				if got.Code != 0 {
					t.Fatalf("%s ended with %d: %s\nlog:\n%s", c.name, got.Code, got.Stderr, got.Log)
				}
				wantErrnos(t, got.Facts, map[string]syscall.Errno{
					"stat:/dev/nvidia0": 0, "stat:/dev/nvidia1": syscall.ENOENT, "stat:/dev/nvidia2": 0,
					"open:/dev/nvidia0": syscall.ENXIO, "open:/dev/nvidia2": syscall.ENXIO, "open:/dev/nvidiactl": syscall.ENXIO,
					"open:/dev/nvidia-uvm": syscall.ENXIO,
					"node:/tmp/one:195:1":  syscall.EPERM, "node:/tmp/two:195:2": syscall.ENXIO,
				})
				wantNode(t, got.Facts["stat:/dev/nvidia2"], 195, 2)
				wantDriver(t, got.Facts, 12020, "/usr/local/nvidia/lib64/libcuda.so.1")
				if n := injections(got.Log); n != 1 {
					t.Errorf("the hook gave GPUs %d times, want once:\n%s", n, got.Log)
				}
			})
		}
	}
}

// TestWrapperTellsTheRuntime takes the hook out of the edited bundle again: the
// runtime alone makes the nodes and opens the GPUs, which is what survives a
// reload of systemd.
func TestWrapperTellsTheRuntime(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	for _, c := range combinations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inner := c.runtime(t)
			b := wrappedBundle(t, inner, host, lab.Options{Env: askTwo(), Args: witnessOf([]string{
				"open:/dev/nvidia0", "open:/dev/nvidia1", "open:/dev/nvidia2", "open:/dev/nvidiactl", "open:/dev/nvidia-uvm", "node:/tmp/one:195:1",
			}, "")})
			edit(t, b)
			b.Spec.Hooks = nil
			b.Save(t)
			got := lab.Run(t, inner, b, lab.Box{Cgroups: c.cgroups})
			if got.Code != 0 {
				t.Fatalf("%s ended with %d: %s", c.name, got.Code, got.Stderr)
			}
			wantErrnos(t, got.Facts, map[string]syscall.Errno{
				"open:/dev/nvidia0": syscall.ENXIO, "open:/dev/nvidia1": syscall.ENOENT, "open:/dev/nvidia2": syscall.ENXIO,
				"open:/dev/nvidiactl": syscall.ENXIO, "open:/dev/nvidia-uvm": syscall.ENXIO, "node:/tmp/one:195:1": syscall.EPERM,
			})
		})
	}
}

// edit lets the wrapper edit a bundle and reads the result; the runtime is a
// program that does nothing.
func edit(t *testing.T, b *lab.Bundle) {
	t.Helper()
	config := filepath.Join(b.Dir, "edit.toml")
	lab.Write(t, config, "load-kernel-modules = false\n[runtime]\nruntimes = [\"true\"]\n[log]\nfile = \"\"\n")
	args := slices.Clone(b.Hook[1:])
	args[slices.Index(args, "--config")+1] = config
	args = append(args, "runtime", "create", "--bundle", b.Dir, b.ID)
	if out, err := exec.Command(lab.Hook(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(b.Dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	b.Spec = new(specs.Spec)
	if err := json.Unmarshal(text, b.Spec); err != nil {
		t.Fatal(err)
	}
}

// programsVar makes the test program print the names of a cgroup's device
// programs: the directory is to be seen only in the box.
const programsVar = "GPUHOOK_TEST_PROGRAMS"

func printPrograms(dir string) int {
	cgroup, err := os.Open(dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer cgroup.Close()
	list, err := bpf.Query(cgroup)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, id := range list.IDs {
		p, err := bpf.Open(id)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Printf("program %q\n", p.Name)
		p.Close()
	}
	return 0
}

// TestWrapperLeavesNothingToSwap looks at the device programs of a running
// container: behind the wrapper they are the runtime's own, since the hook
// found every rule granted.
func TestWrapperLeavesNothingToSwap(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, runtime := range []func(lab.T) lab.Runtime{lab.Runc, lab.RuncModule} {
		inner := runtime(t)
		for _, tt := range []struct {
			name   string
			stages []string
			want   int // programs of ours
		}{{"hook", []string{"createRuntime"}, 1}, {"wrapper", []string{}, 0}} {
			t.Run(inner.Name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				b := wrappedBundle(t, inner, host, lab.Options{Env: askTwo(), Args: []string{"/bin/sleep", "100"}, Stages: tt.stages})
				rt := inner
				if tt.name == "wrapper" {
					rt = wrapped(t, inner, b)
				}
				got := lab.Run(t, rt, b, lab.Box{Cgroups: lab.V2, While: programsVar + "=/sys/fs/cgroup/$ID " + self})
				if got.Code != 0 || !strings.Contains(got.Stdout, "program") {
					t.Fatalf("ended with %d: %s%s", got.Code, got.Stdout, got.Stderr)
				}
				if n := strings.Count(got.Stdout, `"gpu_hook"`); n != tt.want {
					t.Errorf("%d programs are ours, want %d:\n%s", n, tt.want, got.Stdout)
				}
			})
		}
	}
}

// TestWrapperKeepsRulesInUpdates sends what containerd's CRI plugin sends with
// every update: a device list that denies all. crun takes it at its word.
func TestWrapperKeepsRulesInUpdates(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	for _, c := range combinations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inner := c.runtime(t)
			b := wrappedBundle(t, inner, host, lab.Options{Env: askTwo(), Args: []string{"/bin/sleep", "100"}})
			lab.Write(t, filepath.Join(b.Dir, "update.json"), `{"devices":[{"allow":false,"access":"rwm"}],"memory":{},"cpu":{}}`)
			look := "$RUNTIME exec $ID /bin/witness open:/dev/nvidia0 open:/dev/nvidiactl\n"
			got := lab.Run(t, wrapped(t, inner, b), b, lab.Box{Cgroups: c.cgroups, While: "set -e\n" +
				"$RUNTIME update --resources=- $ID <update.json\n" + look +
				"$RUNTIME update --resources update.json $ID\n" + look})
			if got.Code != 0 {
				t.Fatalf("%s ended with %d: %s%s\n%s", c.name, got.Code, got.Stdout, got.Stderr, got.Log)
			}
			if n := strings.Count(got.Stdout, `"errno": 6}`); n != 4 {
				t.Errorf("GPUs open %d times, want 4 (ENXIO):\n%s", n, got.Stdout)
			}
		})
	}
}

// TestWrapperErrorReachesTheEngine: what containerd shows a user is the last
// error in the file that it gives the runtime for its log.
func TestWrapperErrorReachesTheEngine(t *testing.T) {
	t.Parallel()
	host := madeHost(t)
	b := wrappedBundle(t, lab.Runc(t), host, lab.Options{Env: []string{"NVIDIA_VISIBLE_DEVICES=42"}})
	before, err := os.ReadFile(filepath.Join(b.Dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(b.Dir, "log.json")
	args := append(slices.Clone(b.Hook[1:]), "runtime", "--log", log, "--log-format", "json", "create", "--bundle", b.Dir, b.ID)
	out, err := exec.Command(lab.Hook(t), args...).CombinedOutput()
	var exit *exec.ExitError
	if !asExit(err, &exit) || exit.ExitCode() != 11 {
		t.Fatalf("create ended with %v: %s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var line struct{ Level, Msg string }
	if err := json.Unmarshal(text, &line); err != nil || line.Level != "error" || line.Msg+"\n" != string(out) || !strings.Contains(line.Msg, "42") {
		t.Errorf("log %q (%v), stderr %q", text, err, out)
	}
	after, err := os.ReadFile(filepath.Join(b.Dir, "config.json"))
	if err != nil || cmp.Diff(string(before), string(after)) != "" {
		t.Errorf("the bundle changed: %v", err)
	}
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError) //nolint:errorlint // as Cmd.Run returns it
	*exit = e
	return ok
}

// TestWrapperReadOnlyBundle: where the hook has to be added and cannot be, the
// container does not start and the line says why; where it is there already,
// the runtime gets the bundle as it is.
func TestWrapperReadOnlyBundle(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	for _, tt := range []struct {
		name   string
		stages []string
		env    []string
		want   int
	}{
		{"no-hook", []string{}, askTwo(), 10},
		{"hook-there", []string{"prestart"}, askTwo(), 0},
		{"no-GPU", []string{}, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := wrappedBundle(t, lab.Runtime{Path: "true"}, host, lab.Options{Env: tt.env, Stages: tt.stages, Hook: lab.Hook(t)})
			log := filepath.Join(lab.Temp(t), "log.json")
			got := lab.InBox(t, lab.Machine, fmt.Sprintf("mount --bind %[1]s %[1]s; mount -o remount,bind,ro %[1]s\n%[2]s %[3]s runtime --log %[4]s --log-format json create --bundle %[1]s %[5]s",
				b.Dir, lab.Hook(t), strings.Join(b.Hook[1:], " "), log, b.ID))
			if got.Code != tt.want {
				t.Fatalf("ended with %d, want %d: %s", got.Code, tt.want, got.Stderr)
			}
			if tt.want == 0 {
				if got.Stderr != "" {
					t.Errorf("stderr %q", got.Stderr)
				}
				return
			}
			wantOneLine(t, got, tt.want)
			text, err := os.ReadFile(log)
			if err != nil || !strings.Contains(got.Stderr, "read-only file system") || !strings.Contains(string(text), "read-only file system") {
				t.Errorf("stderr %q, the engine reads %q (%v)", got.Stderr, text, err)
			}
		})
	}
}
