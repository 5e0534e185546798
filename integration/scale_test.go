package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// scale is a size of host and what a container asks of it.
type scale struct {
	gpus, mig int // mig devices on each GPU
	request   string
	gets      int // GPUs and MIG devices that the container gets
}

func (s scale) String() string {
	return fmt.Sprintf("%d-gpus-%d-mig-%s", s.gpus, s.gpus*s.mig, strings.ReplaceAll(s.request, ":", "."))
}

// scales are the points of the curve: all of a host, and little of a large one.
func scales() []scale {
	return []scale{
		{gpus: 1, request: "all", gets: 1},
		{gpus: 4, request: "all", gets: 4},
		{gpus: 16, request: "all", gets: 16},
		{gpus: 1, mig: 7, request: "all", gets: 8},
		{gpus: 16, mig: 7, request: "all", gets: 128},
		{gpus: 16, request: "0", gets: 1},
		{gpus: 16, mig: 7, request: "0", gets: 1},
		{gpus: 16, mig: 7, request: "3:4", gets: 2},
	}
}

// planner plans in this process: how long the hook thinks, without the start of
// a process.
func (s scale) planner(t lab.T) func() (hook.Plan, error) {
	h := lab.Host(t, lab.HostSpec{Driver: lab.MadeDriver(t, "535.261.03", 12020), GPUs: lab.GPUs(s.gpus, lab.A100)})
	if s.mig > 0 {
		h.MIG(t, s.mig)
	}
	b := lab.NewBundle(t, lab.Root(t, lab.Glibc), lab.Options{
		Host: h, Config: lab.NoCgroups, Env: []string{"NVIDIA_VISIBLE_DEVICES=" + s.request, "NVIDIA_DRIVER_CAPABILITIES=compute,utility"},
	})
	o := hook.Options{ConfigPath: filepath.Join(b.Dir, "config.toml"), HostRoot: h.Dir, BundleOverride: b.Dir}
	return func() (hook.Plan, error) { return hook.MakePlan(context.Background(), o, nil) }
}

// BenchmarkPlan is the curve: go test -bench Plan -run XXX ./integration.
func BenchmarkPlan(b *testing.B) {
	need.Root(b)
	for _, s := range scales() {
		plan := s.planner(b)
		b.Run(s.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := plan(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestPlanScales measures the curve and holds it to two rules: what a container
// does not get costs next to nothing, and what it gets costs no more for each
// piece where there are many.
func TestPlanScales(t *testing.T) {
	need.Root(t)
	took := map[scale]time.Duration{}
	for _, s := range scales() {
		plan := s.planner(t)
		var times []time.Duration
		for range 40 {
			start := time.Now()
			p, err := plan()
			times = append(times, time.Since(start))
			if err != nil || len(p.GPUs)+len(p.MIG) != s.gets {
				t.Fatalf("%v: %d GPUs and %d MIG devices, %v; want %d together", s, len(p.GPUs), len(p.MIG), err, s.gets)
			}
		}
		took[s] = slices.Min(times)
		t.Logf("%-28s %8.2f ms for %3d devices", s, float64(took[s].Microseconds())/1000, s.gets)
	}
	points := scales()
	one, sixteen, all := took[points[0]], took[points[2]], took[points[4]]
	const noise = 1500 * time.Microsecond
	if limit := 16*one + noise; sixteen > limit {
		t.Errorf("16 GPUs take %v, more than 16 times 1 GPU (%v)", sixteen, one)
	}
	if limit := 128*one + noise; all > limit {
		t.Errorf("16 GPUs and 112 MIG devices take %v, more than 128 times 1 GPU (%v)", all, one)
	}
	for _, s := range points[5:] {
		if limit := 3*one + noise; took[s] > limit {
			t.Errorf("%v takes %v: a container pays for what the host has (1 GPU of 1: %v)", s, took[s], one)
		}
	}
}
