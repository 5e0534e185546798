package compat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHide(t *testing.T) {
	t.Parallel()
	const dir = "/usr/local/cuda-12.4/compat"
	o := func(version string, change ...func(*Overlay)) Overlay {
		set := overlay(t, version, append([]func(*Overlay){at(dir)}, change...)...)
		set.Names = append(set.Names, "/usr/local/cuda/compat")
		return set
	}
	for _, tt := range []struct {
		name     string
		path     string
		driver   string
		need     CUDA
		overlays []Overlay
		gpus     []GPU
		mode     Mode

		want  []string
		codes []string
	}{
		{
			name: "older", path: "/usr/local/cuda/compat", driver: "595.71.05", need: 12040,
			overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100},
			want: []string{dir}, codes: []string{"compat-hidden"},
		},
		{
			name: "older-same-branch", path: "/usr/local/cuda/compat", driver: "550.163.01", need: 12040,
			overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100},
			want: []string{dir}, codes: []string{"compat-hidden"},
		},
		{
			name: "older-resolved-name", path: dir + "/", driver: "595.71.05", need: 12040, overlays: []Overlay{o("550.54.14")},
			want: []string{dir}, codes: []string{"compat-hidden"},
		},
		{
			name: "one-of-several", path: "/usr/local/nvidia/lib:/usr/local/nvidia/lib64;/usr/local/cuda/compat::/x", driver: "595.71.05", need: 12040,
			overlays: []Overlay{o("550.54.14")},
			want:     []string{dir}, codes: []string{"compat-hidden"},
		},
		{
			name: "twice", path: "/usr/local/cuda/compat:" + dir, driver: "595.71.05", need: 12040, overlays: []Overlay{o("550.54.14")},
			want: []string{dir}, codes: []string{"compat-hidden"},
		},
		{
			name: "geforce-newer", path: dir, driver: "535.54.03", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{rtx309},
			want: []string{dir}, codes: []string{"compat-hidden"},
		},
		{
			name: "geforce-mixed", path: dir, driver: "535.54.03", need: 12040,
			overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100, rtx309},
			want: []string{dir}, codes: []string{"compat-hidden"},
		},
		{
			name: "ngc", path: "/usr/local/cuda/compat/lib", driver: "595.71.05", need: 12040,
			overlays: []Overlay{o("550.54.14", at(dir+"/lib.real"), func(o *Overlay) { o.Names = []string{"/usr/local/cuda/compat/lib"} })},
			want:     []string{dir + "/lib.real"}, codes: []string{"compat-hidden"},
		},

		{name: "not-in-path", path: "/usr/local/nvidia/lib64", driver: "595.71.05", need: 12040, overlays: []Overlay{o("550.54.14")}},
		{name: "no-path", driver: "595.71.05", need: 12040, overlays: []Overlay{o("550.54.14")}},
		{name: "relative", path: "usr/local/cuda/compat:.", driver: "595.71.05", need: 12040, overlays: []Overlay{o("550.54.14")}},
		{name: "no-overlay", path: "/usr/local/cuda/compat", driver: "595.71.05", need: 12040},
		{name: "in-use", path: dir, driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100}},
		{
			name: "in-use-below", path: dir, driver: "535.54.03", need: 12040,
			overlays: []Overlay{o("470.57.02"), o("550.54.14", at(dir+"/lib.real"))}, gpus: []GPU{a100},
		},
		{
			name: "other-in-use", path: "/usr/local/cuda/compat", driver: "535.54.03", need: 12040,
			overlays: []Overlay{o("470.57.02"), o("550.54.14", at("/usr/local/cuda-12.4/compat2"))}, gpus: []GPU{a100},
			want: []string{dir}, codes: []string{"compat-hidden"},
		},
		{
			name: "host-set-in-use", path: "/usr/local/cuda/compat", driver: "535.54.03", need: 12040,
			overlays: []Overlay{o("470.57.02"), overlay(t, "550.54.14", onHost)}, gpus: []GPU{a100},
			want: []string{dir}, codes: []string{"compat-hidden"},
		},
		{
			name: "usable-but-unneeded", path: dir, driver: "535.54.03", need: 12020,
			overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100},
		},
		{name: "same-version", path: dir, driver: "550.54.14", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{rtx309}},
		{
			name: "not-linked", path: dir, driver: "595.71.05", need: 12040,
			overlays: []Overlay{o("550.54.14", func(o *Overlay) { o.Linked = false })},
		},
		{
			name: "link-decides-among-versions", path: dir, driver: "535.54.03", need: 12020,
			overlays: []Overlay{o("470.57.02", func(o *Overlay) { o.Linked = false }), o("550.54.14")}, gpus: []GPU{a100},
		},
		{
			name: "branch-not-listed", path: dir, driver: "535.54.03", need: 12020,
			overlays: []Overlay{o("550.54.14", lists(470))}, gpus: []GPU{a100}, codes: []string{"compat-forced-by-image"},
		},
		{
			name: "off", path: dir, driver: "595.71.05", need: 12040,
			overlays: []Overlay{o("550.54.14")}, mode: ModeOff, codes: []string{"compat-forced-by-image"},
		},
		{
			name: "force-geforce", path: dir, driver: "535.54.03", need: 12020,
			overlays: []Overlay{o("550.54.14")}, gpus: []GPU{rtx309}, mode: ModeForce,
		},
		{
			name: "force-older", path: dir, driver: "595.71.05", need: 12020,
			overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100}, mode: ModeForce,
			want: []string{dir}, codes: []string{"compat-hidden"},
		},
		{
			name: "system-directory", path: "/usr/local/cuda/compat", driver: "595.71.05", need: 12040,
			overlays: []Overlay{o("550.54.14", at("/usr/lib/x86_64-linux-gnu"))}, codes: []string{"compat-forced-by-image"},
		},
		{
			name: "root", path: "/usr/local/cuda/compat", driver: "595.71.05", need: 12040,
			overlays: []Overlay{o("550.54.14", at("/"))}, codes: []string{"compat-forced-by-image"},
		},
		{
			name: "usr-lib", path: "/usr/local/cuda/compat", driver: "595.71.05", need: 12040,
			overlays: []Overlay{o("550.54.14", at("/usr/lib"))}, codes: []string{"compat-forced-by-image"},
		},
		{name: "unknown-driver", path: dir, need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{rtx309}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := Input{Driver: driver(t, tt.driver), Runtime: Runtime{Version: tt.need}, Overlays: tt.overlays, GPUs: tt.gpus, Mode: tt.mode}
			got, warnings := Hide(tt.path, in, Decide(in))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Hide(%q) (-want +got):\n%s", tt.path, diff)
			}
			if diff := cmp.Diff(tt.codes, codes(warnings)); diff != "" {
				t.Errorf("warnings %v (-want +got):\n%s", warnings, diff)
			}
		})
	}
}
