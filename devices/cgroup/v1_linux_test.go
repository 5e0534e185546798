package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// newCgroup1 makes a v1 devices cgroup that allows what a container may have.
func newCgroup1(t *testing.T, parent string) string {
	t.Helper()
	need.Root(t)
	need.Cgroup1(t)
	if parent == "" {
		table, err := readMounts()
		if err != nil {
			t.Fatal(err)
		}
		parent = table.devices[0].at
	}
	dir := newCgroup(t, parent).Name()
	setDevices(t, dir, "devices.deny", "a")
	setDevices(t, dir, "devices.allow", "c 1:3 rwm", "c 1:5 rwm")
	return dir
}

func setDevices(t *testing.T, dir, name string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(line), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// startIn starts a witness and moves it into a v1 cgroup.
func startIn(t *testing.T, dir string) *witness {
	t.Helper()
	w := startWitness(t, nil)
	moveTo(t, w, dir)
	return w
}

func moveTo(t *testing.T, w *witness, dir string) {
	t.Helper()
	setDevices(t, dir, "cgroup.procs", itoa(w.pid()))
}

func TestAllowV1(t *testing.T) {
	t.Parallel()
	dir := newCgroup1(t, "")
	w := startIn(t, dir)
	l := detect(t, w)
	if l.Version != V1 || l.Dir != dir {
		t.Fatalf("Detect: got version %d in %s, want 1 in %s", l.Version, l.Dir, dir)
	}
	req := Request{PID: w.pid(), Rules: []Rule{char(testMajor, 0, "rw"), char(testMajor, 255, "rw"), char(511, 1, "rw")}}
	if got := w.open("rw", testMajor, 0); got != "EPERM" {
		t.Fatalf("open before: got %s, want EPERM", got)
	}
	if got, err := l.Missing(req); err != nil || len(got) != 3 {
		t.Errorf("Missing before: got %v, %v, want all", got, err)
	}
	res, err := l.Allow(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Result{Way: WayV1}, res); diff != "" {
		t.Errorf("Allow (-want +got):\n%s", diff)
	}
	checkExact(t, w)
	if got := w.mknod(testMajor, 0); got != "EPERM" {
		t.Errorf("mknod with access rw: got %s, want EPERM", got)
	}
	if got, err := l.Missing(req); err != nil || len(got) != 0 {
		t.Errorf("Missing after: got %v, %v, want none", got, err)
	}
	if res, err = l.Allow(t.Context(), req); err != nil || !res.Unchanged {
		t.Errorf("second Allow: got %+v, %v, want Unchanged", res, err)
	}
	list, err := os.ReadFile(filepath.Join(dir, "devices.list"))
	if err != nil {
		t.Fatal(err)
	}
	want := "c 1:3 rwm\nc 1:5 rwm\nc 195:0 rw\nc 195:255 rw\nc 511:1 rw\n"
	if diff := cmp.Diff(want, string(list)); diff != "" {
		t.Errorf("devices.list (-want +got):\n%s", diff)
	}
}

func TestAllowV1Mknod(t *testing.T) {
	t.Parallel()
	dir := newCgroup1(t, "")
	w := startIn(t, dir)
	l := detect(t, w)
	if _, err := l.Allow(t.Context(), Request{PID: w.pid(), Rules: []Rule{char(testMajor, 0, "rwm")}}); err != nil {
		t.Fatal(err)
	}
	if got := w.mknod(testMajor, 0); got != "ok" {
		t.Errorf("mknod with access rwm: got %s, want ok", got)
	}
	if got := w.mknod(testMajor, 1); got != "EPERM" {
		t.Errorf("mknod of the next minor: got %s, want EPERM", got)
	}
}

// A cgroup above that lacks the device makes the kernel answer EPERM: the
// container starts, what can be granted is, and the warning names the level.
func TestAllowV1Outer(t *testing.T) {
	t.Parallel()
	outer := newCgroup1(t, "")
	setDevices(t, outer, "devices.allow", "c 195:255 rw")
	inner := newCgroup1(t, newCgroup1(t, outer))
	w := startIn(t, inner)
	l := detect(t, w)
	req := Request{PID: w.pid(), Rules: []Rule{char(1, 3, "rw"), char(testMajor, 0, "rw"), char(511, 1, "rw")}}
	res, err := l.Allow(t.Context(), req)
	if err != nil || codes(res.Warnings) != "outer-cgroup-denies" || res.Way != WayV1 {
		t.Fatalf("Allow: got %+v, %v, want one outer-cgroup-denies", res, err)
	}
	for _, word := range []string{outer + " above", "c 195:0 rw", "c 511:1 rw"} {
		if !strings.Contains(res.Warnings[0].Message, word) {
			t.Errorf("warning: got %q, want %q in it", res.Warnings[0].Message, word)
		}
	}
	if got := w.open("rw", testMajor, 0); got != "EPERM" {
		t.Errorf("open: got %s, want EPERM", got)
	}
	if missing, err := l.Missing(req); err != nil || len(missing) != 2 {
		t.Errorf("Missing: got %v, %v, want the two that are denied", missing, err)
	}
	// What the cgroup grants already is fine without any right to write.
	res, err = l.Allow(t.Context(), Request{PID: w.pid(), Rules: []Rule{char(1, 3, "rw")}})
	if err != nil || !res.Unchanged || len(res.Warnings) > 0 {
		t.Errorf("Allow of a granted rule: got %+v, %v, want Unchanged", res, err)
	}
}

func wantRuleError(t *testing.T, err, cause error) {
	t.Helper()
	var rule *RuleError
	if !errors.As(err, &rule) || !errors.Is(err, cause) || rule.Cure() == "" {
		t.Errorf("got %v, want a RuleError that is %v with a cure", err, cause)
	}
}
