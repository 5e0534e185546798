package request

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

func TestAcceptEnv(t *testing.T) {
	t.Parallel()
	const got = "env:NVIDIA_VISIBLE_DEVICES: all"
	tests := []struct {
		name       string
		accept     config.AcceptEnv
		privileged bool
		env        Env
		want       string
		warnings   []string
	}{
		{"always", config.EnvAlways, false, Env{"NVIDIA_VISIBLE_DEVICES=all"}, got, nil},
		{"privileged-and-is", config.EnvPrivileged, true, Env{"NVIDIA_VISIBLE_DEVICES=all"}, got, nil},
		{"privileged-and-is-not", config.EnvPrivileged, false, Env{"NVIDIA_VISIBLE_DEVICES=all"}, `-: accept-env = "privileged" does not let this container's environment ask for GPUs`, []string{"env-not-accepted"}},
		{"never", config.EnvNever, true, Env{"NVIDIA_VISIBLE_DEVICES=all"}, `-: accept-env = "never" does not let this container's environment ask for GPUs`, []string{"env-not-accepted"}},
		{"never-legacy", config.EnvNever, true, Env{"CUDA_VERSION=8.0"}, `-: accept-env = "never" does not let this container's environment ask for GPUs`, []string{"env-not-accepted"}},
		{"never-none", config.EnvNever, true, Env{"NVIDIA_VISIBLE_DEVICES=none"}, `-: accept-env = "never" does not let this container's environment ask for GPUs`, []string{"env-not-accepted"}},
		{"never-swarm", config.EnvNever, true, Env{"SWARM=0"}, `-: accept-env = "never" does not let this container's environment ask for GPUs`, []string{"env-not-accepted"}},
		{"never-void", config.EnvNever, false, Env{"NVIDIA_VISIBLE_DEVICES=void"}, "-: NVIDIA_VISIBLE_DEVICES is void", nil},
		{"never-nothing", config.EnvNever, false, nil, "-: NVIDIA_VISIBLE_DEVICES is not set", nil},
		{"never-bad-capabilities", config.EnvNever, false, Env{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=x"}, `-: accept-env = "never" does not let this container's environment ask for GPUs`, []string{"env-not-accepted"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, warnings, err := Parse(Input{Env: tt.env, Privileged: tt.privileged, Config: configured(func(c *config.Config) {
				c.AcceptEnv = tt.accept
				c.SwarmResource = "SWARM"
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

// Volume mounts and annotations are the engine's word: no gate.
func TestAcceptEnvNeverAndVolumes(t *testing.T) {
	t.Parallel()
	cfg := configured(func(c *config.Config) { c.AcceptEnv, c.AcceptVolumeMounts = config.EnvNever, true })
	r, warnings, err := Parse(Input{
		Env:    Env{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_IMEX_CHANNELS=1", "NVIDIA_DRIVER_CAPABILITIES=compute"},
		Mounts: null("/var/run/nvidia-container-devices/1"), Config: cfg,
	})
	if got := outcome(t, r, err); got != "volume: 1" || len(r.IMEX) > 0 || !slices.Equal(r.Capabilities, []string{"compute"}) {
		t.Errorf("Parse = %q, IMEX %v, capabilities %v", got, r.IMEX, r.Capabilities)
	}
	if diff := cmp.Diff([]string{"imex-not-accepted"}, codes(warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	r, _, err = Parse(Input{Annotations: map[string]string{"gpu-hook/devices": "2"}, Config: cfg})
	if got := outcome(t, r, err); got != "annotation:gpu-hook/devices: 2" {
		t.Errorf("Parse = %q", got)
	}
}

func TestUserAsked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   Input
		want bool
	}{
		{"all", Input{Env: Env{"NVIDIA_VISIBLE_DEVICES=all"}}, false},
		{"upper-all", Input{Env: Env{"NVIDIA_VISIBLE_DEVICES= ALL ,"}}, false},
		{"legacy", Input{Env: Env{"CUDA_VERSION=8.0"}}, false},
		{"index", Input{Env: Env{"NVIDIA_VISIBLE_DEVICES=0"}}, true},
		{"none", Input{Env: Env{"NVIDIA_VISIBLE_DEVICES=none"}}, true},
		{"cdi-all", Input{Env: Env{"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=all"}}, true},
		{"docker", Input{Env: Env{"NVIDIA_VISIBLE_DEVICES=all"}, CalledForGPU: true}, true},
		{"swarm", Input{Env: Env{"SWARM=all"}}, true},
		{"volume", Input{Mounts: null("/var/run/nvidia-container-devices/all")}, true},
		{"annotation", Input{Annotations: map[string]string{"cdi.k8s.io/x": "nvidia.com/gpu=all"}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.in.Config = configured(func(c *config.Config) { c.SwarmResource, c.AcceptVolumeMounts = "SWARM", true })
			r, _, err := Parse(tt.in)
			if err != nil || r.UserAsked != tt.want {
				t.Errorf("Parse: UserAsked %v, %v; want %v", r.UserAsked, err, tt.want)
			}
		})
	}
}
