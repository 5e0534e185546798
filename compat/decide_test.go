package compat

import (
	"debug/elf"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Models of every class, as devices fills them in.
var (
	a100   = GPU{Model: "NVIDIA A100-SXM4-80GB", Class: "datacenter", Brand: "nvidia", Capability: "8.0", ForwardCompat: true}
	t4     = GPU{Model: "Tesla T4", Class: "datacenter", Brand: "tesla", Capability: "7.5", ForwardCompat: true}
	a6000  = GPU{Model: "NVIDIA RTX A6000", Class: "workstation", Brand: "nvidiartx", Capability: "8.6", ForwardCompat: true}
	rtx309 = GPU{Model: "NVIDIA GeForce RTX 3090", Class: "geforce", Brand: "geforce", Capability: "8.6"}
	titan  = GPU{Model: "TITAN RTX", Class: "geforce", Brand: "titan", Capability: "7.5"}
	p4000  = GPU{Model: "Quadro P4000", Class: "unknown", Brand: "quadro", Capability: "6.1"}
	noName = GPU{Class: "unknown"}
)

// overlay makes a complete set of a version.
func overlay(tb testing.TB, version string, change ...func(*Overlay)) Overlay {
	tb.Helper()
	d := driver(tb, version)
	o := Overlay{Dir: "/usr/local/cuda-x/compat", Driver: d, Linked: true, Machine: elf.EM_X86_64}
	o.CUDA, _ = d.CUDA()
	for _, c := range change {
		c(&o)
	}
	o.Names = append(o.Names, o.Dir)
	return o
}

func at(dir string) func(*Overlay)         { return func(o *Overlay) { o.Dir = dir } }
func onHost(o *Overlay)                    { o.Host, o.Dir = true, "/opt/compat/"+o.Driver.String() }
func broken(o *Overlay)                    { o.Problem = "there is no libcuda in it" }
func lacks(names ...string) func(*Overlay) { return func(o *Overlay) { o.Missing = names } }
func lists(drivers ...int) func(*Overlay) {
	return func(o *Overlay) { o.Note = &Note{Drivers: drivers} }
}
func machine(m elf.Machine) func(*Overlay) { return func(o *Overlay) { o.Machine = m } }

// TestDecide has every row of the two tables in the design, and the cases that
// users report.
func TestDecide(t *testing.T) {
	t.Parallel()
	declared := func(version CUDA) Runtime {
		return Runtime{Version: version, Source: "env:CUDA_VERSION", Declared: true}
	}
	o := func(version string, change ...func(*Overlay)) Overlay { return overlay(t, version, change...) }
	for _, tt := range []struct {
		name     string
		driver   string
		override CUDA
		need     CUDA
		overlays []Overlay
		gpus     []GPU
		mode     Mode
		machine  elf.Machine

		want     Kind
		wantCUDA CUDA     // what the container gets
		library  string   // version of the overlay, "" is the host's
		words    []string // in the reason
		codes    []string // of the warnings
	}{
		// The table with real files.
		{
			name: "550-12.4", driver: "550.163.01", need: 12040,
			want: KindHost, wantCUDA: 12040, words: []string{"driver 550.163.01 supports CUDA 12.4", "new enough"},
		},
		{
			name: "550-11.8", driver: "550.163.01", need: 11080,
			want: KindHost, wantCUDA: 12040, words: []string{"needs CUDA 11.8 (CUDA_VERSION)"},
		},
		{
			name: "470-12.4", driver: "470.256.02", need: 12040,
			want: KindIncompatible, wantCUDA: 11040, words: []string{"needs driver 525 or newer", "no cuda-compat"},
		},
		{
			name: "450-11.8", driver: "450.248.02", need: 11080,
			want: KindMinor, wantCUDA: 11000, words: []string{"drivers from 450.80.02 on", "every CUDA 11 program"},
		},
		{
			name: "470-12.4-550", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.163.01")}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 12040, library: "550.163.01",
			words: []string{"supports CUDA 11.4 and the image needs CUDA 12.4", "/usr/local/cuda-x/compat (550.163.01, CUDA 12.4) is used", "GPU supports that"},
		},

		// The table of rules.
		{name: "same", driver: "535.54.03", need: 12020, want: KindHost, wantCUDA: 12020},
		{
			name: "host-newer-overlay-ignored", driver: "595.71.05", need: 12020, overlays: []Overlay{o("600.1")}, gpus: []GPU{a100},
			want: KindHost, wantCUDA: 13020,
		},
		{name: "minor-12", driver: "525.147.05", need: 12090, want: KindMinor, wantCUDA: 12000, words: []string{"drivers from 525 on"}},
		{name: "minor-13", driver: "580.65.06", need: 13020, want: KindMinor, wantCUDA: 13000},
		{
			name: "minor-below-minimum", driver: "450.51.06", need: 11010,
			want: KindIncompatible, wantCUDA: 11000, words: []string{"driver 450.80.02 or newer"},
		},
		{name: "minor-at-minimum", driver: "450.80.02", need: 11010, want: KindMinor, wantCUDA: 11000},
		{
			name: "no-minor-before-11", driver: "410.48", need: 10020,
			want: KindIncompatible, wantCUDA: 10000, words: []string{"driver 440 or newer"},
		},
		{name: "legacy-driver", driver: "390.157", need: 11000, want: KindIncompatible, wantCUDA: 9010},
		{
			name: "driver-older-than-table", driver: "340.108", need: 12000,
			want: KindIncompatible, words: []string{"older than CUDA 7.0"},
		},
		{
			name: "unknown-runtime", driver: "550.163.01",
			want: KindHost, wantCUDA: 12040, words: []string{"no CUDA version was found in the image"},
		},
		{
			name: "unknown-runtime-with-overlay", driver: "470.256.02", overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100},
			want: KindHost, wantCUDA: 11040,
		},
		{name: "unknown-driver", need: 12040, want: KindHost, words: []string{"version of the host's driver is not known"}},
		{
			name: "minor-but-overlay-usable", driver: "535.54.03", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 12040, library: "550.54.14",
		},

		// GPU classes.
		{
			name: "geforce", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{rtx309},
			want: KindIncompatible, wantCUDA: 11040,
			words: []string{"/usr/local/cuda-x/compat (550.54.14) is not used because GPU NVIDIA GeForce RTX 3090 does not support"},
		},
		{
			name: "geforce-minor", driver: "535.54.03", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{rtx309},
			want: KindMinor, wantCUDA: 12020, words: []string{"not used because GPU NVIDIA GeForce"},
		},
		{
			name: "tesla", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{t4},
			want: KindForward, wantCUDA: 12040, library: "550.54.14",
		},
		{
			name: "workstation", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a6000},
			want: KindForward, wantCUDA: 12040, library: "550.54.14",
		},
		{
			name: "titan", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{titan},
			want: KindIncompatible, wantCUDA: 11040,
		},
		{
			name: "quadro", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{p4000},
			want: KindIncompatible, wantCUDA: 11040,
		},
		{
			name: "unknown-model", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{noName},
			want: KindIncompatible, wantCUDA: 11040, words: []string{"GPU of unknown model"},
		},
		{
			name: "mixed-classes", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100, rtx309},
			want: KindIncompatible, wantCUDA: 11040, words: []string{"GeForce"},
		},
		{
			name: "mixed-but-fit", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100, a6000, t4},
			want: KindForward, wantCUDA: 12040, library: "550.54.14",
		},
		{
			name: "no-gpu", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")},
			want: KindForward, wantCUDA: 12040, library: "550.54.14",
		},

		// Versions and notes.
		{
			name: "overlay-older", driver: "550.163.01", need: 12080, overlays: []Overlay{o("535.54.03")}, gpus: []GPU{a100},
			want: KindMinor, wantCUDA: 12040, words: []string{"535.54.03 is older than the host's driver"},
		},
		{
			name: "overlay-same", driver: "550.54.14", need: 12080, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100},
			want: KindMinor, wantCUDA: 12040, words: []string{"host's own driver version"},
		},
		{
			name: "overlay-same-branch", driver: "550.54.14", need: 12080, overlays: []Overlay{o("550.163.01")}, gpus: []GPU{a100},
			want: KindMinor, wantCUDA: 12040, words: []string{"host's own driver branch 550"},
		},
		{
			name: "note-lists-own-branch", driver: "575.51.03", need: 13000,
			overlays: []Overlay{o("580.65.06", lists(535, 575))}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 13000, library: "580.65.06",
		},
		{
			name: "note-same-branch-newer", driver: "535.54.03", need: 12090,
			overlays: []Overlay{o("535.104.05", lists(535))}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 12020, library: "535.104.05",
		},
		{
			name: "note-same-branch-older", driver: "535.104.05", need: 12090,
			overlays: []Overlay{o("535.54.03", lists(535))}, gpus: []GPU{a100},
			want: KindMinor, wantCUDA: 12020, words: []string{"is older than the host's driver"},
		},
		{
			name: "note-lists", driver: "535.54.03", need: 13010,
			overlays: []Overlay{o("590.44.01", lists(535, 550, 570, 575, 580, 590))}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 13010, library: "590.44.01", words: []string{"made to work with drivers of branch 535"},
		},
		{
			name: "note-lists-not", driver: "525.147.05", need: 13010,
			overlays: []Overlay{o("590.44.01", lists(535, 550, 570, 575, 580, 590))}, gpus: []GPU{a100},
			want: KindIncompatible, wantCUDA: 12000,
			words: []string{"made for the driver branches 535, 550, 570, 575, 580, 590 and the host has 525"},
		},
		{
			name: "note-jetson", driver: "535.54.03", need: 13020, overlays: []Overlay{o("595.45.04", lists())}, gpus: []GPU{a100},
			want: KindIncompatible, wantCUDA: 12020, words: []string{"Jetson"},
		},
		{
			name: "no-note-feature-branch", driver: "495.29.05", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 12040, library: "550.54.14",
		},
		{
			name: "overlay-own-cuda-too-old", driver: "470.256.02", need: 12040, overlays: []Overlay{o("520.61.05")}, gpus: []GPU{a100},
			want: KindIncompatible, wantCUDA: 11040, words: []string{"its own CUDA 11.8 does not run 12.4 either"},
		},
		{
			name: "overlay-minor", driver: "470.256.02", need: 12040, overlays: []Overlay{o("530.30.02")}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 12010, library: "530.30.02",
		},
		{
			name: "overlay-newer-than-table", driver: "470.256.02", need: MakeCUDA(14, 0),
			overlays: []Overlay{o("650.1")}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 13041, library: "650.1",
		},
		{
			name: "note-cuda-wins-over-table", driver: "580.65.06", need: MakeCUDA(14, 0),
			overlays: []Overlay{o("650.1", lists(580), func(o *Overlay) { o.CUDA = 13060 })}, gpus: []GPU{a100},
			want: KindIncompatible, wantCUDA: 13000, words: []string{"its own CUDA 13.6 does not run 14.0"},
		},

		// Which of several.
		{
			name: "newest", driver: "470.256.02", need: 12000,
			overlays: []Overlay{o("525.60.13", at("/a")), o("550.54.14", at("/b")), o("535.54.03", at("/c"))}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 12040, library: "550.54.14", words: []string{"/b (550.54.14"},
		},
		{
			name: "newest-usable", driver: "470.256.02", need: 12000,
			overlays: []Overlay{o("590.44.01", lists(580)), o("535.54.03")}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 12020, library: "535.54.03",
		},
		{
			name: "image-before-host", driver: "470.256.02", need: 12000,
			overlays: []Overlay{o("550.54.14", at("/image")), o("550.54.14", onHost)}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 12040, library: "550.54.14", words: []string{"/image (550"},
		},
		{
			name: "host-dir", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14", onHost)}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 12040, library: "550.54.14", words: []string{"/opt/compat/550.54.14 of the host"},
		},
		{
			name: "several-rejected", driver: "550.54.14", need: 12080,
			overlays: []Overlay{o("470.57.02"), o("535.54.03"), o("525.60.13")}, gpus: []GPU{a100},
			want: KindMinor, wantCUDA: 12040, words: []string{"535.54.03 is older", "nor are 2 more"},
		},

		// Incomplete sets.
		{
			name: "problem", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14", broken)}, gpus: []GPU{a100},
			want: KindIncompatible, wantCUDA: 11040, words: []string{"because there is no libcuda in it"},
		},
		{
			name: "lacks-member", driver: "470.256.02", need: 12040,
			overlays: []Overlay{o("550.54.14", lacks("libnvidia-ptxjitcompiler.so.1"))}, gpus: []GPU{a100},
			want: KindForward, wantCUDA: 12040, library: "550.54.14", codes: []string{"compat-member-missing"},
		},
		{
			name: "other-machine", driver: "470.256.02", need: 12040,
			overlays: []Overlay{o("550.54.14", machine(elf.EM_AARCH64))}, gpus: []GPU{a100}, machine: elf.EM_X86_64,
			want: KindIncompatible, wantCUDA: 11040, words: []string{"another processor (AARCH64)"},
		},

		// Configuration.
		{
			name: "off", driver: "470.256.02", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100}, mode: ModeOff,
			want: KindIncompatible, wantCUDA: 11040, words: []string{"compat.mode is off"},
		},
		{
			name: "off-minor", driver: "535.54.03", need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100}, mode: ModeOff,
			want: KindMinor, wantCUDA: 12020,
		},
		{
			name: "force-geforce", driver: "470.256.02", need: 12040,
			overlays: []Overlay{o("550.54.14")}, gpus: []GPU{rtx309}, mode: ModeForce,
			want: KindForward, wantCUDA: 12040, library: "550.54.14",
			words: []string{"compat.mode is force"}, codes: []string{"compat-forced"},
		},
		{
			name: "force-branch", driver: "525.147.05", need: 13010,
			overlays: []Overlay{o("590.44.01", lists(580))}, gpus: []GPU{a100}, mode: ModeForce,
			want: KindForward, wantCUDA: 13010, library: "590.44.01", codes: []string{"compat-forced"},
		},
		{
			name: "force-not-needed", driver: "470.256.02", need: 12040,
			overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100}, mode: ModeForce,
			want: KindForward, wantCUDA: 12040, library: "550.54.14",
		},
		{
			name: "force-older", driver: "550.54.14", need: 12080, overlays: []Overlay{o("535.54.03")}, gpus: []GPU{a100}, mode: ModeForce,
			want: KindMinor, wantCUDA: 12040,
		},
		{
			name: "force-same-branch", driver: "550.54.14", need: 12080,
			overlays: []Overlay{o("550.163.01")}, gpus: []GPU{a100}, mode: ModeForce,
			want: KindMinor, wantCUDA: 12040,
		},
		{
			name: "force-host-newer", driver: "550.54.14", need: 12040,
			overlays: []Overlay{o("580.65.06")}, gpus: []GPU{a100}, mode: ModeForce,
			want: KindHost, wantCUDA: 12040,
		},
		{name: "override-up", driver: "470.256.02", override: 12040, need: 12040, want: KindHost, wantCUDA: 12040},
		{name: "override-down", driver: "550.54.14", override: 12020, need: 12040, want: KindMinor, wantCUDA: 12020},
		{name: "override-without-driver", override: 12020, need: 12040, want: KindMinor, wantCUDA: 12020},
		{
			name: "override-without-driver-overlay", override: 11040, need: 12040, overlays: []Overlay{o("550.54.14")}, gpus: []GPU{a100},
			want: KindIncompatible, wantCUDA: 11040, words: []string{"not known"},
		},

		// Drivers newer than the table.
		{name: "newer-in-table", driver: "620.10", need: 13040, want: KindHost, wantCUDA: 13041},
		{
			name: "newer-past-table", driver: "620.10", need: 13050,
			want: KindHost, wantCUDA: 13041, codes: []string{"driver-cuda-assumed"}, words: []string{"CUDA 13.4+"},
		},
		{name: "newer-override", driver: "620.10", override: 13050, need: MakeCUDA(14, 0), want: KindIncompatible, wantCUDA: 13050},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := Input{Driver: driver(t, tt.driver), DriverCUDA: tt.override, Overlays: tt.overlays, GPUs: tt.gpus, Mode: tt.mode, Machine: tt.machine}
			if tt.need.Known() {
				in.Runtime = declared(tt.need)
			}
			got := Decide(in)
			library := ""
			if got.Overlay != nil {
				library = got.Overlay.Driver.String()
			}
			if got.Kind != tt.want || got.EffectiveCUDA != tt.wantCUDA || library != tt.library || got.RuntimeCUDA != tt.need {
				t.Errorf("Decide() = %s, CUDA %s for %s, library %q (%s); want %s, CUDA %s, library %q",
					got.Kind, got.EffectiveCUDA, got.RuntimeCUDA, library, got.Reason, tt.want, tt.wantCUDA, tt.library)
			}
			for _, words := range tt.words {
				if !strings.Contains(got.Reason, words) {
					t.Errorf("reason %q lacks %q", got.Reason, words)
				}
			}
			if strings.ContainsAny(got.Reason, "\n\r") || got.Reason == "" || strings.HasSuffix(got.Reason, ".") {
				t.Errorf("reason %q is not one sentence for a list", got.Reason)
			}
			if diff := cmp.Diff(tt.codes, codes(got.Warnings)); diff != "" {
				t.Errorf("warning codes (-want +got):\n%s", diff)
			}
		})
	}
}

// codes returns the codes of warnings.
func codes(warnings []Warning) []string {
	var list []string
	for _, w := range warnings {
		list = append(list, w.Code)
	}
	return list
}

// Decide must not change what it is given.
func TestDecideIsPure(t *testing.T) {
	t.Parallel()
	in := Input{
		Driver: driver(t, "470.256.02"), Runtime: Runtime{Version: 12040}, GPUs: []GPU{a100},
		Overlays: []Overlay{overlay(t, "535.54.03", at("/a")), overlay(t, "550.54.14", at("/b")), overlay(t, "520.61.05", at("/c"))},
	}
	before := append([]Overlay(nil), in.Overlays...)
	first := Decide(in)
	first.Overlay.Dir = "/changed"
	if diff := cmp.Diff(before, in.Overlays); diff != "" {
		t.Errorf("overlays changed (-before +after):\n%s", diff)
	}
	second := Decide(in)
	if second.Overlay.Dir != "/b" || second.Reason != first.Reason {
		t.Errorf("second Decide() = %s, %q; want /b, %q", second.Overlay.Dir, second.Reason, first.Reason)
	}
}
