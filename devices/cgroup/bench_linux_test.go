package cgroup

import (
	"testing"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
)

// BenchmarkAllowV2 is what a container's 12 rules cost on v2 without systemd:
// look, copy, prepend, load, replace. Each round finds a program that says no.
func BenchmarkAllowV2(b *testing.B) {
	cg := newCgroup2(b, "")
	w := startWitness(b, cg)
	text := runtimeFilter(b)
	l := layoutOf(b, w, cg)
	req := Request{PID: w.pid(), Rules: []Rule{char(511, 0, "rw"), char(511, 1, "rw")}}
	for _, minor := range []uint32{0, 1, 2, 3, 4, 5, 6, 7, 254, 255} {
		req.Rules = append(req.Rules, char(testMajor, minor, "rw"))
	}
	loaded, err := bpf.Load("", text.Encode())
	if err != nil {
		b.Fatal(err)
	}
	defer loaded.Close()
	for b.Loop() {
		b.StopTimer()
		if err := bpf.Attach(cg, loaded, 0); err != nil { // Takes the place of the last round's.
			b.Fatal(err)
		}
		b.StartTimer()
		if res, err := l.Allow(b.Context(), req); err != nil || res.Unchanged {
			b.Fatalf("Allow: got %+v, %v", res, err)
		}
	}
}

// BenchmarkDetect is what finding the cgroup costs.
func BenchmarkDetect(b *testing.B) {
	cg := newCgroup2(b, "")
	w := startWitness(b, cg)
	for b.Loop() {
		l, err := Detect(w.pid())
		if err != nil {
			b.Fatal(err)
		}
		_ = l.Close()
	}
}
