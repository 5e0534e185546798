package request

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

// configured is the default configuration with changes.
func configured(change func(*config.Config)) config.Config {
	c := config.Default()
	if change != nil {
		change(&c)
	}
	return c
}

// outcome is a request in one line: "SOURCE: DEVICES", or "-: REASON" where
// there is none.
func outcome(t *testing.T, r Request, err error) string {
	t.Helper()
	switch {
	case errors.Is(err, ErrNotRequested):
		return "-: " + err.Error()
	case err != nil:
		return "error: " + err.Error()
	case r.None:
		if len(r.Devices) > 0 {
			t.Errorf("None beside devices %q", r.Devices)
		}
		return r.Source + ": (none)"
	}
	return r.Source + ": " + strings.Join(r.Devices, " ")
}

func TestVisibleDevices(t *testing.T) {
	t.Parallel()
	const from, empty, void = "env:NVIDIA_VISIBLE_DEVICES: ", "-: NVIDIA_VISIBLE_DEVICES is empty", "-: NVIDIA_VISIBLE_DEVICES is void"
	tests := []struct {
		name  string
		value string
		want  string
	}{
		{"all", "all", from + "all"},
		{"none", "none", from + "(none)"},
		{"void", "void", void},
		{"empty", "", empty},
		{"blank", "  ", empty},
		{"comma", ",", empty},
		{"commas", " , ,, ", empty},
		{"index", "0", from + "0"},
		{"list", "0,2", from + "0 2"},
		{"order-kept", "2,0", from + "2 0"},
		{"spaces", " 0 , 1 ", from + "0 1"},
		{"empties", ",0,,1,", from + "0 1"},
		{"duplicates", "0,0", from + "0"},
		{"duplicate-uuids", "GPU-a,GPU-a,GPU-b", from + "GPU-a GPU-b"},
		{"device-then-none", "0,none", from + "(none)"},
		{"none-then-device", "none,0", from + "(none)"},
		{"device-then-all", "0,all", from + "all"},
		{"device-then-void", "0,void", void},
		{"all-then-void", "all,void", void},
		{"none-then-void", "none,void", void},
		{"all-then-none", "all,none", from + "all"},
		{"none-then-all", "none,all", from + "(none)"},
		{"upper-all", "ALL", from + "all"},
		{"mixed-none", "None", from + "(none)"},
		{"upper-void", "VOID", void},
		{"not-quite-all", "alle", from + "alle"},
		{"bus-id", "0000:01:00.0", from + "0000:01:00.0"},
		{"uuid", "GPU-5d0f1e0a-1c7b-0a5f-8f6b-3f2a6b1c9d0e", from + "GPU-5d0f1e0a-1c7b-0a5f-8f6b-3f2a6b1c9d0e"},
		{"mig", "MIG-x,0:1,MIG-GPU-y/1/0", from + "MIG-x 0:1 MIG-GPU-y/1/0"},
		{"nonsense", "$(id);/etc/passwd", from + "$(id);/etc/passwd"},
		{"cdi", "nvidia.com/gpu=0,nvidia.com/gpu=GPU-a", from + "0 GPU-a"},
		{"cdi-all", "nvidia.com/gpu=all", from + "all"},
		{"cdi-none", "runtime.nvidia.com/gpu=none", from + "(none)"},
		{"cdi-same-device", "0,nvidia.com/gpu=0", from + "0"},
		{"cdi-other-vendor", "amd.com/gpu=0", from + "amd.com/gpu=0"},
		{"cdi-other-class", "nvidia.com/net=0", from + "nvidia.com/net=0"},
		{"cdi-lookalike", "evilnvidia.com/gpu=0", from + "evilnvidia.com/gpu=0"},
		{"cdi-no-device", "nvidia.com/gpu=", from + "nvidia.com/gpu="},
		{
			"marker-of-volume-mounts", "/var/run/nvidia-container-devices",
			`error: NVIDIA_VISIBLE_DEVICES="/var/run/nvidia-container-devices": the devices are to be named by volume mounts, which are not looked at`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, warnings, err := Parse(Input{Env: Env{"PATH=/bin", "NVIDIA_VISIBLE_DEVICES=" + tt.value}, Config: config.Default()})
			if got := outcome(t, r, err); got != tt.want {
				t.Errorf("Parse(%q) = %q, want %q", tt.value, got, tt.want)
			}
			if len(warnings) > 0 {
				t.Errorf("Parse(%q) warns %v", tt.value, warnings)
			}
		})
	}
}

func TestTooManyDevices(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range maxWords + 1 {
		list = append(list, strings.Repeat("x", i%7+1)+string(rune('a'+i%26))+strings.Repeat("y", i/7))
	}
	_, _, err := Parse(Input{Env: Env{"NVIDIA_VISIBLE_DEVICES=" + strings.Join(list, ",")}, Config: config.Default()})
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(err.Error()) > 400 {
		t.Errorf("Parse = %.200v, want a short *InvalidError", err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	const nvd = "env:NVIDIA_VISIBLE_DEVICES: "
	tests := []struct {
		name  string
		env   Env
		swarm string
		want  string
	}{
		{"nothing", Env{}, "", "-: NVIDIA_VISIBLE_DEVICES is not set"},
		{"nil", nil, "", "-: NVIDIA_VISIBLE_DEVICES is not set"},
		{"last-wins", Env{"NVIDIA_VISIBLE_DEVICES=3", "A=b", "NVIDIA_VISIBLE_DEVICES=all"}, "", nvd + "all"},
		{"last-void-wins", Env{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=void"}, "", "-: NVIDIA_VISIBLE_DEVICES is void"},
		{"last-empty-wins", Env{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES="}, "", "-: NVIDIA_VISIBLE_DEVICES is empty"},
		{"odd-entries", Env{"odd", "", "=", "=x", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_VISIBLE_DEVICES", "\x00\xff"}, "", nvd + "1"},
		{"only-odd-entries", Env{"NVIDIA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICESX=1", "XNVIDIA_VISIBLE_DEVICES=1"}, "", "-: NVIDIA_VISIBLE_DEVICES is not set"},
		{"case-matters", Env{"nvidia_visible_devices=1"}, "", "-: NVIDIA_VISIBLE_DEVICES is not set"},
		{"equals-in-value", Env{"NVIDIA_VISIBLE_DEVICES=a=b"}, "", nvd + "a=b"},

		{"legacy", Env{"CUDA_VERSION=8.0.61"}, "", "legacy: all"},
		{"legacy-empty-requirement", Env{"CUDA_VERSION=8.0.61", "NVIDIA_REQUIRE_CUDA="}, "", "legacy: all"},
		{"legacy-and-value", Env{"CUDA_VERSION=8.0.61", "NVIDIA_VISIBLE_DEVICES=1"}, "", nvd + "1"},
		{"legacy-and-empty", Env{"CUDA_VERSION=8.0.61", "NVIDIA_VISIBLE_DEVICES="}, "", "-: NVIDIA_VISIBLE_DEVICES is empty"},
		{"legacy-and-void", Env{"CUDA_VERSION=8.0.61", "NVIDIA_VISIBLE_DEVICES=void"}, "", "-: NVIDIA_VISIBLE_DEVICES is void"},
		{"not-legacy-any-more", Env{"CUDA_VERSION=12.4", "NVIDIA_REQUIRE_CUDA=cuda>=12.4"}, "", "-: NVIDIA_VISIBLE_DEVICES is not set"},
		{"not-legacy-empty-version", Env{"CUDA_VERSION="}, "", "-: NVIDIA_VISIBLE_DEVICES is not set"},

		{"swarm", Env{"DOCKER_RESOURCE_GPU=GPU-a,GPU-b", "NVIDIA_VISIBLE_DEVICES=all"}, "DOCKER_RESOURCE_GPU", "env:DOCKER_RESOURCE_GPU: GPU-a GPU-b"},
		{"swarm-several", Env{"B=1", "A=0, 1", "NVIDIA_VISIBLE_DEVICES=all"}, " A , B, C,", "env:A,B: 0 1"},
		{"swarm-none-set", Env{"NVIDIA_VISIBLE_DEVICES=2"}, "A,B", nvd + "2"},
		{"swarm-empty", Env{"A=", "NVIDIA_VISIBLE_DEVICES=2"}, "A", "-: A is empty"},
		{"swarm-void", Env{"A=1", "B=void"}, "A,B", "-: A,B is void"},
		{"swarm-none", Env{"A=none"}, "A", "env:A: (none)"},
		{"swarm-on-legacy", Env{"A=1", "CUDA_VERSION=8.0"}, "A", "env:A: 1"},
		{"swarm-absent-on-legacy", Env{"CUDA_VERSION=8.0"}, "A", "legacy: all"},
		{"swarm-named-twice", Env{"A=1"}, "A,A", "env:A: 1"},
		{"swarm-not-configured", Env{"DOCKER_RESOURCE_GPU=1"}, "", "-: NVIDIA_VISIBLE_DEVICES is not set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _, err := Parse(Input{Env: tt.env, Config: configured(func(c *config.Config) { c.SwarmResource = tt.swarm })})
			if got := outcome(t, r, err); got != tt.want {
				t.Errorf("Parse = %q, want %q", got, tt.want)
			}
		})
	}
}

// null mounts /dev/null at each destination.
func null(destinations ...string) []specs.Mount {
	var out []specs.Mount
	for _, d := range destinations {
		out = append(out, specs.Mount{Source: "/dev/null", Destination: d, Type: "bind"})
	}
	return out
}

func TestVolumes(t *testing.T) {
	t.Parallel()
	const root, unset = "/var/run/nvidia-container-devices", "-: NVIDIA_VISIBLE_DEVICES is not set"
	tests := []struct {
		name     string
		mounts   []specs.Mount
		env      Env
		want     string
		warnings []string // codes
	}{
		{"one", null(root + "/0"), nil, "volume: 0", nil},
		{"several", null(root+"/GPU-a", root+"/GPU-b"), nil, "volume: GPU-a GPU-b", nil},
		{"duplicates", null(root+"/0", root+"/0/"), nil, "volume: 0", nil},
		{"all", null(root + "/all"), nil, "volume: all", nil},
		{"unclean", []specs.Mount{{Source: "/dev/./null", Destination: "//var/run//nvidia-container-devices/./1/"}}, nil, "volume: 1", nil},
		{"outranks-env", null(root + "/1"), Env{"NVIDIA_VISIBLE_DEVICES=all"}, "volume: 1", nil},
		{"outranks-void", null(root + "/1"), Env{"NVIDIA_VISIBLE_DEVICES=void"}, "volume: 1", nil},
		{"with-marker", null(root + "/1"), Env{"NVIDIA_VISIBLE_DEVICES=" + root}, "volume: 1", nil},
		{
			"marker-alone", nil,
			Env{"NVIDIA_VISIBLE_DEVICES=" + root},
			`error: NVIDIA_VISIBLE_DEVICES="` + root + `": the devices are to be named by volume mounts, but none is there`, nil,
		},
		{"whole-components", null(root+"-evil/7", root+"x"), nil, unset, nil},
		{"root-itself", null(root, root+"/"), nil, unset, nil},
		{"climbs-out", null(root + "/../x/7"), nil, unset, nil},
		{"other-source", []specs.Mount{{Source: "/dev/zero", Destination: root + "/0"}, {Source: "null", Destination: root + "/1"}, {Destination: root + "/2"}}, nil, unset, nil},
		{"nested", null(root + "/a/b"), nil, "volume: a/b", nil},
		{"cdi-slashes", null(root + "/cdi/nvidia.com/gpu/0"), nil, "volume: 0", nil},
		{"cdi-equals", null(root + "/cdi/nvidia.com/gpu=0"), nil, "volume: 0", nil},
		{"cdi-other-vendor", null(root + "/cdi/amd.com/gpu/0"), nil, "volume: amd.com/gpu=0", nil},
		{"cdi-malformed", null(root+"/cdi", root+"/cdi/x", root+"/cdi/nvidia.com/gpu", root+"/cdi/nvidia.com/gpu/0/1", root+"/cdi/nvidia.com/gpu="), nil, unset, []string{"volume-malformed", "volume-malformed", "volume-malformed", "volume-malformed", "volume-malformed"}},
		{"imex-alone", null(root + "/imex/3"), nil, unset, nil},
		{"imex-beside", null(root+"/imex/3", root+"/0"), nil, "volume: 0", nil},
		{"imex-malformed", null(root+"/imex", root+"/0"), nil, "volume: 0", []string{"volume-malformed"}},
		{"none", null(), nil, unset, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, warnings, err := Parse(Input{Env: tt.env, Mounts: tt.mounts, Config: configured(func(c *config.Config) {
				c.AcceptVolumeMounts = true
				c.AcceptEnv = config.EnvAlways
			})})
			if got := outcome(t, r, err); got != tt.want {
				t.Errorf("Parse = %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.warnings, codes(warnings)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func codes(warnings []Warning) []string {
	var out []string
	for _, w := range warnings {
		out = append(out, w.Code)
	}
	return out
}

func TestVolumesSwitchedOff(t *testing.T) {
	t.Parallel()
	mounts := null("/var/run/nvidia-container-devices/0", "/var/run/nvidia-container-devices/imex/3")
	r, warnings, err := Parse(Input{Env: Env{"NVIDIA_VISIBLE_DEVICES=1"}, Mounts: mounts, Config: config.Default()})
	if got, want := outcome(t, r, err), "env:NVIDIA_VISIBLE_DEVICES: 1"; got != want || len(r.IMEX) > 0 {
		t.Errorf("Parse = %q, IMEX %v; want %q and none", got, r.IMEX, want)
	}
	if diff := cmp.Diff([]string{"volume-mounts-off"}, codes(warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		annotations map[string]string
		want        string
	}{
		{"cdi", map[string]string{"cdi.k8s.io/x": "nvidia.com/gpu=0,nvidia.com/gpu=1"}, "annotation:cdi.k8s.io/x: 0 1"},
		{"device-plugin", map[string]string{"cdi.k8s.io/nvidia-device-plugin_1": "k8s.device-plugin.nvidia.com/gpu=GPU-a"}, "annotation:cdi.k8s.io/nvidia-device-plugin_1: GPU-a"},
		{"keys-in-order", map[string]string{"cdi.k8s.io/b": "nvidia.com/gpu=1", "cdi.k8s.io/a": "nvidia.com/gpu=0"}, "annotation:cdi.k8s.io/a,cdi.k8s.io/b: 0 1"},
		{"own", map[string]string{"gpu-hook/devices": "0, GPU-a"}, "annotation:gpu-hook/devices: 0 GPU-a"},
		{"own-none", map[string]string{"gpu-hook/devices": "none"}, "annotation:gpu-hook/devices: (none)"},
		{"own-void", map[string]string{"gpu-hook/devices": "void"}, "-: annotation:gpu-hook/devices is void"},
		{"other-vendor", map[string]string{"cdi.k8s.io/x": "amd.com/gpu=0", "a": "nvidia.com/gpu=0"}, "env:NVIDIA_VISIBLE_DEVICES: 7"},
		{"vendors-mixed", map[string]string{"cdi.k8s.io/x": "amd.com/gpu=0,nvidia.com/gpu=1"}, "annotation:cdi.k8s.io/x: 1"},
		{"empty", map[string]string{"cdi.k8s.io/x": "", "gpu-hook/devices": " "}, "env:NVIDIA_VISIBLE_DEVICES: 7"},
		{"none", nil, "env:NVIDIA_VISIBLE_DEVICES: 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _, err := Parse(Input{Env: Env{"NVIDIA_VISIBLE_DEVICES=7"}, Annotations: tt.annotations, Config: config.Default()})
			if got := outcome(t, r, err); got != tt.want {
				t.Errorf("Parse = %q, want %q", got, tt.want)
			}
		})
	}
}
