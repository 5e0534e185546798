package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// Library compiles a small library of this machine into a tree. cuda is what
// cuDriverGetVersion of it says; every made library has the function.
func Library(t T, file, soname string, cuda int) {
	t.Helper()
	need.CC(t)
	mkdir(t, filepath.Dir(file), ".")
	source := filepath.Join(Temp(t), "library.c")
	Write(t, source, fmt.Sprintf("int cuDriverGetVersion(int *v) { *v = %d; return 0; }\n", cuda))
	command(t, "", nil, "cc", "-shared", "-fPIC", "-Os", "-s", "-Wl,-soname,"+soname, "-o", file, source)
}

// WSLStore is where Windows shows its driver package in [WSL].
const WSLStore = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1"

// WSL makes a stand-in for a WSL2 system: /dev/dxg, the libraries that Windows
// shows every program, and its driver package.
func WSL(t T) *StandIn {
	t.Helper()
	h := Host(t, HostSpec{})
	h.Node(t, "dxg", fabric, 9, 0o666)
	lib, store := filepath.Join(h.Dir, "usr/lib/wsl/lib"), filepath.Join(h.Dir, WSLStore)
	Library(t, lib+"/libdxcore.so", "libdxcore.so", 0)
	Library(t, lib+"/libcuda.so.1.1", "libcuda.so.1", 12080)
	Link(t, "libcuda.so.1.1", lib+"/libcuda.so.1")
	Link(t, "libcuda.so.1.1", lib+"/libcuda.so")
	Library(t, lib+"/libnvidia-ml.so.1", "libnvidia-ml.so.1", 0)
	Library(t, lib+"/libnvidia-encode.so.1", "libnvidia-encode.so.1", 0)
	Library(t, lib+"/libd3d12.so", "libd3d12.so", 0)
	for name, soname := range map[string]string{
		"libcuda.so.1.1": "libcuda.so.1", "libcuda_loader.so": "libcuda_loader.so", "libnvdxgdmal.so.1": "libnvdxgdmal.so.1",
		"libnvidia-ptxjitcompiler.so.1": "libnvidia-ptxjitcompiler.so.1", "libnvidia-ml_loader.so": "libnvidia-ml_loader.so",
	} {
		Library(t, filepath.Join(store, name), soname, 12080)
	}
	Write(t, store+"/nvcubins.bin", "cubins\n")
	Write(t, store+"/nv_dispi.inf", "not for containers\n")
	Write(t, store+"/nvidia-smi", "#!/bin/sh\necho stand-in nvidia-smi of Windows\n")
	if err := os.Chmod(store+"/nvidia-smi", 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	return h
}

// Jetson makes a stand-in for a Jetson Orin of this machine's architecture: a
// device tree that says so, nodes, file lists and what they name, two of which
// are missing.
func Jetson(t T) *StandIn {
	t.Helper()
	h := Host(t, HostSpec{})
	Write(t, filepath.Join(h.Dir, "proc/device-tree/compatible"), "nvidia,p3737-0000+p3701-0005\x00nvidia,tegra234\x00")
	Write(t, filepath.Join(h.Dir, "proc/device-tree/model"), "NVIDIA Jetson AGX Orin\x00")
	for i, name := range []string{"nvmap", "nvhost-ctrl-gpu", "nvgpu/igpu0/ctrl"} {
		h.Node(t, name, fabric, 20+i, 0o660)
	}
	tegra := "/" + debianLibs + "/tegra"
	lib := filepath.Join(h.Dir, tegra)
	Library(t, lib+"/libcuda.so.1.1", "libcuda.so.1", 12060)
	Link(t, "libcuda.so.1.1", lib+"/libcuda.so.1")
	Link(t, "libcuda.so.1.1", lib+"/libcuda.so")
	Library(t, lib+"/libnvrm_gpu.so", "libnvrm_gpu.so", 0)
	Library(t, filepath.Join(h.Dir, "usr/lib/nvidia/plugin.so"), "plugin.so", 0)
	Write(t, filepath.Join(h.Dir, "lib/firmware/tegra23x/nvdec.bin"), "firmware\n")
	Write(t, filepath.Join(h.Dir, "etc/nv_tegra_release"), "# R36 (release), REVISION: 4.0\n")
	Write(t, filepath.Join(h.Dir, "opt/more/data"), "more\n")
	lists := filepath.Join(h.Dir, "etc/nvidia-container-runtime/host-files-for-container.d")
	Write(t, lists+"/devices.csv", "dev, /dev/nvmap\ndev, /dev/nvhost-ctrl-gpu\ndev, /dev/nvgpu/igpu0/ctrl\ndev, /dev/nvidiactl\n")
	Write(t, lists+"/drivers.csv", strings.Join([]string{
		"lib, " + tegra + "/libcuda.so.1.1", "lib, " + tegra + "/libnvrm_gpu.so", "lib, " + tegra + "/libmissing.so",
		"sym, " + tegra + "/libcuda.so.1", "sym, " + tegra + "/libcuda.so", "dir, /lib/firmware/tegra23x", "lib, /etc/nv_tegra_release", "",
	}, "\n"))
	Write(t, lists+"/extra.csv", "lib, /opt/more/data\n")
	return h
}
