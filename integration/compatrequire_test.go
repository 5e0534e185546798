package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// require124 is what NVIDIA's image for CUDA 12.4 requires, shortened.
const require124 = "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=nvidia,driver>=535,driver<536"

const disableRequire = "NVIDIA_DISABLE_REQUIRE=true"

// TestCompatRefused has containers that must not start: the exit code, and all
// that the line must say.
func TestCompatRefused(t *testing.T) {
	t.Parallel()
	need.Root(t)
	plain, package550 := imageOf(t, image12("")), imageOf(t, image12("550"))
	for _, tt := range []struct {
		name   string
		host   string
		gpus   []string
		image  string
		env    []string
		config string
		code   int
		says   []string
		hides  []string // what it must not say
	}{
		{
			name: "declared", host: "470", image: plain, env: []string{"CUDA_VERSION=12.4.1"}, code: 14,
			says: []string{
				"driver 470.256.02 supports CUDA 11.4", "needs CUDA 12.4 (CUDA_VERSION)", "driver 525 or newer", "no cuda-compat package",
				"an image for CUDA 11.4 or older", "cuda-compat-12-4", "NVIDIA_DISABLE_REQUIRE=true",
			},
		},
		{
			name: "declared, geforce", host: "470", gpus: []string{rtx3090}, image: package550, env: []string{"CUDA_VERSION=12.4.1"}, code: 14,
			says:  []string{compatDir + " (550.163.01) is not used because GPU " + rtx3090 + " does not support forward compatibility"},
			hides: []string{"add the package"},
		},
		{
			name: "declared, off", host: "470", image: package550, env: []string{"CUDA_VERSION=12.4.1"}, config: compatOff, code: 14,
			says: []string{"compat.mode is off", "set compat.mode to auto"},
		},
		{name: "detected, fail", host: "470", image: plain, config: onMismatchFail, code: 14, says: []string{"libcudart.so.12.4.127", "driver 525 or newer"}},
		{
			name: "requirement", host: "470", image: plain, env: []string{require124}, code: 14,
			says: []string{
				"NVIDIA_REQUIRE_CUDA", `"cuda>=12.4"`, "driver 470.256.02 supports CUDA 11.4", "none of its 2 alternatives",
				`whole expression "` + strings.TrimPrefix(require124, "NVIDIA_REQUIRE_CUDA=") + `"`, "driver 550 or newer", "NVIDIA_DISABLE_REQUIRE=true", "disable-require = true",
			},
		},
		{
			name: "requirement satisfied, programs would fail", host: "470", image: plain, code: 14,
			env:  []string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=nvidia,driver>=470,driver<471", "CUDA_VERSION=12.4.1"},
			says: []string{"run CUDA 12.4 programs"}, hides: []string{"requirement"},
		},
		{
			name: "requirement that minor does not meet", host: "535", image: plain, env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4"}, code: 14,
			says: []string{`"cuda>=12.4"`, "supports CUDA 12.2"},
		},
		{
			name: "requirement beyond the overlay", host: "470", image: package550, env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12.8"}, code: 14,
			says: []string{"the container has CUDA 12.4 (driver 470.256.02)", "driver 570 or newer"},
		},
		{
			name: "brand", host: "550", image: plain, env: []string{"NVIDIA_REQUIRE_ACME=brand=tesla"}, code: 14,
			says: []string{"NVIDIA_REQUIRE_ACME", lab.A100 + " is of brand nvidia", `a GPU of brand "tesla"`},
		},
		{
			name: "arch of one of several", host: "550", gpus: []string{lab.A100, rtx3090}, image: plain, env: []string{"NVIDIA_REQUIRE_ARCH=arch<8.6"}, code: 14,
			says: []string{"NVIDIA_REQUIRE_ARCH", "has compute capability 8.6", "below 8.6"},
		},
		{name: "driver", host: "550", image: plain, env: []string{"NVIDIA_REQUIRE_DRIVER=driver<550"}, code: 14, says: []string{"the host's driver is 550.163.01", "older than 550"}},
		{name: "malformed", host: "550", image: plain, env: []string{"NVIDIA_REQUIRE_CUDA=cuda>>12.4"}, code: 11, says: []string{"NVIDIA_REQUIRE_CUDA", `"cuda>>12.4"`, "NVIDIA_DISABLE_REQUIRE=true"}},
		{name: "unknown property", host: "550", image: plain, env: []string{"NVIDIA_REQUIRE_CUDA=cudnn>=9"}, code: 11, says: []string{`"cudnn>=9"`, "none of cuda, driver, arch and brand"}},
		{
			name: "long", host: "470", image: plain, env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4" + strings.Repeat(" brand=tesla,driver>=450,driver<451", 40)}, code: 14,
			says: []string{"none of its 40 alternatives", `dr"...`, "NVIDIA_DISABLE_REQUIRE=true"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := cudaCase{env: tt.env, config: tt.config}
			host := cudaHost(t, tt.host, tt.gpus...)
			if slices.Equal(tt.gpus, []string{lab.A100, rtx3090}) {
				host.GPUs[1].PCI = "10de:2204"
				lab.Write(t, host.Dir+"/sys/bus/pci/devices/"+host.GPUs[1].BusID+"/device", "0x2204\n")
			}
			r := c.run(t, lab.Runc(t), host, tt.image)
			if r.Code == 0 || r.plan.Exit == nil || r.plan.Exit.Code != tt.code {
				t.Fatalf("the runtime ended with %d and the plan with %+v, want code %d", r.Code, r.plan.Exit, tt.code)
			}
			line := r.plan.Exit.Line
			for _, words := range tt.says {
				if !strings.Contains(line, words) {
					t.Errorf("the line lacks %q:\n%s", words, line)
				}
			}
			for _, words := range tt.hides {
				if strings.Contains(line, words) {
					t.Errorf("the line has %q:\n%s", words, line)
				}
			}
			if !strings.HasPrefix(line, "gpu-hook: ") || strings.Contains(line, "\n") || len(line) > 1000 {
				t.Errorf("line %q, want one of at most 1000 bytes", line)
			}
			// runc quotes what the hook said, and the log has it as it is.
			if !strings.Contains(r.Stderr, "exit status") || !strings.Contains(strings.ReplaceAll(r.Log, `\"`, `"`), line) {
				t.Errorf("runc said %s\nlog: %s", r.Stderr, r.Log)
			}
			if !strings.HasPrefix(r.text, "The container does not start (exit code ") || !strings.Contains(r.text, "\nWhat to do") {
				t.Errorf("the plan as text:\n%s", r.text)
			}
		})
	}
}

// TestCompatStarts has the same needs with what lets the container start.
func TestCompatStarts(t *testing.T) {
	t.Parallel()
	need.Root(t)
	incompatible, ignored := []string{"cuda-incompatible"}, []string{"cuda-incompatible", "requirement-ignored"}
	for _, c := range []cudaCase{
		{name: "declared, warn", host: "470", image: image12(""), env: []string{"CUDA_VERSION=12.4.1"}, config: onMismatchWarn, decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: incompatible},
		{name: "detected, auto", host: "470", image: image12(""), decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: incompatible},
		{name: "declared, disabled", host: "470", image: image12(""), env: []string{"CUDA_VERSION=12.4.1", disableRequire}, decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: incompatible},
		{name: "fail, disabled", host: "470", image: image12(""), env: []string{disableRequire}, config: onMismatchFail, decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: incompatible},
		{name: "requirement, disabled", host: "470", image: image12(""), env: []string{require124, disableRequire}, decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: ignored},
		{name: "requirement, disabled by the host", host: "470", image: image12(""), env: []string{require124}, config: "disable-require = true\n", decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: ignored},
		{name: "malformed, disabled", host: "550", image: image12(""), env: []string{"NVIDIA_REQUIRE_CUDA=cuda>>12.4", disableRequire}, decision: compat.KindHost, driver: 12040, count: 100, warnings: []string{"requirement-ignored"}},
		{name: "malformed, not reached", host: "550", image: image12(""), env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4 cuda>>13"}, decision: compat.KindHost, driver: 12040, count: 100},
		{name: "met by the overlay", host: "470", image: image12("550"), env: []string{require124}, decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir},
		{name: "met by an alternative", host: "535", image: image12(""), env: []string{require124}, decision: compat.KindMinor, driver: 12020, count: 100},
		{name: "jetpack is no requirement", host: "550", image: image12(""), env: []string{"NVIDIA_REQUIRE_JETPACK=csv-mounts=all"}, decision: compat.KindHost, driver: 12040, count: 100},
		{name: "driver.cuda-version", host: "535", image: image12(""), config: "[driver]\ncuda-version = \"12.4\"\n", env: []string{require124}, decision: compat.KindHost, driver: 12020, count: 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, c.do(t))
		})
	}
}
