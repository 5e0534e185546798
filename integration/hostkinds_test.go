package integration

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestWSL runs containers on a stand-in for WSL2: the one node, the driver of
// Windows at the path by which its parts find each other, and nothing of a Linux
// driver.
func TestWSL(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := lab.WSL(t)
	root := lab.Root(t, lab.Glibc)
	store := "load:" + lab.WSLStore
	for _, request := range []string{"all", "0"} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Env: []string{"NVIDIA_VISIBLE_DEVICES=" + request, "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video,graphics"},
				Args: witnessOf([]string{
					"open:/dev/dxg", "stat:/dev/nvidiactl", "driver:libcuda.so.1", "load:libdxcore.so", "load:libd3d12.so", "load:libnvidia-encode.so.1",
					store + "/libnvdxgdmal.so.1", "stat:" + lab.WSLStore + "/nv_dispi.inf", "write:" + lab.WSLStore + "/nvcubins.bin",
				}, "cat "+lab.WSLStore+"/nvcubins.bin; nvidia-smi"),
			})
			p := plannedOK(t, b)
			if diff := cmp.Diff([]string{"/dev/dxg"}, nodePaths(p)); diff != "" || len(p.GPUs) != 1 || p.Proc != nil {
				t.Errorf("nodes (-want +got):\n%s\nGPUs %+v, proc %+v", diff, p.GPUs, p.Proc)
			}
			wantRuleForEachNode(t, p)
			got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
			if got.Code != 0 || !strings.HasSuffix(got.Stdout, "cubins\nstand-in nvidia-smi of Windows\n") {
				t.Errorf("runc ended with %d: %s\n%s", got.Code, got.Stderr, got.Stdout)
			}
			wantErrnos(t, got.Facts, map[string]syscall.Errno{
				"open:/dev/dxg": syscall.ENXIO, "stat:/dev/nvidiactl": syscall.ENOENT, "stat:" + lab.WSLStore + "/nv_dispi.inf": syscall.ENOENT,
				"write:" + lab.WSLStore + "/nvcubins.bin": syscall.EROFS,
			})
			wantDriver(t, got.Facts, 12080, "/usr/local/nvidia/lib64/libcuda.so.1")
			for _, q := range []string{"load:libdxcore.so", "load:libd3d12.so", "load:libnvidia-encode.so.1", store + "/libnvdxgdmal.so.1"} {
				if f := got.Facts[q]; f.Error != "" {
					t.Errorf("%s: %+v", q, f)
				}
			}
		})
	}
}

// TestJetson runs containers on a stand-in for a Jetson: what the base lists
// name, more with csv-mounts=all, and notes on what is missing.
func TestJetson(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := lab.Jetson(t)
	root := lab.Root(t, lab.Glibc)
	for _, tt := range []struct {
		name, require string
		more          syscall.Errno
	}{{"base", "", syscall.ENOENT}, {"all-lists", "NVIDIA_REQUIRE_JETPACK=csv-mounts=all", 0}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Env: askAll(),
				Args: witnessOf([]string{
					"open:/dev/nvmap", "open:/dev/nvgpu/igpu0/ctrl", "stat:/dev/nvmap", "driver:libcuda.so.1", "load:libnvrm_gpu.so", "stat:/opt/more/data",
					"write:/lib/firmware/tegra23x/x",
				}, "cat /lib/firmware/tegra23x/nvdec.bin /etc/nv_tegra_release"),
			})
			if tt.require != "" {
				b.Spec.Process.Env = append(b.Spec.Process.Env, tt.require)
				b.Save(t)
			}
			p := plannedOK(t, b)
			if diff := cmp.Diff([]string{"/dev/nvgpu/igpu0/ctrl", "/dev/nvhost-ctrl-gpu", "/dev/nvmap"}, nodePaths(p)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if p.GPUs[0].Class != "tegra" || !slices.Equal(codes(p), []string{"missing-list-entry"}) || !strings.Contains(warning(p, "missing-list-entry"), "libmissing.so") {
				t.Errorf("GPU %+v, warnings %v", p.GPUs[0], p.Warnings)
			}
			got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
			if got.Code != 0 || !strings.HasSuffix(got.Stdout, "firmware\n# R36 (release), REVISION: 4.0\n") {
				t.Errorf("runc ended with %d: %s\n%s", got.Code, got.Stderr, got.Stdout)
			}
			wantErrnos(t, got.Facts, map[string]syscall.Errno{
				"open:/dev/nvmap": syscall.ENXIO, "open:/dev/nvgpu/igpu0/ctrl": syscall.ENXIO, "stat:/opt/more/data": tt.more,
				"write:/lib/firmware/tegra23x/x": syscall.EROFS,
			})
			wantDriver(t, got.Facts, 12060, "/usr/local/nvidia/lib64/libcuda.so.1")
			if f := got.Facts["load:libnvrm_gpu.so"]; f.Error != "" {
				t.Errorf("libnvrm_gpu: %+v", f)
			}
			if f := got.Facts["stat:/dev/nvmap"]; f.Mode != 0o660 {
				t.Errorf("mode of nvmap: %+v", f)
			}
		})
	}
}
