package integration

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestAbsoluteLists runs containers on a host whose lists of drivers say where on
// the host their library lies: the container sees the name alone, which its
// loader finds, and an image's own list stays.
func TestAbsoluteLists(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := richHost(t)
	lab.Write(t, filepath.Join(host.Dir, "etc/OpenCL/vendors/nvidia.icd"), "/usr/lib/x86_64-linux-gnu/libnvidia-opencl.so.1\n")
	const vulkan, egl, opencl = "/etc/vulkan/icd.d/nvidia_icd.json", "/usr/share/glvnd/egl_vendor.d/10_nvidia.json", "/etc/OpenCL/vendors/nvidia.icd"
	own := lab.Root(t, lab.Glibc)
	lab.Write(t, filepath.Join(own, egl), "the image's own\n")
	bare := `{"ICD": {"library_path": "libGLX_nvidia.so.0"}}` + "\n"
	for _, tt := range []struct{ name, root, layout, egl string }{
		{name: "private", root: lab.Root(t, lab.Glibc), layout: "private", egl: bare},
		{name: "direct", root: lab.Root(t, lab.Glibc), layout: "direct", egl: bare},
		{name: "own-list", root: own, layout: "private", egl: "the image's own\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // a container that is started again has our links already
				b := lab.NewBundle(t, tt.root, lab.Options{
					Host: host, Overlay: true, Config: "[mounts]\nlayout = \"" + tt.layout + "\"\n", Stages: []string{"prestart", "createRuntime"},
					Env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video,graphics"},
					Args: []string{"/bin/sh", "-c", "cat " + vulkan + " " + egl + " " + opencl +
						"; for f in " + vulkan + " " + opencl + "; do echo x >$f; done 2>/dev/null; /bin/witness load:libGLX_nvidia.so.0 load:libnvidia-opencl.so.1"},
				})
				got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
				text, _, _ := strings.Cut(got.Stdout, `{"op"`)
				if want := bare + tt.egl + "libnvidia-opencl.so.1\n"; got.Code != 0 || text != want {
					t.Errorf("runc ended with %d: %s\nlists: %q, want %q", got.Code, got.Stderr, text, want)
				}
				for _, q := range []string{"load:libGLX_nvidia.so.0", "load:libnvidia-opencl.so.1"} {
					if f, ok := got.Facts[q]; !ok || f.Error != "" {
						t.Errorf("%s: %+v", q, f)
					}
				}
				if warned := strings.Contains(got.Log, egl); warned != (tt.name == "own-list") {
					t.Errorf("warned of the image's own list: %v\n%s", warned, got.Log)
				}
			}
		})
	}
}
