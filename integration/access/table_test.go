package access

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf/bpftest"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// hardening is net.core.bpf_jit_harden and kernel.kptr_restrict.
type hardening struct{ harden, restrict string }

func (h hardening) String() string { return h.harden + "/" + h.restrict }

// hardenings are those that differ in what root reads back of a program: all of
// it, all of it, its blinded form twice, nothing.
func hardenings() []hardening {
	return []hardening{{"1", "2"}, {"2", "0"}, {"2", "1"}, {"2", "2"}}
}

func layoutName(c lab.Cgroups) string {
	if c == lab.Machine {
		return "hybrid"
	}
	return string(c)
}

// noCell says why a container cannot exist; "" where it can.
func noCell(r runtime, c lab.Cgroups) string {
	switch {
	case strings.HasPrefix(r.name, "crun") && c == lab.Machine:
		return "crun takes no mixture of cgroup v1 and v2"
	case r.isV18 && c == lab.V2:
		return "crun 1.8 raises RLIMIT_MEMLOCK on v2, which not every root may"
	}
	return ""
}

// TestTable starts a container in every cell without a manager.
func TestTable(t *testing.T) {
	need.Root(t)
	need.MountNS(t)
	need.Overlay(t)
	s := makeStage(t)
	for _, c := range []lab.Cgroups{lab.V1, lab.Machine, lab.V2} {
		for _, r := range runtimes() {
			t.Run(layoutName(c)+"/"+r.name, func(t *testing.T) {
				for _, who := range []string{plain, userns} {
					t.Run(who, func(t *testing.T) { s.cell(t, c, r, who) })
				}
			})
		}
	}
	for _, c := range []lab.Cgroups{lab.V1, lab.Machine, lab.V2} {
		lab.NoteAccess(t, lab.Cell("user", "-", layoutName(c), "any", "any"), "no program is in force that could be changed, or blinded: see the lines of user/")
	}
}

// cell is one layout, runtime and user, on the plain kernel and on v2 on the
// hardened ones: v1 has no program that could be blinded.
func (s *stage) cell(t *testing.T, c lab.Cgroups, r runtime, who string) {
	t.Helper()
	without, row := s.ask(t, c, r, who, nil, lab.Box{})
	if why := noCell(r, c); why != "" {
		if row.Code == 0 {
			t.Logf("a cell that was thought not to exist: %s", why)
		} else {
			lab.NoteAccess(t, lab.Cell(who, "cgroupfs", layoutName(c), r.name, "any"), "n/a: %s (%.60s)", why, strings.TrimSpace(row.Stderr))
			return
		}
	}
	if row.Code != 0 {
		t.Fatalf("%s without GPUs ended with %d: %s", r.name, row.Code, row.Stderr)
	}
	want := "v1"
	if c == lab.V2 {
		want = "v2"
	}
	label := "any"
	if c == lab.V2 {
		label = "0/0"
	}
	s.row(t, c, r, who, label, want, without, lab.Box{})
	if c != lab.V2 {
		return
	}
	for _, h := range hardenings() {
		t.Run("harden "+strings.ReplaceAll(h.String(), "/", "-"), func(t *testing.T) {
			need.Harden(t)
			bpftest.Harden(t, h.harden, h.restrict)
			want := "v2"
			if h.harden == "2" && h.restrict == "2" {
				want = "v2+rebuilt"
			}
			s.row(t, c, r, who, h.String(), want, without, lab.Box{Hardened: true})
		})
	}
}

// row starts a container with GPUs and notes what came of it.
func (s *stage) row(t *testing.T, c lab.Cgroups, r runtime, who, label, way string, without answers, box lab.Box) {
	t.Helper()
	with, got := s.ask(t, c, r, who, askTwo(), box)
	if got.Code != 0 {
		t.Fatalf("%s ended with %d: %s\nlog:\n%s", r.name, got.Code, got.Stderr, got.Log)
	}
	res := compare(t, without, with, way == "v2+rebuilt")
	if rules := field(got.Log, "rules"); rules != way {
		t.Errorf("way %q, want %q; log:\n%s", rules, way, got.Log)
	}
	wantWarning := map[bool]string{true: "filter-rebuilt"}[way == "v2+rebuilt"]
	if warning := field(got.Log, "warning"); warning != wantWarning {
		t.Errorf("warning %q, want %q; log:\n%s", warning, wantWarning, got.Log)
	}
	more := ""
	if res.closed > 0 {
		more = fmt.Sprintf("  closed, and the log says so: %d", res.closed)
	}
	lab.NoteAccess(t, lab.Cell(who, "cgroupfs", layoutName(c), r.name, label), "%-16s opens %d/%d  refused as before %d%s",
		way, res.opens, len(given()), res.refused, more)
}

// ask runs one container to its end.
func (s *stage) ask(t *testing.T, c lab.Cgroups, r runtime, who string, env []string, box lab.Box) (answers, lab.Result) {
	t.Helper()
	b := s.bundle(t, who, env, lab.Options{Args: append([]string{"/bin/witness"}, questions(who == userns)...)})
	rt, setup := r.use(t, b)
	box.Cgroups = c
	box.Setup = privateRun + setup
	if who == userns {
		box.Setup += fmt.Sprintf("chown %d:%d %s/rootfs\n", mapped, mapped, b.Dir)
	}
	got := lab.Run(t, rt, b, box)
	return answersOf(got.Facts, who == userns), got
}
