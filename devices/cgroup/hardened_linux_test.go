package cgroup

import (
	"fmt"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf/bpftest"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// Not parallel: the settings are the machine's.
func TestAllowHardened(t *testing.T) {
	need.Root(t)
	need.Harden(t)
	spec := []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}
	for _, harden := range []string{"1", "2"} {
		for _, restrict := range []string{"0", "1", "2"} {
			t.Run(fmt.Sprintf("harden %s restrict %s", harden, restrict), func(t *testing.T) {
				bpftest.Harden(t, harden, restrict)
				cg := newCgroup(t, cgroup2Root(t))
				w := startWitness(t, cg)
				program := attachFilter(t, cg, "", runtimeFilter(t), bpf.FlagMulti)
				l := layoutOf(t, w, cg)
				p, err := bpf.Open(program.ID)
				if err != nil {
					t.Fatal(err)
				}
				hidden := p.Text == nil
				blinded := len(p.Text) > len(runtimeFilter(t).Encode())
				_ = p.Close()
				if want := harden == "2" && !hidden; blinded != want {
					t.Errorf("program blinded: got %v, want %v", blinded, want)
				}
				if want := harden == "2" && restrict == "2"; hidden != want {
					t.Errorf("program hidden: got %v, want %v", hidden, want)
				}
				req := Request{PID: w.pid(), Rules: []Rule{char(testMajor, 0, "rw"), char(testMajor, 255, "rw"), char(511, 1, "rw")}}
				if hidden {
					_, err := l.Allow(t.Context(), req)
					wantRuleError(t, err, ErrHidden)
					_, err = l.Missing(req)
					wantRuleError(t, err, ErrHidden)
					if got := w.open("rw", testMajor, 0); got != "EPERM" {
						t.Errorf("open after the error: got %s, want EPERM", got)
					}
				}
				req.Spec = spec
				res, err := l.Allow(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				want := WayV2
				if hidden {
					want = WayV2Rebuilt
				}
				if res.Way != want || res.Unchanged {
					t.Errorf("Allow: got %+v, want way %s", res, want)
				}
				checkExact(t, w)
				if res, err = l.Allow(t.Context(), req); err != nil || !res.Unchanged {
					t.Errorf("second Allow: got %+v, %v, want Unchanged", res, err)
				}
				if len(attached(t, l)) != 1 {
					t.Errorf("programs: got %v, want one", attached(t, l))
				}
			})
		}
	}
}
