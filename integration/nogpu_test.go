package integration

import (
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestNoGPUAskedFor starts containers that ask for no GPU while everything of
// ours is broken: they must start, silent and untouched.
func TestNoGPUAskedFor(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := lab.Root(t, lab.Glibc)
	broken := func(t *testing.T) *lab.StandIn {
		host := lab.Host(t, lab.HostSpec{NoNodes: true, NoCache: true})
		lab.Write(t, host.Dir+"/proc/driver/nvidia/version", "nonsense")
		return host
	}
	for _, tt := range []struct {
		name   string
		env    []string
		config string
		edit   func(*specs.Spec)
	}{
		{name: "unset"},
		{name: "void", env: []string{"NVIDIA_VISIBLE_DEVICES=void"}},
		{name: "empty", env: []string{"NVIDIA_VISIBLE_DEVICES="}},
		{name: "a later duplicate wins", env: []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=void"}},
		{name: "configuration is no TOML", config: "[[["},
		{name: "configuration has an unknown key", config: "unknown = 1\n"},
		{name: "log file in a missing directory", config: "[log]\nfile = \"/nowhere/at/all/hook.log\"\n"},
		{name: "log file is a directory", config: "[log]\nfile = \"/proc\"\n"},
		{name: "requirements nobody can meet", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=99", "CUDA_VERSION=99.9"}},
		{name: "unknown capabilities", env: []string{"NVIDIA_DRIVER_CAPABILITIES=nonsense"}},
		{name: "odd environment", env: []string{"NVIDIA_=all", "NVIDIA_VISIBLE_DEVICES_X=all"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := lab.NewBundle(t, root, lab.Options{
				Host: broken(t), Overlay: true, Env: tt.env, Config: tt.config, Edit: tt.edit,
				Stages: []string{"prestart", "createRuntime"},
				Args:   []string{"/bin/sh", "-c", "echo started; ls /dev | grep nvidia"},
			})
			got := lab.Run(t, lab.Runc(t), b, lab.Box{})
			if got.Stdout != "started\n" || got.Stderr != "" {
				t.Errorf("stdout %q, want \"started\\n\"; stderr %q", got.Stdout, got.Stderr)
			}
			for name := range lab.Tree(t, b.Upper) {
				if strings.Contains(name, "nvidia") || strings.Contains(name, "ld.so") || strings.Contains(name, "gpu-hook") {
					t.Errorf("the root has %s", name)
				}
			}
		})
	}
}

// TestEntriesWithoutEquals has environment entries that are none; they are
// passed over. Runtimes differ in what they let through, so there is none here.
func TestEntriesWithoutEquals(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := lab.Root(t, lab.Glibc)
	host := madeHost(t)
	for _, tt := range []struct {
		name string
		env  []string
		want bool // the container gets its GPU
	}{
		{name: "with a request", env: []string{"NOEQUALS", "", "=", "NVIDIA_VISIBLE_DEVICES=2", "NVIDIA_VISIBLE_DEVICES"}, want: true},
		{name: "without", env: []string{"NVIDIA_VISIBLE_DEVICES", "NOEQUALS", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := lab.NewBundle(t, root, lab.Options{Host: host, Overlay: true, Config: lab.NoCgroups})
			b.Spec.Process.Env = append(b.Spec.Process.Env, tt.env...)
			b.Save(t)
			got := lab.RunDirect(t, b, lab.Direct{Inside: "ls $ROOT/dev"})
			if got.Code != 0 || got.Stderr != "" {
				t.Errorf("exit code %d, want 0; stderr %q", got.Code, got.Stderr)
			}
			if has := strings.Contains(got.Inside, "nvidia2\n"); has != tt.want || strings.Contains(got.Inside, "nvidia0\n") {
				t.Errorf("nodes %q, want nvidia2 and not nvidia0: %v", got.Inside, tt.want)
			}
		})
	}
}

// TestNoDriver asks for GPUs on a host without a driver: an engine's flag or a
// name is an error, an image's "all" is not.
func TestNoDriver(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := lab.Root(t, lab.Glibc)
	for _, tt := range []struct {
		name, value, config string
		want                int
	}{
		{name: "an image asks for all", value: "all", want: 0},
		{name: "a name", value: "0", want: 12},
		{name: "all with on-missing-driver fail", value: "all", config: "on-missing-driver = \"fail\"\n", want: 12},
		{name: "a name with on-missing-driver warn", value: "0", config: "on-missing-driver = \"warn\"\n", want: 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := lab.Host(t, lab.HostSpec{NoNodes: true})
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Env: []string{"NVIDIA_VISIBLE_DEVICES=" + tt.value}, Config: tt.config + lab.NoCgroups,
			})
			got := lab.RunDirect(t, b, lab.Direct{Inside: "ls $ROOT/dev"})
			if tt.want != 0 {
				wantOneLine(t, got.Result, tt.want)
			} else if got.Code != 0 || got.Stderr != "" {
				t.Errorf("exit code %d, want 0; stderr %q", got.Code, got.Stderr)
			}
			if got.Inside != "" {
				t.Errorf("nodes: %q, want none", got.Inside)
			}
		})
	}
}
