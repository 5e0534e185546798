package cgroup

import (
	"os"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
)

// child makes a cgroup of a given name below another.
func child(t *testing.T, parent *os.File, name string) *os.File {
	t.Helper()
	dir := parent.Name() + "/" + name
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func codes(list []devices.Warning) string {
	var all []string
	for _, w := range list {
		all = append(all, w.Code)
	}
	return strings.Join(all, ",")
}

// Programs of all levels are ANDed: what crun puts on x.scope/container and
// what is on x.scope must both say yes; a slice above is not ours to change.
func TestAllowLevels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		path     []string // Below the test's own cgroup, which is the slice.
		programs []int    // Indexes into path with a program; -1 is the slice.
		open     string   // What the witness gets.
		warnings string
		level    string // The level that the warning names.
	}{
		{"runc", []string{"runc-a.scope"}, []int{0}, "ENXIO", "", ""},
		{"crun", []string{"crun-a.scope", "container"}, []int{0, 1}, "ENXIO", "", ""},
		{"crun, only the scope", []string{"crun-a.scope", "container"}, []int{0}, "ENXIO", "", ""},
		{"systemd inside", []string{"runc-a.scope", "init.scope"}, []int{0}, "ENXIO", "", ""},
		{"systemd inside under crun", []string{"crun-a.scope", "container", "init.scope"}, []int{0, 1}, "ENXIO", "", ""},
		{"cgroupfs", []string{"docker", "0a1b"}, []int{1}, "ENXIO", "", ""},
		{"slice denies", []string{"runc-a.scope"}, []int{-1, 0}, "EPERM", "outer-cgroup-denies", "gpu-hook-test-"},
		{"nested container", []string{"docker-a.scope", "docker", "0a1b"}, []int{0, 2}, "EPERM", "outer-cgroup-denies", "docker-a.scope"},
		{"service denies", []string{"a.service", "libpod-payload-0a"}, []int{0, 1}, "EPERM", "outer-cgroup-denies", "a.service"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			slice := newCgroup2(t, "")
			dirs := []*os.File{slice}
			for _, name := range tt.path {
				dirs = append(dirs, child(t, dirs[len(dirs)-1], name))
			}
			cg := dirs[len(dirs)-1]
			for _, n := range tt.programs {
				attachFilter(t, dirs[n+1], "", runtimeFilter(t), bpf.FlagMulti)
			}
			w := startWitness(t, cg)
			l := layoutOf(t, w, cg)
			res, err := l.Allow(t.Context(), requestFor(w))
			if err != nil {
				t.Fatal(err)
			}
			if got := w.open("rw", testMajor, 0); got != tt.open {
				t.Errorf("open: got %s, want %s", got, tt.open)
			}
			if got := w.open("rw", testMajor, 1); got != "EPERM" {
				t.Errorf("open of another GPU: got %s, want EPERM", got)
			}
			if got := codes(res.Warnings); got != tt.warnings {
				t.Errorf("warnings: got %v, want %q", res.Warnings, tt.warnings)
			}
			if len(res.Warnings) > 0 && !strings.Contains(res.Warnings[0].Message, tt.level) {
				t.Errorf("warning: got %q, want the level %q named", res.Warnings[0].Message, tt.level)
			}
			missing, err := l.Missing(requestFor(w))
			if want := tt.open == "EPERM"; err != nil || (len(missing) > 0) != want {
				t.Errorf("Missing: got %v, %v, want some: %v", missing, err, want)
			}
		})
	}
}

func TestAllowWithoutPrograms(t *testing.T) {
	t.Parallel()
	cg := newCgroup2(t, "")
	w := startWitness(t, cg)
	l := layoutOf(t, w, cg)
	res, err := l.Allow(t.Context(), requestFor(w))
	if err != nil || res.Way != WayNone || res.Reason == "" || !res.Unchanged {
		t.Errorf("Allow: got %+v, %v, want way %q with a reason", res, err, WayNone)
	}
	if ids := attached(t, l); len(ids) > 0 {
		t.Errorf("programs: got %v, want none", ids)
	}
}

// The access asked for is the access given: no mknod with rw.
func TestAllowMknodRights(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, access, want string }{{"rw", "rw", "EPERM"}, {"rwm", "rwm", "ok"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cg := newCgroup2(t, "")
			w := startWitness(t, cg)
			// A filter without the runtimes' usual "mknod of anything".
			attachFilter(t, cg, "", onlyNull(), bpf.FlagMulti)
			l := layoutOf(t, w, cg)
			if _, err := l.Allow(t.Context(), Request{PID: w.pid(), Rules: []Rule{char(testMajor, 0, tt.access)}}); err != nil {
				t.Fatal(err)
			}
			if got := w.mknod(testMajor, 0); got != tt.want {
				t.Errorf("mknod: got %s, want %s", got, tt.want)
			}
			if got := w.mknod(testMajor, 1); got != "EPERM" {
				t.Errorf("mknod of the next minor: got %s, want EPERM", got)
			}
			if got := w.open("rw", testMajor, 0); got != "ENXIO" {
				t.Errorf("open: got %s, want ENXIO", got)
			}
		})
	}
}
