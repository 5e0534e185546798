package cgroup

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
)

// faulty is the real kernel with faults: an old one, or one that fails.
type faulty struct {
	bpfKernel
	noReplace    bool  // As before Linux 5.6.
	replaceFails int   // The how-manieth replacement fails, from 1 on; 0 for none.
	detachFails  int   // The same for detaching.
	with         error // How it fails.
	queryFails   error
	loadFails    error

	replaced, detached int
}

func (k *faulty) query(cgroup *os.File) (bpf.Attached, error) {
	if k.queryFails != nil {
		return bpf.Attached{}, k.queryFails
	}
	return k.bpfKernel.query(cgroup)
}

func (k *faulty) load(text []byte) (*bpf.Program, error) {
	if k.loadFails != nil {
		return nil, k.loadFails
	}
	return k.bpfKernel.load(text)
}

func (k *faulty) replace(cgroup *os.File, program, old *bpf.Program) error {
	k.replaced++
	if k.replaced == k.replaceFails {
		return k.with
	}
	if k.noReplace {
		return unix.EINVAL
	}
	return k.bpfKernel.replace(cgroup, program, old)
}

func (k *faulty) detach(cgroup *os.File, program *bpf.Program) error {
	k.detached++
	if k.detached == k.detachFails {
		return k.with
	}
	return k.bpfKernel.detach(cgroup, program)
}

// twoPrograms is a container's cgroup with two programs that both say no.
func twoPrograms(t *testing.T) (*witness, Layout) {
	t.Helper()
	cg := newCgroup2(t, "")
	w := startWitness(t, cg)
	attachFilter(t, cg, "", runtimeFilter(t), bpf.FlagMulti)
	attachFilter(t, cg, "other", runtimeFilter(t), bpf.FlagMulti)
	return w, layoutOf(t, w, cg)
}

func requestFor(w *witness) Request {
	return Request{PID: w.pid(), Rules: []Rule{char(testMajor, 0, "rw"), char(testMajor, 255, "rw"), char(511, 1, "rw")}}
}

func TestAllowFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		kernel  faulty
		wantErr error // The old state must stand.
	}{
		{name: "two programs"},
		{name: "no replace", kernel: faulty{noReplace: true}},
		{name: "second replacement fails", kernel: faulty{replaceFails: 2, with: unix.EBUSY}, wantErr: unix.EBUSY},
		{name: "first replacement fails", kernel: faulty{replaceFails: 1, with: unix.EBUSY}, wantErr: unix.EBUSY},
		{name: "no replace, first detach fails", kernel: faulty{noReplace: true, detachFails: 1, with: unix.EBUSY}, wantErr: unix.EBUSY},
		{name: "no replace, second detach fails", kernel: faulty{noReplace: true, detachFails: 2, with: unix.EBUSY}, wantErr: unix.EBUSY},
		{name: "program gone meanwhile", kernel: faulty{replaceFails: 2, with: unix.ENOENT}},
		{name: "program gone meanwhile, no replace", kernel: faulty{noReplace: true, detachFails: 1, with: unix.ENOENT}},
		{name: "load fails", kernel: faulty{loadFails: unix.EINVAL}, wantErr: unix.EINVAL},
		{name: "query fails", kernel: faulty{queryFails: unix.EINVAL}, wantErr: unix.EINVAL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, l := twoPrograms(t)
			l.kernel = &tt.kernel
			before := attached(t, l)
			_, err := l.Allow(t.Context(), requestFor(w))
			if !errors.Is(err, tt.wantErr) {
				t.Fatalf("Allow: got %v, want %v", err, tt.wantErr)
			}
			after := attached(t, l)
			if len(after) != 2 {
				t.Errorf("programs: got %v, want two", after)
			}
			if tt.wantErr == nil {
				checkExact(t, w)
				return
			}
			var rule *RuleError
			if !errors.As(err, &rule) {
				t.Errorf("Allow: got %T, want a RuleError", err)
			}
			seen := map[uint32]bool{after[0]: true, after[1]: true}
			if diff := cmp.Diff(map[uint32]bool{before[0]: true, before[1]: true}, seen); diff != "" {
				t.Errorf("programs after the error (-want +got):\n%s", diff)
			}
			if got := w.open("rw", testMajor, 0); got != "EPERM" {
				t.Errorf("open after the error: got %s, want EPERM", got)
			}
		})
	}
}

// A program that goes away at each try ends in an error, not in a loop.
func TestAllowRacesForEver(t *testing.T) {
	t.Parallel()
	w, l := twoPrograms(t)
	l.kernel = &vanishing{}
	_, err := l.Allow(t.Context(), requestFor(w))
	if !errors.Is(err, errRaced) {
		t.Errorf("Allow: got %v, want errRaced", err)
	}
}

type vanishing struct{ bpfKernel }

func (*vanishing) replace(*os.File, *bpf.Program, *bpf.Program) error { return unix.ENOENT }

// While programs are changed there is no moment without a filter.
func TestAllowNeverOpens(t *testing.T) {
	t.Parallel()
	for _, noReplace := range []bool{false, true} {
		w, l := twoPrograms(t)
		l.kernel = &faulty{noReplace: noReplace}
		stop := make(chan struct{})
		done := make(chan string)
		go func() {
			for {
				select {
				case <-stop:
					close(done)
					return
				default:
				}
				if got := w.open("r", 1, 11); got != "EPERM" {
					done <- got
					return
				}
			}
		}()
		for n := range uint32(100) {
			if _, err := l.Allow(t.Context(), Request{PID: w.pid(), Rules: []Rule{char(testMajor, n, "rw")}}); err != nil {
				t.Fatal(err)
			}
		}
		close(stop)
		if got := <-done; got != "" {
			t.Errorf("kmsg while programs change: got %s, want EPERM", got)
		}
		if got := len(attached(t, l)); got != 2 {
			t.Errorf("programs: got %d, want 2", got)
		}
	}
}
