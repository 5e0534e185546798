package driver

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const v535 = "535.309.01"

// query asks for capabilities of a 535 driver.
func query(caps ...string) Query {
	return Query{Version: v535, Capabilities: caps, Machine: elf.EM_X86_64}
}

// sonames are the SONAMEs of a result, sorted.
func sonames(libs []Library) []string {
	var out []string
	for _, l := range libs {
		out = append(out, l.SONAME)
	}
	slices.Sort(out)
	return out
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	computeLibs := []string{
		"libcuda.so.1", "libcudadebugger.so.1", "libnvidia-allocator.so.1", "libnvidia-nvvm.so.4", "libnvidia-opencl.so.1",
		"libnvidia-pkcs11-openssl3.so." + v535, "libnvidia-ptxjitcompiler.so.1",
	}
	utilityLibs := []string{"libnvidia-cfg.so.1", "libnvidia-ml.so.1"}
	videoLibs := []string{"libnvcuvid.so.1", "libnvidia-encode.so.1", "libnvidia-opticalflow.so.1", "libvdpau_nvidia.so.1"}
	graphicsLibs := []string{
		"libEGL_nvidia.so.0", "libGLESv1_CM_nvidia.so.1", "libGLESv2_nvidia.so.2", "libGLX_nvidia.so.0", "libnvidia-allocator.so.1", "libnvidia-api.so.1",
		"libnvidia-egl-gbm.so.1", "libnvidia-egl-wayland.so.1", "libnvidia-eglcore.so." + v535, "libnvidia-fbc.so.1", "libnvidia-glcore.so." + v535,
		"libnvidia-glsi.so." + v535, "libnvidia-glvkspirv.so." + v535, "libnvidia-rtcore.so." + v535, "libnvidia-tls.so." + v535, "libnvoptix.so.1",
	}
	join := func(lists ...[]string) []string {
		all := slices.Concat(lists...)
		slices.Sort(all)
		return slices.Compact(all)
	}
	with := func(cache, stale string) string {
		return driverLines(ubuntu, v535, "") + stale + cache
	}
	for _, h := range []struct{ name, host string }{
		{name: "fresh-cache", host: with(cacheLines(ubuntu, v535, ""), "old\n")},
		{name: "stale-cache", host: with("cache libcuda.so.1 "+ubuntu+"/libcuda.so.1\nstale\n", "")},
		{name: "no-cache", host: with("", "")},
	} {
		for _, tt := range []struct {
			name string
			caps []string
			want []string
		}{
			{name: "utility", caps: []string{"utility"}, want: utilityLibs},
			{name: "compute", caps: []string{"compute"}, want: computeLibs},
			{name: "video", caps: []string{"video"}, want: join(computeLibs, videoLibs)},
			{name: "graphics", caps: []string{"graphics"}, want: graphicsLibs},
			{name: "display", caps: []string{"display"}, want: graphicsLibs},
			{name: "ngx", caps: []string{"ngx"}, want: []string{"libnvidia-ngx.so.1"}},
			{name: "none"},
			{
				name: "all", caps: []string{"utility", "compute", "video", "graphics", "display", "ngx", "compat32"},
				want: join(utilityLibs, computeLibs, videoLibs, graphicsLibs, []string{"libnvidia-ngx.so.1"}),
			},
		} {
			t.Run(h.name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				files, err := Find(open(t, host(t, h.host)), query(tt.caps...))
				if err != nil {
					t.Fatalf("Find: %v", err)
				}
				if diff := cmp.Diff(tt.want, sonames(files.Libraries)); diff != "" {
					t.Errorf("SONAMEs (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestLibraryFields(t *testing.T) {
	t.Parallel()
	files, err := Find(open(t, host(t, driverLines(ubuntu, v535, "")+"link "+ubuntu+"/libnvcuvid.so libnvcuvid.so.1")), query("video", "utility"))
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	got := map[string]Library{}
	for _, l := range files.Libraries {
		got[l.SONAME] = l
	}
	for _, want := range []Library{
		{
			Path: ubuntu + "/libcuda.so." + v535, Name: "libcuda.so." + v535, SONAME: "libcuda.so.1", Links: []string{"libcuda.so"},
			Class: elf.ELFCLASS64, Capability: "compute", Listed: true, Direct: true,
		},
		{
			Path: ubuntu + "/libnvcuvid.so." + v535, Name: "libnvcuvid.so." + v535, SONAME: "libnvcuvid.so.1", Links: []string{"libnvcuvid.so"},
			Class: elf.ELFCLASS64, Capability: "video", Listed: true, Direct: true,
		},
		{
			Path: ubuntu + "/libnvidia-encode.so." + v535, Name: "libnvidia-encode.so." + v535, SONAME: "libnvidia-encode.so.1", // no .so on this host
			Class: elf.ELFCLASS64, Capability: "video", Listed: true, Direct: true,
		},
		{
			Path: ubuntu + "/vdpau/libvdpau_nvidia.so." + v535, Name: "libvdpau_nvidia.so." + v535, SONAME: "libvdpau_nvidia.so.1",
			Class: elf.ELFCLASS64, Capability: "video", Listed: true, Direct: true,
		},
		{
			Path: ubuntu + "/libnvidia-opticalflow.so." + v535, Name: "libnvidia-opticalflow.so." + v535, SONAME: "libnvidia-opticalflow.so.1",
			Links: []string{"libnvidia-opticalflow.so"}, Class: elf.ELFCLASS64, Capability: "video", Listed: true, Direct: true,
		},
		{
			Path: ubuntu + "/libnvidia-cfg.so." + v535, Name: "libnvidia-cfg.so." + v535, SONAME: "libnvidia-cfg.so.1",
			Class: elf.ELFCLASS64, Capability: "utility", Listed: true,
		},
	} {
		if diff := cmp.Diff(want, got[want.SONAME]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.SONAME, diff)
		}
	}
}

// TestChoice holds what is taken and what is left of one directory.
func TestChoice(t *testing.T) {
	t.Parallel()
	base := "lib /usr/lib64/libcuda.so." + v535 + " libcuda.so.1\n"
	entry := "cache libcuda.so.1 /usr/lib64/libcuda.so." + v535 + "\n"
	for _, tt := range []struct {
		name    string
		host    string
		caps    []string
		include []string
		exclude []string
		want    []string // beside libcuda.so.1
		code    string
	}{
		{
			name: "brand-new",
			host: "lib /usr/lib64/libnvidia-brandnew.so." + v535 + " libnvidia-brandnew.so.1",
			want: []string{"libnvidia-brandnew.so.1"},
			code: "unlisted-library",
		},
		{
			name: "brand-new-in-stale-cache",
			host: "lib /usr/lib64/libnvidia-brandnew.so." + v535 + " libnvidia-brandnew.so.1\n" + entry + "stale",
			want: []string{"libnvidia-brandnew.so.1"},
			code: "unlisted-library",
		},
		{
			name: "brand-new-in-fresh-cache",
			host: "lib /usr/lib64/libnvbrandnew.so." + v535 + " libnvbrandnew.so.1\nlink /usr/lib64/libnvbrandnew.so.1 libnvbrandnew.so." + v535 + "\nold\n" +
				entry + "cache libnvbrandnew.so.1 /usr/lib64/libnvbrandnew.so.1",
			want: []string{"libnvbrandnew.so.1"}, code: "unlisted-library",
		},
		{name: "brand-new-of-other-version", host: "lib /usr/lib64/libnvidia-brandnew.so.550.54.14 libnvidia-brandnew.so.1"},
		{name: "brand-new-without-compute", caps: []string{"graphics"}, host: "lib /usr/lib64/libnvidia-brandnew.so." + v535},
		{
			name:    "brand-new-excluded",
			exclude: []string{"libnvidia-brandnew*"},
			host:    "lib /usr/lib64/libnvidia-brandnew.so." + v535,
		},
		{
			name: "vendor-neutral",
			host: "lib /usr/lib64/libGL.so." + v535 + "\nlib /usr/lib64/libEGL.so." + v535 + "\nlib /usr/lib64/libGLX.so.0\nlib /usr/lib64/libGLdispatch.so.0\nlib /usr/lib64/libOpenGL.so.0\n" +
				"lib /usr/lib64/libGLESv2.so." + v535 + "\nlib /usr/lib64/libGLESv1_CM.so." + v535 + "\nlib /usr/lib64/libOpenCL.so.1\nlib /usr/lib64/libcudart.so.12\nlib /usr/lib64/libGLX_indirect.so.0\n" +
				"lib /usr/lib64/libOpenCL.so." + v535 + "\nlib /usr/lib64/libcudart.so." + v535 + "\nlib /usr/lib64/libnvidia-container.so." + v535 + "\nlib /usr/lib64/libnvinfer.so.8",
		},
		{
			name: "nvvm-without-version",
			host: "lib /usr/lib64/libnvidia-nvvm.so.4 libnvidia-nvvm.so.4\n" +
				"lib /usr/lib64/libnvidia-nvvm70.so.4 libnvidia-nvvm70.so.4",
			want: []string{"libnvidia-nvvm.so.4", "libnvidia-nvvm70.so.4"},
		},
		{
			name: "nvvm-of-other-version",
			host: "lib /usr/lib64/libnvidia-nvvm.so.550.54.14 libnvidia-nvvm.so.4\n" +
				"link /usr/lib64/libnvidia-nvvm.so.4 libnvidia-nvvm.so.550.54.14",
		},
		{
			name: "nvvm-elsewhere",
			host: "lib /usr/lib/libnvidia-nvvm70.so.4 libnvidia-nvvm70.so.4\n" +
				"cache libnvidia-nvvm70.so.4 /usr/lib/libnvidia-nvvm70.so.4",
		},
		{
			name: "two-egl",
			caps: []string{"graphics"},
			host: "lib /usr/lib64/libnvidia-egl-gbm.so.1.1.0 libnvidia-egl-gbm.so.1\n" +
				"lib /usr/lib64/libnvidia-egl-gbm.so.1.1.2 libnvidia-egl-gbm.so.1\n" +
				"link /usr/lib64/libnvidia-egl-gbm.so.1 libnvidia-egl-gbm.so.1.1.2",
			want: []string{"libnvidia-egl-gbm.so.1"},
		},
		{name: "no-soname", host: "lib /usr/lib64/libcudadebugger.so." + v535, want: []string{"libcudadebugger.so." + v535}},
		{name: "junk", host: "junk /usr/lib64/libcudadebugger.so." + v535, code: "broken-driver-file"},
		{name: "empty", host: "empty /usr/lib64/libcudadebugger.so." + v535, code: "broken-driver-file"},
		{name: "fifo", host: "fifo /usr/lib64/libcudadebugger.so." + v535, code: "broken-driver-file"},
		{
			name: "loop",
			host: "link /usr/lib64/libcudadebugger.so." + v535 + " libcudadebugger.so." + v535,
			code: "broken-driver-file",
		},
		{name: "directory", host: "dir /usr/lib64/libcudadebugger.so." + v535, code: "broken-driver-file"},
		{name: "dangling", host: "link /usr/lib64/libcudadebugger.so." + v535 + " /nowhere"},
		{name: "foreign-machine", host: "lib /usr/lib64/libcudadebugger.so." + v535 + " arm64", code: "broken-driver-file"},
		{
			name: "cache-names-what-is-gone",
			host: "old\n" + entry + "cache libcudadebugger.so.1 /usr/lib64/libcudadebugger.so.1",
			code: "broken-driver-file",
		},
		{name: "module-of-xorg", caps: []string{"display"}, host: "lib /usr/lib64/libglxserver_nvidia.so." + v535},
		{
			name:    "excluded-by-soname",
			exclude: []string{"libcuda.so.1", "*debugger*"},
			host:    "lib /usr/lib64/libcudadebugger.so." + v535,
		},
		{
			name:    "excluded-by-path",
			exclude: []string{"/usr/lib64/libcudadebugger*"},
			host:    "lib /usr/lib64/libcudadebugger.so." + v535,
		},
		{
			name:    "included",
			include: []string{"libnvidia-fbc*"},
			host:    "lib /usr/lib64/libnvidia-fbc.so." + v535 + " libnvidia-fbc.so.1",
			want:    []string{"libnvidia-fbc.so.1"},
		},
		{
			name:    "included-by-path",
			include: []string{"/srv/x/lib*.so*"},
			host:    "lib /srv/x/libmine.so.3 libmine.so.3",
			want:    []string{"libmine.so.3"},
		},
		{
			name:    "included-neutral",
			include: []string{"libOpenCL*"},
			host:    "lib /usr/lib64/libOpenCL.so.1",
			code:    "include-refused",
		},
		{
			name:    "included-other-version",
			include: []string{"libnvidia-fbc*"},
			host:    "lib /usr/lib64/libnvidia-fbc.so.550.54.14",
			code:    "include-refused",
		},
		{name: "included-nothing", include: []string{"libnothing*", "/no/such/*"}, code: "include-unmatched"},
		{
			name:    "excluded-wins",
			include: []string{"libnvidia-fbc*"},
			exclude: []string{"*fbc*"},
			host:    "lib /usr/lib64/libnvidia-fbc.so." + v535,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := query("compute")
			if tt.caps != nil {
				q = query(tt.caps...)
			}
			q.Include, q.Exclude = tt.include, tt.exclude
			files, err := Find(open(t, host(t, base+tt.host)), q)
			if err != nil {
				t.Fatalf("Find: %v", err)
			}
			got := slices.DeleteFunc(sonames(files.Libraries), func(s string) bool { return s == "libcuda.so.1" })
			if diff := cmp.Diff(tt.want, got, cmp.Transformer("nil", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
				t.Errorf("SONAMEs (-want +got):\n%s", diff)
			}
			if tt.code != "" && !hasCode(files, tt.code) {
				t.Errorf("warnings: got %v, want one of code %q", files.Warnings, tt.code)
			}
			for _, l := range files.Libraries {
				if listed := !strings.Contains(l.Name, "brandnew") && !strings.Contains(l.Name, "mine"); l.Listed != listed {
					t.Errorf("%s: Listed: got %v, want %v", l.Name, l.Listed, listed)
				}
			}
		})
	}
}
