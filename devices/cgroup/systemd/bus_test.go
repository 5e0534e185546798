package systemd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/systemd"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/systemd/systemdtest"
)

const scope = "docker-0a1b.scope"

func unit() systemd.Unit {
	return systemd.Unit{
		Name: scope, ControlGroup: "/system.slice/" + scope, Policy: "strict",
		Allow: []systemd.Device{{Path: "/dev/char/1:3", Access: "rwm"}},
		Pins:  []string{"/sys/fs/bpf/crun/a"},
	}
}

// limit is what a call may take that the server does not answer.
const limit = 200 * time.Millisecond

func connect(t *testing.T, s *systemdtest.Server) (context.Context, *systemd.Bus, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	b, err := systemd.Dial(ctx, []systemd.Address{s.Start(t)})
	if b != nil {
		t.Cleanup(func() { _ = b.Close() })
	}
	return ctx, b, err
}

func TestScope(t *testing.T) {
	t.Parallel()
	s := &systemdtest.Server{Version: "252.39-1", Units: map[string]systemd.Unit{scope: unit()}}
	ctx, b, err := connect(t, s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Scope(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unit(), got); diff != "" {
		t.Errorf("Scope (-want +got):\n%s", diff)
	}
	if v, err := b.Version(ctx); v != "252.39-1" || err != nil {
		t.Errorf("Version: got %q, %v", v, err)
	}
	more := []systemd.Device{{Path: "/dev/char/195:0", Access: "rw"}, {Path: "/dev/char/195:255", Access: "rw"}}
	if err := b.Allow(ctx, scope, more); err != nil {
		t.Fatal(err)
	}
	want := append(unit().Allow, more...)
	if diff := cmp.Diff(want, s.Unit(scope).Allow); diff != "" {
		t.Errorf("DeviceAllow (-want +got):\n%s", diff)
	}
	first := []systemd.Device{{Path: "/dev/char/511:0", Access: "rw"}, {Path: "/dev/char/195:0", Access: "m"}}
	u, err := b.Scope(ctx, scope)
	if err == nil {
		err = b.AllowFirst(ctx, u, first)
	}
	if err != nil {
		t.Fatal(err)
	}
	first[1].Access = "mrw" // What the unit had stays.
	want = append(first, unit().Allow[0], more[1])
	if diff := cmp.Diff(want, s.Unit(scope).Allow); diff != "" {
		t.Errorf("DeviceAllow after AllowFirst (-want +got):\n%s", diff)
	}
	if got, err := b.Scope(ctx, "unknown.scope"); err != nil || got.ControlGroup != "" || got.HasPolicy() {
		t.Errorf("Scope of an unknown unit: got %+v, %v, want an empty one", got, err)
	}
}

// An empty name would change the caller's own unit.
func TestBadNames(t *testing.T) {
	t.Parallel()
	s := &systemdtest.Server{}
	ctx, b, err := connect(t, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".scope", "container", "ssh.service", "a/b.scope", "a\x00.scope"} {
		if err := b.Allow(ctx, name, nil); !errors.Is(err, systemd.ErrUnitName) {
			t.Errorf("Allow(%q): got %v, want ErrUnitName", name, err)
		}
		if err := b.AllowFirst(ctx, systemd.Unit{Name: name}, nil); !errors.Is(err, systemd.ErrUnitName) {
			t.Errorf("AllowFirst(%q): got %v, want ErrUnitName", name, err)
		}
		if _, err := b.Scope(ctx, name); !errors.Is(err, systemd.ErrUnitName) {
			t.Errorf("Scope(%q): got %v, want ErrUnitName", name, err)
		}
	}
	if calls := s.Calls(); len(calls) > 0 {
		t.Errorf("calls: got %v, want none", calls)
	}
}

func TestMisbehaviour(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode       systemdtest.Mode
		dial, ask  bool // What still works.
		set        bool
		wantTimout bool
	}{
		{mode: systemdtest.Honest, dial: true, ask: true, set: true},
		{mode: systemdtest.NoPins, dial: true, ask: true, set: true},
		{mode: systemdtest.HangAtAuth, wantTimout: true},
		{mode: systemdtest.HangAtCall, dial: true, wantTimout: true},
		{mode: systemdtest.HangAtSet, dial: true, ask: true, wantTimout: true},
		{mode: systemdtest.Refuse, dial: true, ask: true},
		{mode: systemdtest.WrongTypes, dial: true},
		{mode: systemdtest.BreakOff, dial: true},
		{mode: systemdtest.Garbage, dial: true},
		{mode: systemdtest.HalfMessage, dial: true},
	}
	for _, tt := range tests {
		t.Run(string("mode "+tt.mode), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			ctx, b, err := connect(t, &systemdtest.Server{Mode: tt.mode, Units: map[string]systemd.Unit{scope: unit()}})
			if (err == nil) != tt.dial {
				t.Fatalf("Dial: got %v, want success %v", err, tt.dial)
			}
			if err == nil {
				if _, err = b.Scope(ctx, scope); (err == nil) != tt.ask {
					t.Errorf("Scope: got %v, want success %v", err, tt.ask)
				}
			}
			if tt.ask {
				if err = b.Allow(ctx, scope, unit().Allow); (err == nil) != tt.set {
					t.Errorf("Allow: got %v, want success %v", err, tt.set)
				}
			}
			if got := errors.Is(err, context.DeadlineExceeded); got != tt.wantTimout {
				t.Errorf("got %v; a deadline: %v, want %v", err, got, tt.wantTimout)
			}
			if took := time.Since(start); took > 10*limit {
				t.Errorf("took %v, want an end at %v", took, limit)
			}
		})
	}
}

func TestDialNothing(t *testing.T) {
	t.Parallel()
	s := &systemdtest.Server{Units: map[string]systemd.Unit{scope: unit()}}
	second := s.Start(t)
	second.Private = true // Says no hello.
	nowhere := systemd.Address{Path: t.TempDir() + "/none, with: a=b;c"}
	b, err := systemd.Dial(t.Context(), []systemd.Address{nowhere, second})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if u, err := b.Scope(t.Context(), scope); err != nil || u.Policy != "strict" {
		t.Errorf("Scope at the second address: got %+v, %v", u, err)
	}
	for _, list := range [][]systemd.Address{nil, {nowhere}} {
		if b, err := systemd.Dial(t.Context(), list); err == nil || b != nil {
			t.Errorf("Dial(%v): got %v, want an error", list, err)
		}
	}
}

func TestLacks(t *testing.T) {
	t.Parallel()
	d := func(path, access string) systemd.Device { return systemd.Device{Path: path, Access: access} }
	tests := []struct {
		name       string
		have, list []systemd.Device
		want       []systemd.Device
	}{
		{"nothing there", nil, []systemd.Device{d("a", "rw")}, []systemd.Device{d("a", "rw")}},
		{"there", []systemd.Device{d("a", "rwm")}, []systemd.Device{d("a", "rw")}, nil},
		{"in two entries", []systemd.Device{d("a", "r"), d("a", "w")}, []systemd.Device{d("a", "rw")}, nil},
		{"less access", []systemd.Device{d("a", "r")}, []systemd.Device{d("a", "rw"), d("b", "r")}, []systemd.Device{d("a", "rw"), d("b", "r")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, systemd.Unit{Allow: tt.have}.Lacks(tt.list)); diff != "" {
				t.Errorf("Lacks (-want +got):\n%s", diff)
			}
		})
	}
}
