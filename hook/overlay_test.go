package hook

import (
	"path"
	"slices"
	"testing"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/hook/config"
)

func TestBuildOverlay(t *testing.T) {
	t.Parallel()
	overlay := compat.Overlay{
		Dir:     "/usr/local/cuda-12.8/compat",
		Members: []compat.Member{{SONAME: "libcuda.so.1", File: "libcuda.so.570.1"}, {SONAME: "libnvidia-ptxjitcompiler.so.1", File: "libnvidia-ptxjitcompiler.so.570.1"}, {SONAME: "libnvidia-pkcs11.so.570.1", File: "libnvidia-pkcs11.so.570.1"}},
	}
	tests := []struct {
		name       string
		host       bool
		direct     bool
		wantDir    string
		wantLink   string
		wantMounts int // of the overlay's files
	}{
		{"in the image", false, false, "/usr/local/nvidia/lib64", "/usr/local/cuda-12.8/compat/libcuda.so.570.1", 0},
		{"on the host", true, false, "/usr/local/nvidia/lib64", "libcuda.so.570.1", 3},
		{"in the image, direct", false, true, testLibDir, "/usr/local/cuda-12.8/compat/libcuda.so.570.1", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := someFacts()
			o := overlay
			o.Host = tt.host
			f.Decision.Kind, f.Decision.Overlay = compat.KindForward, &o
			if tt.direct {
				f.Config.Mounts.Layout = config.LayoutDirect
			}
			p := build(t, f)
			if got := p.link(tt.wantDir + "/libcuda.so.1"); got != tt.wantLink {
				t.Errorf("libcuda.so.1: got %q, want %q", got, tt.wantLink)
			}
			if got := p.link(tt.wantDir + "/libnvidia-pkcs11.so.570.1"); tt.host != (got == "") {
				t.Errorf("libnvidia-pkcs11.so.570.1: got a link to %q", got)
			}
			fromOverlay := 0
			for _, m := range p.Mounts {
				if m.Target == tt.wantDir+"/libcuda.so.550.163.01" {
					t.Errorf("the host's libcuda is visible beside the overlay's")
				}
				if m.Source == o.Dir+"/"+path.Base(m.Target) {
					fromOverlay++
				}
			}
			if fromOverlay != tt.wantMounts {
				t.Errorf("files of the overlay mounted: got %d, want %d", fromOverlay, tt.wantMounts)
			}
			seen := o.Dir // in the container
			if tt.host {
				seen = tt.wantDir
			}
			if p.Compat.Overlay != seen {
				t.Errorf("overlay in the plan: got %q, want %q", p.Compat.Overlay, seen)
			}
		})
	}
}

// In layout "direct" a library of the image's own is left, and the loader cache
// names the file of ours; a link into a cuda-compat set is not the image's.
func TestBuildDirectOwnLibrary(t *testing.T) {
	t.Parallel()
	const name, compatDir = testLibDir + "/libcuda.so.1", "/usr/local/cuda-12.8/compat"
	for _, tt := range []struct {
		name     string
		place    Place
		wantLink string
		replaces string
		listed   string
	}{
		{"nothing", Place{}, "libcuda.so.550.163.01", "", name},
		{"leftover", Place{Kind: Empty}, "libcuda.so.550.163.01", "", name},
		{"ours", Place{Kind: Link, Target: "libcuda.so.550.163.01"}, "libcuda.so.550.163.01", "", name},
		{"file", Place{Kind: File}, "", "", testLibDir + "/libcuda.so.550.163.01"},
		{"link", Place{Kind: Link, Target: "libcuda.so.535.1"}, "", "", testLibDir + "/libcuda.so.550.163.01"},
		{"link into compat", Place{Kind: Link, Target: compatDir + "/libcuda.so.570.1"}, "libcuda.so.550.163.01", compatDir + "/libcuda.so.570.1", name},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := someFacts()
			f.Config.Mounts.Layout = config.LayoutDirect
			f.Overlays = []compat.Overlay{{Dir: compatDir}}
			f.Places[name] = tt.place
			p := build(t, f)
			replaces, listed := "", ""
			for _, l := range p.Symlinks {
				if l.Path == name {
					replaces = l.Replaces
				}
			}
			for _, l := range p.Loader.Libraries {
				if l.Name == libcuda {
					listed = l.Path
				}
			}
			if got := p.link(name); got != tt.wantLink || replaces != tt.replaces || listed != tt.listed {
				t.Errorf("link %q in the place of %q, listed as %q; want %q, %q, %q", got, replaces, listed, tt.wantLink, tt.replaces, tt.listed)
			}
			if warned := slices.ContainsFunc(p.Warnings, func(w Warning) bool { return w.Code == "image-file" }); warned != (tt.wantLink == "") {
				t.Errorf("warnings %v", p.Warnings)
			}
		})
	}
}
