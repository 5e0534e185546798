package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/filter"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/systemd"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/systemd/systemdtest"
)

// onlyNull is a filter for nothing but /dev/null.
func onlyNull() filter.Program {
	p, err := filter.Build([]filter.Entry{{Allow: true, Type: filter.Char, Major: 1, Minor: 3, Bits: 7}})
	if err != nil {
		panic(err)
	}
	return p
}

// systemdsProgram is what a stand-in for systemd attaches once it was told.
func systemdsProgram(t *testing.T, rules []Rule) filter.Program {
	t.Helper()
	p, err := filter.Compose(rules, runtimeFilter(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// onScope puts a witness into a scope with the runtime's program, under a
// stand-in for systemd.
func onScope(t *testing.T, s *systemdtest.Server, name string) (*witness, Layout) {
	t.Helper()
	scope := child(t, newCgroup2(t, ""), "docker-0a.scope")
	w := startWitness(t, scope)
	attachFilter(t, scope, "", runtimeFilter(t), bpf.FlagMulti)
	l := layoutOf(t, w, scope)
	l.Systemd = true
	if s.Units == nil {
		s.Units = map[string]systemd.Unit{l.Unit: {ControlGroup: l.Path, Policy: "strict"}}
	}
	if s.OnAllow == nil {
		s.OnAllow = func(string) {
			attachFilter(t, scope, name, systemdsProgram(t, requestFor(w).Rules), bpf.FlagMulti)
		}
	}
	l.addresses = []systemd.Address{s.Start(t)}
	return w, l
}

// Systemd from 251 on names its programs; before, they have no name. In both
// cases the one that it has just renewed is left alone.
func TestAllowScope(t *testing.T) {
	t.Parallel()
	for _, name := range []string{systemdProgram, ""} {
		t.Run("program name "+name, func(t *testing.T) {
			t.Parallel()
			s := &systemdtest.Server{Version: "252"}
			w, l := onScope(t, s, name)
			res, err := l.Allow(t.Context(), requestFor(w))
			if err != nil || res.Way != WayV2Systemd || res.Unchanged || len(res.Warnings) > 0 {
				t.Fatalf("Allow: got %+v, %v, want way %s", res, err, WayV2Systemd)
			}
			checkExact(t, w)
			ids := attached(t, l)
			if len(ids) != 2 {
				t.Errorf("programs: got %v, want systemd's and ours", ids)
			}
			if got := s.Unit(l.Unit).Allow; len(got) != 3 || got[0] != (systemd.Device{Path: "/dev/char/195:0", Access: "rw"}) {
				t.Errorf("DeviceAllow: got %v, want three exact entries", got)
			}
			if res, err = l.Allow(t.Context(), requestFor(w)); err != nil || !res.Unchanged || res.Way != WayV2Systemd {
				t.Errorf("second Allow: got %+v, %v, want Unchanged", res, err)
			}
			if again := attached(t, l); len(again) != 2 || again[0] != ids[0] || again[1] != ids[1] {
				t.Errorf("programs after the second Allow: got %v, want %v", again, ids)
			}
		})
	}
}

// Whatever the bus does, the container gets its GPUs, soon, and a warning where
// they may be lost.
func TestAllowScopeMisbehaviour(t *testing.T) {
	t.Parallel()
	const path = "/system.slice/docker-0a.scope"
	other := map[string]systemd.Unit{"docker-0a.scope": {ControlGroup: path, Policy: "strict"}}
	tests := []struct {
		name    string
		server  *systemdtest.Server
		warning string
		way     string
	}{
		{"hangs at auth", &systemdtest.Server{Mode: systemdtest.HangAtAuth}, "systemd-not-told", WayV2},
		{"hangs at call", &systemdtest.Server{Mode: systemdtest.HangAtCall}, "systemd-not-told", WayV2},
		{"hangs at set", &systemdtest.Server{Mode: systemdtest.HangAtSet}, "systemd-not-told", WayV2},
		{"refuses", &systemdtest.Server{Mode: systemdtest.Refuse}, "systemd-not-told", WayV2},
		{"wrong types", &systemdtest.Server{Mode: systemdtest.WrongTypes}, "systemd-not-told", WayV2},
		{"breaks off", &systemdtest.Server{Mode: systemdtest.BreakOff}, "systemd-not-told", WayV2},
		{"half an answer", &systemdtest.Server{Mode: systemdtest.HalfMessage}, "systemd-not-told", WayV2},
		{"garbage", &systemdtest.Server{Mode: systemdtest.Garbage}, "systemd-not-told", WayV2},
		{"another cgroup's unit", &systemdtest.Server{Units: other}, "systemd-not-told", WayV2},
		{"unknown unit", &systemdtest.Server{Units: map[string]systemd.Unit{}}, "", WayV2},
		{"old version without links", &systemdtest.Server{Mode: systemdtest.NoPins, Version: "239 (239-1)"}, "no-dev-char", WayV2Systemd},
		{"no BPFProgram", &systemdtest.Server{Mode: systemdtest.NoPins, Version: "247"}, "", WayV2Systemd},
		{"does nothing", &systemdtest.Server{OnAllow: func(string) {}}, "", WayV2Systemd},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, l := onScope(t, tt.server, systemdProgram)
			start := time.Now()
			res, err := l.Allow(t.Context(), requestFor(w))
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > busLimit+time.Second {
				t.Errorf("Allow took %v, want at most %v", took, busLimit)
			}
			if got := codes(res.Warnings); got != tt.warning || res.Way != tt.way {
				t.Errorf("Allow: got way %s, warnings %v, want %s, %q", res.Way, res.Warnings, tt.way, tt.warning)
			}
			checkExact(t, w)
		})
	}
}

// DeviceAllow on a unit without a device policy would close all else to it.
func TestAllowScopeWithoutPolicy(t *testing.T) {
	t.Parallel()
	s := &systemdtest.Server{}
	w, l := onScope(t, s, systemdProgram)
	s.Units[l.Unit] = systemd.Unit{ControlGroup: l.Path, Policy: "auto"}
	res, err := l.Allow(t.Context(), requestFor(w))
	if err != nil || res.Way != WayV2 || len(res.Warnings) > 0 {
		t.Errorf("Allow: got %+v, %v, want way %s", res, err, WayV2)
	}
	if got := s.Unit(l.Unit).Allow; len(got) > 0 {
		t.Errorf("DeviceAllow: got %v, want none", got)
	}
	checkExact(t, w)
}

// Without a scope nothing is asked; a user's own manager is not the system's.
func TestNoBusWithoutScope(t *testing.T) {
	t.Parallel()
	s := &systemdtest.Server{}
	w, l := onScope(t, s, systemdProgram)
	l.Systemd = false
	if _, err := l.Allow(t.Context(), requestFor(w)); err != nil {
		t.Fatal(err)
	}
	if calls := s.Calls(); len(calls) > 0 {
		t.Errorf("calls: got %v, want none", calls)
	}
}

// crun since 1.21: the scope names a pinned program, and has no policy.
func TestAllowPinned(t *testing.T) {
	t.Parallel()
	pins := t.TempDir()
	s := &systemdtest.Server{}
	w, l := onScope(t, s, systemdProgram)
	inMountNS(t, func(t *testing.T) {
		t.Helper()
		mustMount(t, "bpf", pins, "bpf", 0, "mode=700")
		pin := filepath.Join(pins, "runc-bar_scope")
		a, err := bpf.Open(attached(t, l)[0])
		if err != nil {
			t.Error(err)
			return
		}
		defer a.Close()
		if err := a.Repin(pin); err != nil {
			t.Error(err)
			return
		}
		s.Units[l.Unit] = systemd.Unit{ControlGroup: l.Path, Policy: "auto", Pins: []string{pin}}
		for _, unchanged := range []bool{false, true} {
			res, err := l.Allow(t.Context(), requestFor(w))
			if err != nil || res.Way != WayV2Pinned || res.Unchanged != unchanged || len(res.Warnings) > 0 {
				t.Errorf("Allow: got %+v, %v, want way %s, unchanged %v", res, err, WayV2Pinned, unchanged)
			}
			p, err := bpf.OpenPinned(pin)
			if err != nil {
				t.Error(err)
				return
			}
			if ids := attached(t, l); len(ids) != 1 || ids[0] != p.ID {
				t.Errorf("programs: got %v, want the pinned one, %d", ids, p.ID)
			}
			_ = p.Close()
			left, err := os.ReadDir(pins)
			left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".debug") }) // The kernel's own.
			if err != nil || len(left) != 1 {
				t.Errorf("pins: got %v, %v, want one", left, err)
			}
		}
		if got := s.Unit(l.Unit).Allow; len(got) > 0 {
			t.Errorf("DeviceAllow: got %v, want none", got)
		}
	})
	checkExact(t, w)
}

// A path that is no pinned program is never replaced.
func TestAllowPinnedElsewhere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &systemdtest.Server{}
	w, l := onScope(t, s, systemdProgram)
	s.Units[l.Unit] = systemd.Unit{ControlGroup: l.Path, Policy: "auto", Pins: []string{file}}
	res, err := l.Allow(t.Context(), requestFor(w))
	if err != nil || codes(res.Warnings) != "pin-not-replaced" {
		t.Errorf("Allow: got %+v, %v, want pin-not-replaced", res, err)
	}
	if b, err := os.ReadFile(file); string(b) != "x" || err != nil {
		t.Errorf("file: got %q, %v, want it untouched", b, err)
	}
	checkExact(t, w)
}

// v1: DeviceAllow is enough where systemd writes the rules, and only then.
func TestAllowScopeV1(t *testing.T) {
	t.Parallel()
	for _, lies := range []bool{false, true} {
		dir := newCgroup1(t, "")
		w := startIn(t, dir)
		l := detect(t, w)
		l.Unit, l.Systemd = "docker-0a.scope", true
		s := &systemdtest.Server{Units: map[string]systemd.Unit{l.Unit: {
			ControlGroup: l.Path, Policy: "strict", Allow: []systemd.Device{{Path: "/dev/char/1:3", Access: "rwm"}},
		}}}
		s.OnAllow = func(string) {
			if !lies {
				setDevices(t, dir, "devices.allow", "c 195:0 rw", "c 195:255 rw", "c 511:1 rw")
			}
		}
		l.addresses = []systemd.Address{s.Start(t)}
		res, err := l.Allow(t.Context(), requestFor(w))
		want := ""
		if lies {
			want = "systemd-lied"
		}
		if err != nil || res.Way != WayV1Systemd || codes(res.Warnings) != want {
			t.Errorf("Allow, lies %v: got %+v, %v, want way %s, warning %q", lies, res, err, WayV1Systemd, want)
		}
		if list := s.Unit(l.Unit).Allow; len(list) != 4 || list[3].Path != "/dev/char/1:3" {
			t.Errorf("DeviceAllow: got %v, want the unit's own entry behind ours", list)
		}
		checkExact(t, w)
	}
}

// A cgroup file system that is read-only stops only what is not granted yet.
func TestAllowV1ReadOnly(t *testing.T) {
	t.Parallel()
	dir := newCgroup1(t, "")
	w := startIn(t, dir)
	inMountNS(t, func(t *testing.T) {
		t.Helper()
		top := filepath.Dir(dir)
		mustMount(t, top, top, "", unix.MS_BIND, "")
		mustMount(t, "", top, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
		l := detect(t, w)
		if res, err := l.Allow(t.Context(), Request{PID: w.pid(), Rules: []Rule{char(1, 3, "rw")}}); err != nil || !res.Unchanged {
			t.Errorf("Allow of a granted rule: got %+v, %v, want Unchanged", res, err)
		}
		_, err := l.Allow(t.Context(), requestFor(w))
		wantRuleError(t, err, unix.EROFS)
	})
}
