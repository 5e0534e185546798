package driver_test

import (
	"debug/elf"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/driver"
)

// TestRealDriver finds NVIDIA's own files of branch 535, in Debian's layout
// and in that of NVIDIA's installer, with the loader cache that ldconfig makes
// and without. What is found must not depend on the layout.
func TestRealDriver(t *testing.T) {
	t.Parallel()
	need.DriverFiles(t)
	d := lab.DriverFiles(t, "535")
	for _, tt := range []struct {
		name string
		spec lab.HostSpec
	}{
		{name: "debian", spec: lab.HostSpec{Layout: lab.Debian}},
		{name: "debian-no-cache", spec: lab.HostSpec{Layout: lab.Debian, NoCache: true}},
		{name: "plain", spec: lab.HostSpec{Layout: lab.Plain}},
		{name: "plain-no-cache", spec: lab.HostSpec{Layout: lab.Plain, NoCache: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.spec.Driver, tt.spec.NoNodes = d, true
			root, err := mounts.OpenRoot(lab.Host(t, tt.spec).Dir, mounts.Calls{})
			if err != nil {
				t.Fatalf("open host: %v", err)
			}
			defer root.Close()
			files, err := driver.Find(root, driver.Query{
				Version: d.Version, Machine: elf.EM_X86_64,
				Capabilities: []string{"compute", "utility", "video", "graphics", "display", "ngx"},
			})
			if err != nil {
				t.Fatalf("Find: %v", err)
			}
			var got []string
			for _, l := range files.Libraries {
				got = append(got, l.SONAME)
				if !l.Listed {
					t.Errorf("%s: no row of the table names it", l.Name)
				}
				checkSONAME(t, root, l)
			}
			slices.Sort(got)
			if diff := cmp.Diff(wantReal(d.Version), got); diff != "" {
				t.Errorf("SONAMEs (-want +got):\n%s", diff)
			}
			for _, name := range []string{"nvidia-smi", "nvidia-cuda-mps-control", "nvidia-persistenced"} {
				if !slices.ContainsFunc(files.Files, func(f driver.File) bool { return f.Target == "/usr/bin/"+name && path.Base(f.Source) == name }) {
					t.Errorf("%s is not among the files", name)
				}
			}
			for _, w := range files.Warnings {
				if w.Code != "missing-driver-file" { // The plain layout of the lab has libraries and programs only.
					t.Errorf("got warning %+v", w)
				}
			}
		})
	}
}

// checkSONAME compares with what debug/elf reads.
func checkSONAME(t *testing.T, root *mounts.Root, l driver.Library) {
	t.Helper()
	f, err := root.Open(l.Path)
	if err != nil {
		t.Fatalf("open %s: %v", l.Path, err)
	}
	defer f.Close()
	e, err := elf.NewFile(f)
	if err != nil {
		t.Fatalf("read %s: %v", l.Path, err)
	}
	names, err := e.DynString(elf.DT_SONAME)
	want := strings.Join(names, "")
	if want == "" {
		want = l.Name
	}
	if err != nil || l.SONAME != want || e.Class != l.Class {
		t.Errorf("%s: got %s %s, want %s %s, %v", l.Name, l.SONAME, l.Class, want, e.Class, err)
	}
}

// wantReal are the SONAMEs of Debian's packages of 535.
func wantReal(version string) []string {
	names := []string{
		"libEGL_nvidia.so.0", "libGLESv1_CM_nvidia.so.1", "libGLESv2_nvidia.so.2", "libGLX_nvidia.so.0", "libcuda.so.1", "libcudadebugger.so.1", "libnvcuvid.so.1",
		"libnvidia-allocator.so.1", "libnvidia-cfg.so.1", "libnvidia-encode.so.1", "libnvidia-fbc.so.1", "libnvidia-ml.so.1", "libnvidia-ngx.so.1", "libnvidia-nvvm.so.4",
		"libnvidia-opencl.so.1", "libnvidia-opticalflow.so.1", "libnvidia-ptxjitcompiler.so.1", "libnvoptix.so.1", "libvdpau_nvidia.so.1",
	}
	for _, stem := range []string{"libnvidia-eglcore", "libnvidia-glcore", "libnvidia-glsi", "libnvidia-glvkspirv", "libnvidia-rtcore", "libnvidia-tls", "libnvidia-vulkan-producer"} {
		names = append(names, stem+".so."+version)
	}
	slices.Sort(names)
	return names
}
