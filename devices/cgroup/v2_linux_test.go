package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
)

func char(major, minor uint32, access string) Rule {
	return Rule{Type: 'c', Major: major, Minor: minor, Access: access}
}

// attached returns the ids on a cgroup.
func attached(t *testing.T, l Layout) []uint32 {
	t.Helper()
	a, err := bpf.Query(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	return a.IDs
}

func TestAllowV2(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		flags uint32
	}{
		{"multi", bpf.FlagMulti},
		{"override", 1},
		{"exclusive", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cg := newCgroup2(t, "")
			w := startWitness(t, cg)
			attachFilter(t, cg, "", runtimeFilter(t), tt.flags)
			l := layoutOf(t, w, cg)
			if got := w.open("rw", testMajor, 0); got != "EPERM" {
				t.Fatalf("open before: got %s, want EPERM", got)
			}
			req := Request{PID: w.pid(), Rules: []Rule{char(testMajor, 0, "rw"), char(testMajor, 255, "rw"), char(511, 1, "rw")}}

			missing, err := l.Missing(req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(req.Rules, missing); diff != "" {
				t.Errorf("Missing before (-want +got):\n%s", diff)
			}
			res, err := l.Allow(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Result{Way: WayV2}, res); diff != "" {
				t.Errorf("Allow (-want +got):\n%s", diff)
			}
			checkExact(t, w)
			if missing, err = l.Missing(req); err != nil || len(missing) > 0 {
				t.Errorf("Missing after: got %v, %v, want none", missing, err)
			}

			before := attached(t, l)
			if res, err = l.Allow(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			if !res.Unchanged {
				t.Errorf("second Allow: got %+v, want Unchanged", res)
			}
			if diff := cmp.Diff(before, attached(t, l)); diff != "" {
				t.Errorf("programs after the second Allow (-want +got):\n%s", diff)
			}
		})
	}
}

// checkExact tries what was asked for (195:0, 195:255, 511:1) and its
// neighbours, which must be as before.
func checkExact(t *testing.T, w *witness) {
	t.Helper()
	tests := []struct {
		mode         string
		major, minor int
		want         string
	}{
		{"rw", 195, 0, "ENXIO"},
		{"r", 195, 0, "ENXIO"},
		{"w", 195, 255, "ENXIO"},
		{"rw", 511, 1, "ENXIO"},
		{"rw", 195, 1, "EPERM"},
		{"r", 195, 256, "EPERM"},
		{"rw", 511, 0, "EPERM"},
		{"rw", 511, 255, "EPERM"},
		{"r", 194, 0, "EPERM"},
		{"r", 1, 11, "EPERM"}, // kmsg.
		{"rw", 1, 3, "ok"},    // null.
		{"rw", 1, 5, "ok"},    // zero.
	}
	for _, tt := range tests {
		if got := w.open(tt.mode, tt.major, tt.minor); got != tt.want {
			t.Errorf("open %d:%d %s: got %s, want %s", tt.major, tt.minor, tt.mode, got, tt.want)
		}
	}
}
