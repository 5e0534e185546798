package hook

import (
	"debug/elf"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/request"
	"github.com/gpu-hook/gpu-hook/mounts/driver"
	"github.com/gpu-hook/gpu-hook/mounts/loader"
)

const (
	testVersion = "550.163.01"
	testLibDir  = "/usr/lib/x86_64-linux-gnu"
	hostLibs    = "/usr/lib/x86_64-linux-gnu/"
)

// someFacts is a container on a host with two GPUs that asked for the first: a
// few driver files of each kind, and nothing in the way. Tests change what they
// are about.
func someFacts() Facts {
	gpus := []devices.GPU{
		{Index: 0, Minor: 3, UUID: "GPU-00000000-0000-0000-0000-000000000000", BusID: "0000:01:00.0", Model: "NVIDIA A100-SXM4-80GB", Class: devices.DataCenter, ComputeCapability: "8.0"},
		{Index: 1, Minor: 1, UUID: "GPU-11111111-1111-1111-1111-111111111111", BusID: "0000:02:00.0", Model: "NVIDIA A100-SXM4-80GB", Class: devices.DataCenter},
	}
	return Facts{
		Host:      Host{Root: "/", Driver: "/"},
		Config:    config.Default(),
		Container: ContainerRef{ID: "c1", PID: 42, Bundle: "/b", Rootfs: "/b/rootfs"},
		Request:   request.Request{Source: "env:NVIDIA_VISIBLE_DEVICES", Devices: []string{"0"}, Capabilities: []string{"compute", "utility"}},
		Inventory: devices.Inventory{DriverVersion: testVersion, GPUs: gpus},
		Selection: devices.Selection{GPUs: gpus[:1]},
		Nodes: []devices.Node{
			{Path: "/dev/nvidiactl", Host: "/dev/nvidiactl", Major: 195, Minor: 255, Mode: 0o666},
			{Path: "/dev/nvidia3", Host: "/dev/nvidia3", Major: 195, Minor: 3, Mode: 0o660, GID: 44},
			{Path: "/dev/nvidia-uvm", Host: "/dev/nvidia-uvm", Major: 510, Minor: 0, Mode: 0o666},
		},
		Files: driver.Files{
			Libraries: []driver.Library{
				{Path: hostLibs + "libcuda.so." + testVersion, Name: "libcuda.so." + testVersion, SONAME: "libcuda.so.1", Links: []string{"libcuda.so"}, Class: elf.ELFCLASS64, Direct: true, Listed: true},
				{Path: hostLibs + "libnvidia-ptxjitcompiler.so." + testVersion, Name: "libnvidia-ptxjitcompiler.so." + testVersion, SONAME: "libnvidia-ptxjitcompiler.so.1", Class: elf.ELFCLASS64, Listed: true},
			},
			Files: []driver.File{
				{Source: "/usr/bin/nvidia-smi", Target: "/usr/bin/nvidia-smi", Kind: driver.Binary},
				{Source: "/etc/OpenCL/vendors/nvidia.icd", Target: "/etc/OpenCL/vendors/nvidia.icd", Kind: driver.Data, Optional: true},
				{Source: "/run/nvidia-persistenced/socket", Target: "/run/nvidia-persistenced/socket", Kind: driver.Socket, Optional: true},
			},
			Links: []driver.Link{{Path: "gbm/nvidia-drm_gbm.so", Target: "libcuda.so.1"}},
		},
		Loader:  loader.Facts{Kind: loader.Glibc, Machine: elf.EM_X86_64, LibDir: testLibDir},
		Runtime: compat.Runtime{Version: compat.MakeCUDA(11, 8), Source: "env:CUDA_VERSION"},
		Decision: compat.Decision{
			Kind: compat.KindHost, DriverCUDA: compat.MakeCUDA(12, 4), RuntimeCUDA: compat.MakeCUDA(11, 8),
			EffectiveCUDA: compat.MakeCUDA(12, 4), Reason: "driver supports CUDA 12.4",
		},
		Places: Places{},
	}
}

func (p Plan) link(name string) string {
	for _, l := range p.Symlinks {
		if l.Path == name {
			return l.Target
		}
	}
	return ""
}

func (p Plan) mount(target string) (Mount, bool) {
	for _, m := range p.Mounts {
		if m.Target == target {
			return m, true
		}
	}
	return Mount{}, false
}

func (p Plan) warned(code string) bool {
	for _, w := range p.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}
