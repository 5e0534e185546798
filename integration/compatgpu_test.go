package integration

import (
	"testing"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestCompatGPUs has the same image on hosts with GPUs of several classes: only
// those that can use a newer libcuda get it.
func TestCompatGPUs(t *testing.T) {
	t.Parallel()
	need.Root(t)
	cuda124 := []string{"CUDA_VERSION=12.4.1"}
	forced := []string{"compat-forced"}
	for _, c := range []cudaCase{
		{name: "a100", host: "535", decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir, reason: "the GPU supports that"},
		{name: "rtx a6000", host: "535", gpus: []string{rtx6000}, decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir},
		{name: "geforce, same major", host: "535", gpus: []string{rtx3090}, decision: compat.KindMinor, driver: 12020, count: 100, reason: rtx3090},
		{
			name: "geforce, other major", host: "470", gpus: []string{rtx3090}, config: onMismatchWarn,
			decision: compat.KindIncompatible, driver: 11040, count: 35, reason: rtx3090, warnings: []string{"cuda-incompatible"},
		},
		{name: "a100 and geforce", host: "535", gpus: []string{lab.A100, rtx3090}, decision: compat.KindMinor, driver: 12020, count: 100, reason: rtx3090},
		{
			name: "geforce and a100, other major", host: "470", gpus: []string{rtx3090, lab.A100}, config: onMismatchWarn,
			decision: compat.KindIncompatible, driver: 11040, count: 35, reason: rtx3090, warnings: []string{"cuda-incompatible"},
		},
		{name: "a100 and a6000", host: "470", gpus: []string{lab.A100, rtx6000}, decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir},
		{
			name: "geforce, forced", host: "470", gpus: []string{rtx3090}, config: compatForce,
			decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir, warnings: forced, reason: "compat.mode is force",
		},
		{name: "a100, off", host: "535", config: compatOff, decision: compat.KindMinor, driver: 12020, count: 100, reason: "compat.mode is off"},
		{
			name: "a100, off, other major", host: "470", config: compatOff + "on-mismatch = \"warn\"\n",
			decision: compat.KindIncompatible, driver: 11040, count: 35, reason: "compat.mode is off", warnings: []string{"cuda-incompatible"},
		},
		{name: "the host's own version", host: "550", decision: compat.KindHost, driver: 12040, count: 100},
	} {
		c.image, c.env, c.reload = image12("550"), cuda124, true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, c.do(t))
		})
	}
}

// TestCompatOlder has an image whose cuda-compat package is older than the
// host's driver: it is never used, whatever is asked for.
func TestCompatOlder(t *testing.T) {
	t.Parallel()
	need.Root(t)
	for _, c := range []cudaCase{
		{name: "not needed", env: []string{"CUDA_VERSION=12.4.1"}, decision: compat.KindHost},
		{name: "needed", env: []string{"CUDA_VERSION=12.8.0"}, decision: compat.KindMinor, reason: "is older than the host's driver"},
		{name: "forced", env: []string{"CUDA_VERSION=12.8.0"}, config: compatForce, decision: compat.KindMinor, reason: "is older than the host's driver"},
	} {
		c.host, c.image, c.driver, c.count, c.reload = "550", image12("535"), 12040, 100, true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, c.do(t))
		})
	}
}

// TestCompatHostDir serves images without a cuda-compat package from a folder
// of the host's.
func TestCompatHostDir(t *testing.T) {
	t.Parallel()
	need.Root(t)
	const hostDir = "[compat]\nhost-dir = \"/opt/compat\"\n"
	const served = "/opt/compat/550.163.01"
	const tree = "/usr/local/nvidia/lib64"
	wheel := pythonSite + "/nvidia/cuda_runtime/lib/libcudart.so.12"
	for _, c := range []cudaCase{
		{name: "a100", host: "470", image: image12(""), decision: compat.KindForward, driver: 12040, count: 100, overlay: tree},
		{
			name: "direct", host: "470", image: image12(""), config: "[mounts]\nlayout = \"direct\"\n",
			decision: compat.KindForward, driver: 12040, count: 100, overlay: "/usr/lib/x86_64-linux-gnu",
		},
		{name: "wheel", host: "470", image: imageWheel, ask: "runtime:" + wheel, decision: compat.KindForward, driver: 12040, count: 100, overlay: tree},
		{name: "image's own older", host: "470", image: image12("535"), decision: compat.KindForward, driver: 12040, count: 100, overlay: tree},
		{name: "image's own of the same version", host: "470", image: image12("550"), decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir},
		{
			name: "geforce", host: "470", gpus: []string{rtx3090}, image: image12(""),
			decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: []string{"cuda-incompatible"}, reason: "of the host",
		},
		{name: "better than minor", host: "470", image: image11, decision: compat.KindForward, driver: 12040, count: 100, overlay: tree},
		{name: "not needed", host: "535", image: image11, decision: compat.KindHost, driver: 12020, count: 100},
	} {
		c.config, c.reload = c.config+hostDir, true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			host := cudaHost(t, c.host, c.gpus...)
			lab.CompatPackage(t, lab.DriverFiles(t, "550"), host.Dir+served)
			c.check(t, c.run(t, lab.Runc(t), host, imageOf(t, c.image)))
		})
	}
}
