package driver

import (
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// mapping is source and target of each file.
func mapping(files []File) map[string]string {
	m := map[string]string{}
	for _, f := range files {
		m[f.Target] = f.Source
	}
	return m
}

func TestDataFiles(t *testing.T) {
	t.Parallel()
	base := "lib /usr/lib64/libcuda.so." + v535 + " libcuda.so.1\nlib /usr/lib64/libnvidia-ml.so." + v535 + " libnvidia-ml.so.1\n"
	current := ubuntu + "/nvidia/current/"
	for _, tt := range []struct {
		name    string
		host    string
		bare    bool // without base
		caps    []string
		release string
		mps     string
		want    map[string]string
		links   []Link
		code    string
		noCode  string
	}{
		{
			name: "programs", caps: []string{"utility"},
			host: "file /usr/bin/nvidia-smi\n" +
				"file /usr/sbin/nv-fabricmanager\n" +
				"file /usr/local/bin/nvidia-imex\n" +
				"file /usr/bin/nvidia-cuda-mps-control\n" +
				"file /usr/bin/nvidia-xconfig",
			want: map[string]string{
				"/usr/bin/nvidia-smi":       "/usr/bin/nvidia-smi",
				"/usr/bin/nv-fabricmanager": "/usr/sbin/nv-fabricmanager",
				"/usr/bin/nvidia-imex":      "/usr/local/bin/nvidia-imex",
			},
		},
		{
			name: "mps",
			caps: []string{"compute"},
			host: "file /usr/bin/nvidia-cuda-mps-control\nfile /usr/sbin/nvidia-cuda-mps-server\ndir /tmp/nvidia-mps",
			want: map[string]string{
				"/usr/bin/nvidia-cuda-mps-control": "/usr/bin/nvidia-cuda-mps-control",
				"/usr/bin/nvidia-cuda-mps-server":  "/usr/sbin/nvidia-cuda-mps-server",
				"/tmp/nvidia-mps":                  "/tmp/nvidia-mps",
			},
		},
		{
			name: "mps-elsewhere",
			caps: []string{"compute"},
			mps:  "/run/mps",
			host: "dir /run/mps\ndir /tmp/nvidia-mps",
			want: map[string]string{"/run/mps": "/run/mps"},
		},
		{name: "mps-file", caps: []string{"compute"}, host: "file /tmp/nvidia-mps", code: "broken-driver-file"},
		{
			name: "debian-programs", bare: true, caps: []string{"utility"},
			host: "lib " + current + "libnvidia-ml.so." + v535 + "\n" +
				"file /usr/lib/nvidia/current/nvidia-smi\n" +
				"link /usr/bin/nvidia-smi /etc/alternatives/nvidia--nvidia-smi\n" +
				"link /etc/alternatives/nvidia--nvidia-smi /usr/lib/nvidia/tesla/nvidia-smi\n" +
				"file /usr/lib/nvidia/tesla/nvidia-smi",
			want: map[string]string{"/usr/bin/nvidia-smi": "/usr/lib/nvidia/current/nvidia-smi"},
		},
		{
			name: "cos-programs", bare: true, caps: []string{"utility", "graphics"},
			host: "lib /home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so." + v535 + "\n" +
				"file /home/kubernetes/bin/nvidia/bin/nvidia-smi\n" +
				"file /home/kubernetes/bin/nvidia/vulkan/icd.d/nvidia_icd.json",
			want: map[string]string{
				"/usr/bin/nvidia-smi":               "/home/kubernetes/bin/nvidia/bin/nvidia-smi",
				"/etc/vulkan/icd.d/nvidia_icd.json": "/home/kubernetes/bin/nvidia/vulkan/icd.d/nvidia_icd.json",
			},
		},
		{
			name: "bottlerocket-programs", bare: true, caps: []string{"utility"},
			host: "lib /usr/lib/nvidia/tesla/libnvidia-ml.so." + v535 + "\n" +
				"file /usr/libexec/nvidia/tesla/bin/nvidia-smi\n" +
				"dir /usr/bin",
			want: map[string]string{"/usr/bin/nvidia-smi": "/usr/libexec/nvidia/tesla/bin/nvidia-smi"},
		},
		{name: "no-smi", caps: []string{"utility"}, code: "missing-driver-file"},
		{name: "smi-is-a-fifo", caps: []string{"utility"}, host: "fifo /usr/bin/nvidia-smi", code: "broken-driver-file"},
		{name: "smi-is-empty", caps: []string{"utility"}, host: "empty /usr/bin/nvidia-smi", code: "broken-driver-file"},
		{
			name: "opencl",
			caps: []string{"compute"},
			host: "file /etc/OpenCL/vendors/nvidia.icd\nfile /etc/OpenCL/vendors/pocl.icd",
			want: map[string]string{"/etc/OpenCL/vendors/nvidia.icd": "/etc/OpenCL/vendors/nvidia.icd"},
		},
		{
			name: "vulkan", caps: []string{"graphics"}, // through links, from /etc before /usr/share
			host: "link /etc/vulkan/icd.d/nvidia_icd.json /etc/alternatives/icd\n" +
				"link /etc/alternatives/icd /usr/share/nvidia/icd.json\n" +
				"file /usr/share/nvidia/icd.json\n" +
				"file /usr/share/vulkan/icd.d/nvidia_icd.json\n" +
				"file /usr/share/vulkan/icd.d/nvidia_icd.x86_64.json\n" +
				"file /usr/share/vulkan/implicit_layer.d/nvidia_layers.json\n" +
				"file /usr/share/vulkan/icd.d/radeon_icd.x86_64.json",
			want: map[string]string{
				"/etc/vulkan/icd.d/nvidia_icd.json":               "/usr/share/nvidia/icd.json",
				"/etc/vulkan/icd.d/nvidia_icd.x86_64.json":        "/usr/share/vulkan/icd.d/nvidia_icd.x86_64.json",
				"/etc/vulkan/implicit_layer.d/nvidia_layers.json": "/usr/share/vulkan/implicit_layer.d/nvidia_layers.json",
			},
		},
		{
			name: "egl",
			caps: []string{"graphics"},
			host: "file /usr/share/glvnd/egl_vendor.d/10_nvidia.json\n" +
				"file /usr/share/glvnd/egl_vendor.d/50_mesa.json\n" +
				"file /usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json\n" +
				"file /etc/egl/egl_external_platform.d/20_nvidia_xcb.json",
			want: map[string]string{
				"/usr/share/glvnd/egl_vendor.d/10_nvidia.json":              "/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
				"/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json": "/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",
				"/usr/share/egl/egl_external_platform.d/20_nvidia_xcb.json": "/etc/egl/egl_external_platform.d/20_nvidia_xcb.json",
			},
		},
		{
			name: "data",
			caps: []string{"graphics"},
			host: "file /usr/share/nvidia/nvoptix.bin\n" +
				"file /usr/share/nvidia/nvidia-application-profiles-" + v535 + "-rc\n" +
				"file /usr/share/nvidia/nvidia-application-profiles-550.1.2-rc",
			want: map[string]string{
				"/usr/share/nvidia/nvoptix.bin":                                 "/usr/share/nvidia/nvoptix.bin",
				"/usr/share/nvidia/nvidia-application-profiles-" + v535 + "-rc": "/usr/share/nvidia/nvidia-application-profiles-" + v535 + "-rc",
			},
		},
		{
			name: "xorg",
			caps: []string{"display"},
			host: "file /usr/lib64/xorg/modules/drivers/nvidia_drv.so\n" +
				"lib /usr/lib64/xorg/modules/extensions/libglxserver_nvidia.so." + v535 + "\n" +
				"file /usr/share/X11/xorg.conf.d/10-nvidia.conf",
			want: map[string]string{
				"/usr/lib64/xorg/modules/drivers/nvidia_drv.so":                     "/usr/lib64/xorg/modules/drivers/nvidia_drv.so",
				"/usr/lib64/xorg/modules/extensions/libglxserver_nvidia.so." + v535: "/usr/lib64/xorg/modules/extensions/libglxserver_nvidia.so." + v535, "/usr/share/X11/xorg.conf.d/10-nvidia.conf": "/usr/share/X11/xorg.conf.d/10-nvidia.conf",
			},
			links: []Link{{Path: "/usr/lib64/xorg/modules/extensions/libglxserver_nvidia.so", Target: "libglxserver_nvidia.so." + v535, Capability: "display"}},
		},
		{
			name: "links",
			caps: []string{"graphics"},
			host: "lib /usr/lib64/libnvidia-allocator.so." + v535 + " libnvidia-allocator.so.1\n" +
				"lib /usr/lib64/libGLX_nvidia.so." + v535 + " libGLX_nvidia.so.0",
			links: []Link{{Path: "gbm/nvidia-drm_gbm.so", Target: "libnvidia-allocator.so.1", Capability: "graphics"}, {Path: "libGLX_indirect.so.0", Target: "libGLX_nvidia.so.0", Capability: "graphics", IfAbsent: true}},
		},
		{
			name: "firmware",
			caps: []string{"utility"},
			host: "file /lib/firmware/nvidia/" + v535 + "/gsp_ga10x.bin\n" +
				"file /lib/firmware/nvidia/" + v535 + "/gsp_tu10x.bin\n" +
				"file /lib/firmware/nvidia/" + v535 + "/other\n" +
				"file /lib/firmware/nvidia/550.1.2/gsp.bin",
			want: map[string]string{
				"/lib/firmware/nvidia/" + v535 + "/gsp_ga10x.bin": "/lib/firmware/nvidia/" + v535 + "/gsp_ga10x.bin",
				"/lib/firmware/nvidia/" + v535 + "/gsp_tu10x.bin": "/lib/firmware/nvidia/" + v535 + "/gsp_tu10x.bin",
			},
		},
		{
			name:    "firmware-of-kernel",
			caps:    []string{"compute"},
			release: "6.1.0",
			host:    "file /lib/firmware/6.1.0/nvidia/" + v535 + "/gsp.bin\nfile /lib/firmware/nvidia/" + v535 + "/gsp.bin",
			want:    map[string]string{"/lib/firmware/nvidia/" + v535 + "/gsp.bin": "/lib/firmware/6.1.0/nvidia/" + v535 + "/gsp.bin"},
		},
		{
			name: "firmware-by-parameter",
			caps: []string{"compute"},
			host: "text /sys/module/firmware_class/parameters/path /run/fw\n" +
				"file /run/fw/nvidia/" + v535 + "/gsp.bin\n" +
				"file /lib/firmware/nvidia/" + v535 + "/gsp.bin",
			want: map[string]string{"/lib/firmware/nvidia/" + v535 + "/gsp.bin": "/run/fw/nvidia/" + v535 + "/gsp.bin"},
		},
		{
			name: "absolute-path-in-json",
			caps: []string{"graphics"},
			host: "link /run/opengl-driver/share/glvnd/egl_vendor.d/10_nvidia.json /nix/store/x/10_nvidia.json\n" +
				"text /nix/store/x/10_nvidia.json {\"ICD\":{\"library_path\":\"/nix/store/x/libEGL_nvidia.so.0\"}}",
			want: map[string]string{"/usr/share/glvnd/egl_vendor.d/10_nvidia.json": "/nix/store/x/10_nvidia.json"},
		},
		{
			name: "name-in-json",
			caps: []string{"graphics"},
			host: "text /usr/share/glvnd/egl_vendor.d/10_nvidia.json {\"ICD\":{\"library_path\":\"libEGL_nvidia.so.0\"}}",
			want: map[string]string{"/usr/share/glvnd/egl_vendor.d/10_nvidia.json": "/usr/share/glvnd/egl_vendor.d/10_nvidia.json"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := base + tt.host
			if tt.bare {
				text = tt.host
			}
			q := query(tt.caps...)
			q.KernelRelease, q.MPSDir = tt.release, tt.mps
			files, err := Find(open(t, host(t, text)), q)
			if err != nil {
				t.Fatalf("Find: %v", err)
			}
			if tt.want == nil {
				tt.want = map[string]string{}
			}
			if diff := cmp.Diff(tt.want, mapping(files.Files)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.links, files.Links); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
			if tt.code != "" && !hasCode(files, tt.code) {
				t.Errorf("warnings: got %v, want one of code %q", files.Warnings, tt.code)
			}
			if tt.noCode != "" && hasCode(files, tt.noCode) {
				t.Errorf("warnings: got %v, want none of code %q", files.Warnings, tt.noCode)
			}
		})
	}
}

// TestSockets: those of the driver root come before those of the host, and a
// file that is no socket is left out.
func TestSockets(t *testing.T) {
	t.Parallel()
	ml := "lib /usr/lib64/libnvidia-ml.so." + v535 + " libnvidia-ml.so.1\nfile /usr/bin/nvidia-smi\n"
	const persistenced, fabric = "/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket"
	for _, tt := range []struct {
		name            string
		root, elsewhere string
		code            string
		want            map[string]string
		fromRoot        bool
	}{
		{name: "none"},
		{name: "run", root: "socket " + persistenced, want: map[string]string{persistenced: persistenced}, fromRoot: true},
		{name: "var-run", root: "socket /var" + fabric, want: map[string]string{fabric: "/var" + fabric}, fromRoot: true},
		{
			name:     "linked",
			root:     "socket " + fabric + "\nlink /var/run /run",
			want:     map[string]string{fabric: fabric},
			fromRoot: true,
		},
		{name: "host", elsewhere: "socket " + persistenced, want: map[string]string{persistenced: persistenced}},
		{
			name:      "both",
			root:      "socket " + persistenced,
			elsewhere: "socket " + persistenced,
			want:      map[string]string{persistenced: persistenced},
			fromRoot:  true,
		},
		{name: "file", root: "file " + persistenced, code: "broken-driver-file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := query("utility")
			q.Exclude = []string{"nvidia-smi"}
			q.Elsewhere = open(t, host(t, tt.elsewhere))
			root := open(t, host(t, ml+tt.root))
			files, err := Find(root, q)
			if err != nil {
				t.Fatalf("Find: %v", err)
			}
			if tt.want == nil {
				tt.want = map[string]string{}
			}
			if diff := cmp.Diff(tt.want, mapping(files.Files)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			for _, f := range files.Files {
				if (f.Root == root) != tt.fromRoot || f.Kind != Socket || !f.Optional {
					t.Errorf("got %+v, want an optional socket, of the driver root: %v", f, tt.fromRoot)
				}
			}
			if tt.code != "" && !hasCode(files, tt.code) {
				t.Errorf("warnings: got %v, want one of code %q", files.Warnings, tt.code)
			}
		})
	}
}

// TestForbidden: what may not be looked at is a warning. Not parallel: it
// changes its thread.
func TestForbidden(t *testing.T) {
	dir := host(t, "lib /usr/lib64/libnvidia-ml.so."+v535+" libnvidia-ml.so.1\nsocket /run/nvidia-fabricmanager/socket")
	if err := os.Chmod(dir+"/run/nvidia-fabricmanager", 0); err != nil {
		t.Fatalf("chmod: %v", err)
	}
	t.Cleanup(func() { os.Chmod(dir+"/run/nvidia-fabricmanager", 0o755) })
	root := open(t, dir)
	if os.Geteuid() == 0 { // With another fsuid root loses its right to see everything (capabilities(7)).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		unix.Setfsuid(65534)
		defer unix.Setfsuid(0)
	}
	files, err := Find(root, query("utility"))
	if err != nil || !hasCode(files, "unreadable-driver-file") {
		t.Errorf("Find: got %+v, %v, want a warning unreadable-driver-file", files.Warnings, err)
	}
}
