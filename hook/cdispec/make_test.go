package cdispec

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/fault"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func uuid(n int) string { return fmt.Sprintf("GPU-5d0f1e0a-0000-4c3b-9d2e-7f6a8b9c0d%02x", n) }

// standIn is a host with GPUs, the last one without UUID, and one MIG device
// on the first. It has no nodes: whoever runs the test may not be able to make
// them.
func standIn(t *testing.T, gpus, gid int) Options {
	t.Helper()
	dir := t.TempDir()
	mode := 0o666
	if gid != 0 {
		mode = 0o660
	}
	driver := filepath.Join(dir, "proc/driver/nvidia")
	write(t, driver+"/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Jan 14 17:08:33 UTC 2025\n")
	write(t, driver+"/params", fmt.Sprintf("ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: %d\nDeviceFileMode: %d\n", gid, mode))
	for i := range gpus {
		id := uuid(i)
		if i == gpus-1 && gpus > 1 {
			id = "GPU-????????-????-????-????-????????????"
		}
		bus := fmt.Sprintf("0000:%02x:00.0", i+1)
		write(t, driver+"/gpus/"+bus+"/information", fmt.Sprintf("Model: \t\t NVIDIA A100-SXM4-80GB\nGPU UUID: \t %s\nBus Location: \t %s\nDevice Minor: \t %d\nGPU Excluded:\t No\n", id, bus, i))
		write(t, filepath.Join(dir, "sys/bus/pci/devices", bus, "vendor"), "0x10de\n")
		write(t, filepath.Join(dir, "sys/bus/pci/devices", bus, "device"), "0x20b0\n")
		write(t, filepath.Join(dir, "sys/bus/pci/devices", bus, "class"), "0x030200\n")
	}
	write(t, driver+"/capabilities/gpu0/mig/gi2/access", "DeviceFileMinor: 21\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
	write(t, driver+"/capabilities/gpu0/mig/gi2/ci0/access", "DeviceFileMinor: 22\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
	write(t, filepath.Join(dir, "proc/devices"), "Character devices:\n195 nvidia\n237 nvidia-caps\n510 nvidia-uvm\n\nBlock devices:\n")
	write(t, filepath.Join(dir, "config.toml"), "load-kernel-modules = false\n[log]\nfile = \"\"\n")
	if err := os.Mkdir(filepath.Join(dir, "dev"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Options{Hook: hook.Options{ConfigPath: filepath.Join(dir, "config.toml"), HostRoot: dir}, Self: "/usr/bin/gpu-hook"}
}

func names(spec *specs.Spec) []string {
	var out []string
	for _, d := range spec.Devices {
		out = append(out, d.Name)
	}
	return out
}

func paths(nodes []*specs.DeviceNode) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Path)
	}
	return out
}

// validate lets the CDI project's own packages read the specification, as an
// engine does, and gives the registry.
func validate(t *testing.T, spec *specs.Spec) *cdi.Cache {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "gpu-hook.json"), string(text))
	cache, err := cdi.NewCache(cdi.WithSpecDirs(dir), cdi.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Refresh(); err != nil {
		t.Fatalf("the CDI module refuses the specification: %v\n%s", err, text)
	}
	if errs := cache.GetErrors(); len(errs) > 0 {
		t.Fatalf("the CDI module refuses the specification: %v\n%s", errs, text)
	}
	return cache
}

func TestMake(t *testing.T) {
	t.Parallel()
	o := standIn(t, 2, 0)
	spec, warnings, err := Make(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0", uuid(0), "0:0", "1", "all"}, names(spec)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if spec.Version != "0.5.0" || spec.Kind != "nvidia.com/gpu" {
		t.Errorf("version %s, kind %s", spec.Version, spec.Kind)
	}
	if diff := cmp.Diff([]string{"NVIDIA_VISIBLE_DEVICES=void"}, spec.ContainerEdits.Env); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	arguments := map[string]string{}
	for _, d := range spec.Devices {
		h := d.ContainerEdits.Hooks[0]
		if h.HookName != "createRuntime" || h.Path != "/usr/bin/gpu-hook" || h.Args[0] != "gpu-hook" || len(h.Env) != 1 || !strings.HasPrefix(h.Env[0], "PATH=") {
			t.Errorf("hook of %s: %+v", d.Name, h)
		}
		arguments[d.Name] = strings.Join(h.Args[slices.Index(h.Args, "createRuntime"):], " ")
	}
	want := map[string]string{
		"0": "createRuntime --device " + uuid(0), uuid(0): "createRuntime --device " + uuid(0),
		"0:0": "createRuntime --device MIG-" + uuid(0) + "/2/0", "1": "createRuntime --device 1", "all": "createRuntime --device all",
	}
	if diff := cmp.Diff(want, arguments); diff != "" {
		t.Errorf("hook arguments (-want +got):\n%s", diff)
	}
	if got := strings.Join(paths(spec.ContainerEdits.DeviceNodes), " "); got != "/dev/nvidiactl" {
		t.Errorf("nodes of all devices: %s", got)
	}
	if got := strings.Join(paths(spec.Devices[0].ContainerEdits.DeviceNodes), " "); got != "/dev/nvidia0" {
		t.Errorf("nodes of 0: %s", got)
	}
	// nvidia-uvm and the MIG capabilities have majors that change: without a
	// node of the host's nobody could find out their numbers later.
	if !slices.ContainsFunc(warnings, func(w hook.Warning) bool {
		return w.Code == "node-not-listed" && strings.Contains(w.Message, "/dev/nvidia-uvm,")
	}) {
		t.Errorf("warnings: %v", warnings)
	}
	node := spec.Devices[0].ContainerEdits.DeviceNodes[0]
	if node.Type != "c" || node.Major != 195 || node.Minor != 0 || *node.FileMode != 0o666 || *node.UID != 0 || *node.GID != 0 || node.Permissions != "rw" {
		t.Errorf("node %+v", node)
	}
}

// TestInject injects devices with the CDI project's own code and looks at what
// an engine would give a runtime.
func TestInject(t *testing.T) {
	t.Parallel()
	o := standIn(t, 3, 0)
	spec, _, err := Make(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	cache := validate(t, spec)
	container := &oci.Spec{Process: &oci.Process{Env: []string{"NVIDIA_VISIBLE_DEVICES=all", "A=1"}, User: oci.User{UID: 1000, GID: 1000}}}
	if _, err := cache.InjectDevices(container, "nvidia.com/gpu=0", "nvidia.com/gpu="+uuid(1)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"NVIDIA_VISIBLE_DEVICES=void", "A=1"}, container.Process.Env); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	var nodes []string
	for _, d := range container.Linux.Devices {
		nodes = append(nodes, d.Path)
		if *d.UID != 0 || *d.GID != 0 {
			t.Errorf("%s belongs to %d:%d, want 0:0", d.Path, *d.UID, *d.GID)
		}
	}
	slices.Sort(nodes)
	if diff := cmp.Diff([]string{"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"}, nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	for _, r := range container.Linux.Resources.Devices {
		if r.Access != "rw" || r.Major == nil || r.Minor == nil {
			t.Errorf("rule %+v is not exact", r)
		}
	}
	if n := len(container.Hooks.CreateRuntime); n != 2 {
		t.Errorf("%d hooks, want one for each device", n)
	}
	if _, err := cache.InjectDevices(container, "nvidia.com/gpu=7"); err == nil {
		t.Error("an unknown device is injected")
	}
}

func TestMakeVersions(t *testing.T) {
	t.Parallel()
	world, group := standIn(t, 1, 0), standIn(t, 1, 44)
	tests := []struct {
		name, version string
		options       Options
		want          string // "" = an error
	}{
		{"least", "", world, "0.5.0"},
		{"short", "0.6", world, "0.6.0"},
		{"with-v", "v1.0.0", world, "1.0.0"},
		{"newest", Newest, world, specs.CurrentVersion},
		{"group", "", group, "0.7.0"},
		{"group-newest", Newest, group, specs.CurrentVersion},
		{"group-too-old", "0.5.0", group, ""},
		{"too-old", "0.4.0", world, ""},
		{"unknown", "9.9.9", world, ""},
		{"nonsense", "x", world, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := tt.options
			o.Version = tt.version
			spec, _, err := Make(t.Context(), o)
			if tt.want == "" {
				if spec != nil || fault.CodeOf(err) != fault.Usage || fault.CureOf(err) == "" {
					t.Errorf("Make = %v, %v; want an error 2 with its cure", spec, err)
				}
				return
			}
			if err != nil || spec.Version != tt.want {
				t.Fatalf("Make = %v, %v, want version %s", spec, err, tt.want)
			}
			validate(t, spec)
			if group := strings.HasPrefix(tt.name, "group"); group != (len(spec.ContainerEdits.AdditionalGIDs) == 1) {
				t.Errorf("additional gids %v", spec.ContainerEdits.AdditionalGIDs)
			}
		})
	}
}

func TestMakeKinds(t *testing.T) {
	t.Parallel()
	o := standIn(t, 1, 0)
	for _, kind := range []string{"example.com/gpu", "a/b", "nvidia.com/gpu.shared"} {
		o.Kind = kind
		spec, _, err := Make(t.Context(), o)
		if err != nil || spec.Kind != kind {
			t.Fatalf("Make of kind %s = %v", kind, err)
		}
		validate(t, spec)
	}
	for _, kind := range []string{"gpu", "/gpu", "nvidia.com/", "1a/gpu", "a-/gpu", "a/g pu", "a/b/c", "ä/gpu"} {
		o.Kind = kind
		if spec, _, err := Make(t.Context(), o); spec != nil || fault.CodeOf(err) != fault.Usage {
			t.Errorf("Make of kind %q = %v, %v", kind, spec, err)
		}
	}
}

func TestMakeFails(t *testing.T) {
	t.Parallel()
	none := standIn(t, 0, 0)
	if _, _, err := Make(t.Context(), none); fault.CodeOf(err) != fault.Driver {
		t.Errorf("without a GPU: %v, want an error 12", err)
	}
	empty := standIn(t, 1, 0)
	empty.Hook.HostRoot = t.TempDir()
	if _, _, err := Make(t.Context(), empty); fault.CodeOf(err) != fault.Driver {
		t.Errorf("without a driver: %v, want an error 12", err)
	}
	bad := standIn(t, 1, 0)
	write(t, bad.Hook.ConfigPath, "frob = 1\n")
	if _, _, err := Make(t.Context(), bad); fault.CodeOf(err) != fault.Config {
		t.Errorf("with a broken configuration: %v, want an error 19", err)
	}
}

// FuzzCheckKind compares our rule with the CDI module's.
func FuzzCheckKind(f *testing.F) {
	for _, seed := range []string{"nvidia.com/gpu", "a/b", "a-/b", "1/2", "a/b/c", "", "/", "ä/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, kind string) {
		if got, want := checkKind(kind) == nil, validKind(kind); got != want {
			t.Errorf("checkKind(%q) = %v, the CDI module says %v", kind, got, want)
		}
	})
}
