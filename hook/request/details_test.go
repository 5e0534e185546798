package request

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

func TestCapabilities(t *testing.T) {
	t.Parallel()
	every := "compat32 compute display graphics ngx utility video"
	few := []string{"video", "compute"}
	tests := []struct {
		name      string
		env       Env
		supported []string // nil for all
		want      string
	}{
		{"unset", nil, nil, "compute utility"},
		{"unset-legacy", Env{"CUDA_VERSION=8.0"}, nil, every},
		{"empty", Env{"NVIDIA_DRIVER_CAPABILITIES="}, nil, "compute utility"},
		{"empty-legacy", Env{"NVIDIA_DRIVER_CAPABILITIES=", "CUDA_VERSION=8.0"}, nil, "compute utility"},
		{"blank", Env{"NVIDIA_DRIVER_CAPABILITIES= , ,"}, nil, "compute utility"},
		{"all", Env{"NVIDIA_DRIVER_CAPABILITIES=all"}, nil, every},
		{"all-and-more", Env{"NVIDIA_DRIVER_CAPABILITIES=video,all"}, nil, every},
		{"one", Env{"NVIDIA_DRIVER_CAPABILITIES=video"}, nil, "video"},
		{"spaces", Env{"NVIDIA_DRIVER_CAPABILITIES= utility , compute ,"}, nil, "compute utility"},
		{"duplicates", Env{"NVIDIA_DRIVER_CAPABILITIES=video,video"}, nil, "video"},
		{"last-wins", Env{"NVIDIA_DRIVER_CAPABILITIES=all", "NVIDIA_DRIVER_CAPABILITIES=compute"}, nil, "compute"},
		{"unset-few", nil, few, "compute"},
		{"unset-legacy-few", Env{"CUDA_VERSION=8.0"}, few, "compute video"},
		{"all-few", Env{"NVIDIA_DRIVER_CAPABILITIES=all"}, few, "compute video"},
		{"unset-none-of-them", nil, []string{"video"}, ""},
		{"supported-all", Env{"NVIDIA_DRIVER_CAPABILITIES=all"}, []string{"all"}, every},
		{
			"switched-off",
			Env{"NVIDIA_DRIVER_CAPABILITIES=compute,ngx"},
			few,
			`error: NVIDIA_DRIVER_CAPABILITIES="compute,ngx": "ngx" is switched off on this host; add it to supported-driver-capabilities, or leave it out (supported here: compute, video)`,
		},
		{
			"unknown",
			Env{"NVIDIA_DRIVER_CAPABILITIES=compute,graficks"},
			nil,
			`error: NVIDIA_DRIVER_CAPABILITIES="compute,graficks": "graficks" is no driver capability; use some of compat32, compute, display, graphics, ngx, utility, video, or all`,
		},
		{
			"upper-case",
			Env{"NVIDIA_DRIVER_CAPABILITIES=COMPUTE"},
			nil,
			`error: NVIDIA_DRIVER_CAPABILITIES="COMPUTE": "COMPUTE" is no driver capability; use some of compat32, compute, display, graphics, ngx, utility, video, or all`,
		},
		{
			"control-characters",
			Env{"NVIDIA_DRIVER_CAPABILITIES=\x1b[2J"},
			nil,
			`error: NVIDIA_DRIVER_CAPABILITIES="\x1b[2J": "\x1b[2J" is no driver capability; use some of compat32, compute, display, graphics, ngx, utility, video, or all`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _, err := Parse(Input{Env: append(Env{"NVIDIA_VISIBLE_DEVICES=0"}, tt.env...), Config: configured(func(c *config.Config) {
				if tt.supported != nil {
					c.SupportedDriverCapabilities = tt.supported
				}
			})})
			got := strings.Join(r.Capabilities, " ")
			var invalid *InvalidError
			if errors.As(err, &invalid) {
				got = "error: " + err.Error() + "; " + invalid.Cure()
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	const unprivileged = "only a container with CAP_SYS_ADMIN may have these rights"
	tests := []struct {
		name       string
		env        string // entries separated by blanks
		privileged bool
		want       string
	}{
		{"nothing", "", false, ""},

		{"mig-config", "NVIDIA_MIG_CONFIG_DEVICES=all", true, "mig-config"},
		{"mig-config-upper", "NVIDIA_MIG_CONFIG_DEVICES=ALL", true, "mig-config"},
		{"mig-monitor", "NVIDIA_MIG_MONITOR_DEVICES=all", true, "mig-monitor"},
		{"mig-empty", "NVIDIA_MIG_CONFIG_DEVICES= NVIDIA_MIG_MONITOR_DEVICES=", false, ""},
		{"mig-config-unprivileged", "NVIDIA_MIG_CONFIG_DEVICES=all", false, unprivileged},
		{"mig-monitor-unprivileged", "NVIDIA_MIG_MONITOR_DEVICES=all", false, unprivileged},
		{"mig-some", "NVIDIA_MIG_CONFIG_DEVICES=0", true, "for all devices or none"},

		{"imex", "NVIDIA_IMEX_CHANNELS=5,0,5,1048575", false, "imex[0 5 1048575]"},
		{"imex-all", "NVIDIA_IMEX_CHANNELS=all", false, "imex-all-ignored"},
		{"imex-void", "NVIDIA_IMEX_CHANNELS=0,void", false, ""},
		{"imex-none", "NVIDIA_IMEX_CHANNELS=none", false, ""},
		{"imex-empty", "NVIDIA_IMEX_CHANNELS=,", false, ""},
		{"imex-too-large", "NVIDIA_IMEX_CHANNELS=1048576", false, `"1048576" is no IMEX channel`},
		{"imex-hex", "NVIDIA_IMEX_CHANNELS=0x1", false, `"0x1" is no IMEX channel`},
		{"imex-sign", "NVIDIA_IMEX_CHANNELS=-1", false, `"-1" is no IMEX channel`},
		{"imex-plus", "NVIDIA_IMEX_CHANNELS=+1", false, `"+1" is no IMEX channel`},
		{"imex-underscore", "NVIDIA_IMEX_CHANNELS=1_0", false, `"1_0" is no IMEX channel`},

		{"gates", "NVIDIA_GDS=enabled NVIDIA_MOFED=enabled NVIDIA_GDRCOPY=enabled NVIDIA_NVSWITCH=enabled", false, "gds mofed gdrcopy nvswitch"},
		{"gates-exact", "NVIDIA_GDS=Enabled NVIDIA_MOFED=1 NVIDIA_GDRCOPY=true NVIDIA_NVSWITCH=enabled,", false, ""},
		{"gates-without-devices", "NVIDIA_GDS=enabled NVIDIA_NVSWITCH=enabled NVIDIA_VISIBLE_DEVICES=none", false, ""},

		{"require-1", "NVIDIA_DISABLE_REQUIRE=1", false, "require-off"},
		{"require-t", "NVIDIA_DISABLE_REQUIRE=t", false, "require-off"},
		{"require-true", "NVIDIA_DISABLE_REQUIRE=True", false, "require-off"},
		{"require-0", "NVIDIA_DISABLE_REQUIRE=0", false, ""},
		{"require-yes", "NVIDIA_DISABLE_REQUIRE=yes", false, "disable-require-ignored"},
		{"require-empty", "NVIDIA_DISABLE_REQUIRE=", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := append(Env{"NVIDIA_VISIBLE_DEVICES=0"}, strings.Fields(tt.env)...)
			r, warnings, err := Parse(Input{Env: env, Privileged: tt.privileged, Config: config.Default()})
			if err != nil {
				if tt.want == "" || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Parse = %v, want %q", err, tt.want)
				}
				return
			}
			if got := strings.Join(append(flags(r), codes(warnings)...), " "); got != tt.want {
				t.Errorf("Parse = %q, want %q", got, tt.want)
			}
		})
	}
}

// flags lists what is set beside the devices.
func flags(r Request) []string {
	var out []string
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"mig-config", r.MIGConfig},
		{"mig-monitor", r.MIGMonitor},
		{fmt.Sprintf("imex%v", r.IMEX), len(r.IMEX) > 0},
		{"gds", r.GDS},
		{"mofed", r.MOFED},
		{"gdrcopy", r.GDRCopy},
		{"nvswitch", r.NVSwitch},
		{"require-off", r.DisableRequire},
	} {
		if f.on {
			out = append(out, f.name)
		}
	}
	return out
}

func TestIMEXMounts(t *testing.T) {
	t.Parallel()
	const root = "/var/run/nvidia-container-devices"
	cfg := configured(func(c *config.Config) { c.AcceptVolumeMounts = true })
	tests := []struct {
		name string
		in   Input
		want string
	}{
		{"outrank-env", Input{Mounts: null(root+"/0", root+"/imex/7"), Env: Env{"NVIDIA_IMEX_CHANNELS=1"}}, "[7]"},
		{"beside-env-devices", Input{Mounts: null(root + "/imex/7"), Env: Env{"NVIDIA_VISIBLE_DEVICES=0"}}, "[7]"},
		{"annotation", Input{Annotations: map[string]string{"cdi.k8s.io/a": "nvidia.com/gpu=0,k8s.device-plugin.nvidia.com/imex-channel=channel3"}}, "[3]"},
		{"all", Input{Mounts: null(root+"/0", root+"/imex/all")}, `imex mounts="all": "all" is no IMEX channel`},
		{"nested", Input{Mounts: null(root+"/0", root+"/imex/1/2")}, `imex mounts="1/2": "1/2" is no IMEX channel`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.in.Config = cfg
			r, _, err := Parse(tt.in)
			got := fmt.Sprint(r.IMEX)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Parse = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDisableRequireByConfiguration(t *testing.T) {
	t.Parallel()
	r, _, err := Parse(Input{
		Env:    Env{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DISABLE_REQUIRE=false"},
		Config: configured(func(c *config.Config) { c.DisableRequire = true }),
	})
	if err != nil || !r.DisableRequire {
		t.Errorf("Parse: DisableRequire %v, %v; want true", r.DisableRequire, err)
	}
}

func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\x07x", 60_000)
	for _, env := range []Env{
		{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=" + long},
		{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=" + long},
		{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_MIG_CONFIG_DEVICES=" + long},
	} {
		_, _, err := Parse(Input{Env: env, Config: config.Default()})
		if err == nil || len(err.Error()) > 3000 || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			t.Errorf("Parse = %.300q", err)
		}
	}
}

func TestEnv(t *testing.T) {
	t.Parallel()
	env := Env{"odd", "NVIDIA_REQUIRE_CUDA=a", "NVIDIA_REQUIRE_", "NVIDIA_REQUIRE_B=b", "=x", "NVIDIA_REQUIRE_CUDA=c=d", "NVIDIA_REQUIRE_=e", "OTHER=f"}
	want := []Variable{{"NVIDIA_REQUIRE_", "e"}, {"NVIDIA_REQUIRE_B", "b"}, {"NVIDIA_REQUIRE_CUDA", "c=d"}}
	if diff := cmp.Diff(want, env.WithPrefix("NVIDIA_REQUIRE_")); diff != "" {
		t.Errorf("WithPrefix (-want +got):\n%s", diff)
	}
	if value, ok := env.Lookup(""); ok {
		t.Errorf(`Lookup("") = %q, true; want false`, value)
	}
	if value, ok := env.Lookup("OTHER"); value != "f" || !ok {
		t.Errorf(`Lookup("OTHER") = %q, %v`, value, ok)
	}
}
