package systemd

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf/bpftest"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// box is a machine that has run, with what its scenarios left.
type box struct {
	machine
	out       string
	manager   string // "sd252"
	hardening string
}

func start(t *testing.T, m machine, hardening string) box {
	t.Helper()
	need.SystemdBox(t)
	return box{m, boot(t, m), "sd" + strconv.Itoa(release(t, m.suite)), hardening}
}

// release is the systemd of a suite.
func release(t *testing.T, suite string) int {
	t.Helper()
	out, err := exec.Command("chroot", root(t, suite), "systemctl", "--version").Output()
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 2 {
		t.Fatalf("ask systemd for its version: %v: %q", err, out)
	}
	n, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// seen reads what a scenario left behind and checks what is true of all.
func (b box) seen(t *testing.T, name string) record {
	t.Helper()
	var rec record
	if err := load(b.out+"/"+name+".record", &rec); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: GPU opened %d, refused after %d; null %d, %d; way %s, %d us; programs %v; warnings %v", name,
		rec.GPU.Opened, rec.GPU.RefusedAfter, rec.Null.Opened, rec.Null.Refused,
		rec.Hook.Result.Way, rec.Hook.Micros, rec.Programs, rec.Hook.Result.Warnings)
	if rec.Other2 != "" || rec.Hook.Err != "" || rec.Hook.Missing > 0 {
		t.Errorf("%s: witness %q, hook %q, %d missing; want none", name, rec.Other2, rec.Hook.Err, rec.Hook.Missing)
	}
	if rec.Other.Opened+rec.Kmsg.Opened > 0 {
		t.Errorf("%s: opened nvidia5 %d and kmsg %d times, want never", name, rec.Other.Opened, rec.Kmsg.Opened)
	}
	return rec
}

// note adds a scenario to the table.
func (b box) note(t *testing.T, name string, rec record, remark string) {
	t.Helper()
	runtime, who, way := filepath.Base(b.runtime), "root", rec.Hook.Result.Way
	switch name {
	case "module":
		runtime = "runc-module"
	case "crun":
		runtime = "crun"
	case "userns":
		who = "userns"
	case "user":
		who, runtime = "user", "runc-module"
	}
	if b.suite == "sid" && runtime != "runc-module" {
		runtime += "-sid"
		if b.bpffs && b.runtime == "crun" {
			runtime += "+bpf" // A bpffs is there: crun pins its program.
		}
	}
	if name == "binary" {
		_, way, _ = strings.Cut(lab.Content(b.out+"/gpu-hook.log"), " rules=")
		way, _, _ = strings.Cut(way, " ")
	}
	if rec.Hook.Err != "" {
		way = "error 16"
	}
	if remark != "" {
		name += ": " + remark
	}
	lab.NoteAccess(t, lab.Cell(who, b.manager, b.layout, runtime, b.hardening), "%-16s opens %d  refused %d  (null %d)  %s",
		way, rec.GPU.Opened, rec.GPU.RefusedAfter, rec.Null.Refused, name)
}

func warned(rec record, code string) bool {
	for _, w := range rec.Hook.Result.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

// wantOpen wants a scenario in which the GPU was never refused.
func (b box) wantOpen(t *testing.T, name, way string, programs map[string]int) {
	t.Helper()
	rec := b.seen(t, name)
	if rec.GPU.Opened < enough || rec.GPU.Refused != 0 || rec.Null.Refused != 0 {
		t.Errorf("%s: GPU %+v, null %+v, want no refusal", name, rec.GPU, rec.Null)
	}
	if rec.Hook.Result.Way != way || len(rec.Hook.Result.Warnings) > 0 {
		t.Errorf("%s: got %+v, want way %s without warnings", name, rec.Hook.Result, way)
	}
	if diff := cmp.Diff(programs, rec.Programs); programs != nil && diff != "" {
		t.Errorf("%s: programs at the end (-want +got):\n%s", name, diff)
	}
	b.note(t, name, rec, "")
}

// wantLost is the proof that the test can fail: systemd not told, GPU lost.
func (b box) wantLost(t *testing.T) {
	t.Helper()
	rec := b.seen(t, "not-told")
	if rec.GPU.Opened == 0 || rec.GPU.Streak < enough/2 || !warned(rec, "systemd-not-told") {
		t.Errorf("not-told: GPU %+v, warnings %v, want opens and then refusals, and systemd-not-told", rec.GPU, rec.Hook.Result.Warnings)
	}
	b.note(t, "not-told", rec, "bus hidden, lost at the first reload")
}

func TestScopesV2(t *testing.T) {
	clean := map[string]int{"sd_devices": 1, "gpu_hook": 1}
	some := "told,reload-first,not-told,reapplied"
	tests := []struct {
		name     string
		machine  machine
		way      string
		programs map[string]int
		more     []string // Scenarios beyond those of all boxes.
	}{
		{
			"systemd 252 runc",
			machine{"v2", "bookworm", "runc", true, "told,twice,reload-first,not-told,reapplied,many-reloads,module,userns,user,binary"},
			"v2+systemd", clean,
			[]string{"twice", "many-reloads", "module", "userns"},
		},
		{"newest systemd runc", machine{"v2", "sid", "runc", true, some + ",module,userns,user"}, "v2+systemd", clean, []string{"module", "userns"}},
		{"newest systemd crun", machine{"v2", "sid", "crun", false, some + ",userns"}, "v2+systemd", clean, []string{"userns"}},
		{"newest systemd crun pinned", machine{"v2", "sid", "crun", true, some + ",userns,binary"}, "v2+pinned", map[string]int{"gpu_hook": 1}, []string{"userns"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bpftest.Plain(t)
			b := start(t, tt.machine, "0/0")
			for _, name := range append([]string{"told", "reload-first"}, tt.more...) {
				b.wantOpen(t, name, tt.way, tt.programs)
			}
			b.wantLost(t)
			rec := b.seen(t, "reapplied")
			if rec.Again.Err != "" || rec.Again.Missing != 0 || rec.Again.Result.Way != tt.way || rec.Again.Result.Unchanged || rec.GPU.Streak > 0 {
				t.Errorf("reapplied: got %+v, GPU %+v, want the rules back", rec.Again, rec.GPU)
			}
			if strings.Contains(tt.machine.only+",", ",user,") {
				b.wantUser(t)
			}
			if strings.Contains(tt.machine.only, "binary") {
				b.wantReapplied(t)
			}
		})
	}
	lab.NoteAccess(t, lab.Cell("any", "sd"+strconv.Itoa(release(t, "bookworm")), "v2", "crun", "any"),
		"n/a: crun 1.8 raises RLIMIT_MEMLOCK on v2, which not every root may")
}

// wantUser checks a container of an ordinary user's own systemd, which filters
// no devices: there is nothing to change, and nothing is lost.
func (b box) wantUser(t *testing.T) {
	t.Helper()
	var rec record
	if err := load(b.out+"/user.record", &rec); err != nil {
		t.Fatal(err)
	}
	if rec.GPU.Opened < enough || rec.GPU.Refused > 0 || rec.Hook.Result.Way != "none-unprivileged" || len(rec.Hook.Result.Warnings) > 0 || rec.Hook.Err != "" {
		t.Errorf("user: %+v, want way none-unprivileged, without warnings, and no refusal", rec)
	}
	b.note(t, "user", rec, "a user's manager, which filters nothing")
}

// wantReapplied checks gpu-hook itself: started without a bus, its container
// loses the GPU at a reload, and "gpu-hook reapply" brings it back for good.
func (b box) wantReapplied(t *testing.T) {
	t.Helper()
	rec := b.seen(t, "binary")
	if rec.GPU.Opened < enough || rec.GPU.RefusedAfter < enough/2 || rec.GPU.Streak > 0 {
		t.Errorf("binary: GPU %+v, want it open, lost, and open at the end", rec.GPU)
	}
	log := lab.Content(b.out + "/gpu-hook.log")
	if !strings.Contains(log, "warning=systemd-not-told") || !strings.Contains(log, "container got its GPUs") {
		t.Errorf("gpu-hook's log has no warning of the risk:\n%s", log)
	}
	for file, want := range map[string]string{
		"binary.check": "binary: missing: c 195:0 rw, c 195:255 rw, c 510:0 rw, c 510:1 rw\n",
		"binary.again": "binary: missing: c 195:0 rw, c 195:255 rw, c 510:0 rw, c 510:1 rw (put back)\n",
	} {
		if got := lab.Content(b.out + "/" + file); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
	b.note(t, "binary", rec, "bus hidden, lost at a reload, then gpu-hook reapply")
}

// slack is how many more refusals than /dev/null the GPU may have on v1. The
// windows are systemd's, for all devices; the GPU stands first in its list from
// the first reload on, so it has fewer (8 to 13 against 96 to 1817 of 190000 to
// 920000 opens). Before that reload, and where the witness stands when a window
// opens, chance decides.
const slack = 200

func TestScopesV1(t *testing.T) {
	tests := []struct {
		name    string
		machine machine
		more    []string
	}{
		{
			"legacy",
			machine{layout: "v1", suite: "bookworm", runtime: "runc", only: "told,twice,reload-first,not-told,many-reloads,module,crun,userns,binary"},
			[]string{"twice", "reload-first", "many-reloads", "module", "crun", "userns"},
		},
		{"hybrid", machine{layout: "hybrid", suite: "bookworm", runtime: "runc", only: "told,not-told"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t, tt.machine, "any")
			for _, name := range append([]string{"told"}, tt.more...) {
				rec := b.seen(t, name)
				if rec.GPU.Opened < enough || rec.GPU.RefusedAfter > rec.Null.Refused+slack || rec.GPU.Streak > 0 {
					t.Errorf("%s: GPU %+v, null %+v, want no more refusals than null, and open at the end", name, rec.GPU, rec.Null)
				}
				way := "v1+systemd"
				if name == "crun" {
					way = "v1" // crun 1.8 tells systemd of no devices, so it leaves them alone.
				}
				if rec.Hook.Result.Way != way || len(rec.Hook.Result.Warnings) > 0 {
					t.Errorf("%s: got %+v, want way %s without warnings", name, rec.Hook.Result, way)
				}
				b.note(t, name, rec, "")
			}
			b.wantLost(t)
			if strings.Contains(tt.machine.only, "binary") {
				b.wantReapplied(t)
			}
		})
	}
	lab.NoteAccess(t, lab.Cell("any", "sd252", "hybrid", "crun", "any"), "n/a: crun takes no mixture of cgroup v1 and v2")
	for _, layout := range []string{"v1", "hybrid"} {
		lab.NoteAccess(t, lab.Cell("user", "sd252", layout, "any", "any"), "n/a: a user's manager gets no controllers on v1, and no runtime asks it there")
	}
	if n := release(t, "sid"); n >= 258 {
		// NEWS of 258: support for cgroup v1 (legacy and hybrid) was removed.
		lab.NoteAccess(t, lab.Cell("any", fmt.Sprintf("sd%d", n), "v1", "any", "any"), "n/a: systemd 258 and later do not boot on cgroup v1")
		lab.NoteAccess(t, lab.Cell("any", fmt.Sprintf("sd%d", n), "hybrid", "any", "any"), "n/a: systemd 258 and later do not boot on cgroup v1")
	}
}

// On a hardened kernel a dump is blinded (2/0, 2/1) or there is none (2/2). Not
// parallel: the settings are the machine's.
func TestScopesHardened(t *testing.T) {
	need.Harden(t)
	const some = "told,reapplied,userns"
	runc := machine{"v2", "bookworm", "runc", true, some}
	newest := machine{"v2", "sid", "runc", true, "told,reapplied"}
	again := func(m machine) machine { m.only += ",twice"; return m }
	brief := func(m machine) machine { m.only = "told,userns"; return m }
	crun := machine{"v2", "sid", "crun", false, some}
	pinned := machine{"v2", "sid", "crun", true, some}
	both := map[string]int{"sd_devices": 1, "gpu_hook": 1}
	ours, theirs := map[string]int{"gpu_hook": 1}, map[string]int{"sd_devices": 1}
	tests := []struct {
		name     string
		machine  machine
		harden   string
		restrict string
		told     string         // The way taken with a bus,
		alone    string         // and without; "" where it cannot be done.
		programs map[string]int // With a bus, at the end.
	}{
		{"runc 1-2", runc, "1", "2", "v2+systemd", "v2", both},
		{"runc 2-0", runc, "2", "0", "v2+systemd", "v2", both},
		{"runc 2-1", runc, "2", "1", "v2+systemd", "v2", both},
		{"runc 2-2", again(runc), "2", "2", "v2+systemd-only", "v2+rebuilt", theirs},
		{"runc newest 2-2", newest, "2", "2", "v2+systemd-only", "v2+rebuilt", theirs},
		{"crun 1-2", brief(crun), "1", "2", "v2+systemd", "", both},
		{"crun 2-1", brief(crun), "2", "1", "v2+systemd", "", both},
		{"crun 2-0", crun, "2", "0", "v2+systemd", "v2", both},
		{"crun 2-2", again(crun), "2", "2", "v2+systemd-only", "", theirs},
		{"crun pinned 2-0", pinned, "2", "0", "v2+pinned", "v2", ours},
		{"crun pinned 2-2", again(pinned), "2", "2", "v2+pinned", "v2+rebuilt", ours},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bpftest.Harden(t, tt.harden, tt.restrict)
			b := start(t, tt.machine, tt.harden+"/"+tt.restrict)
			for _, name := range []string{"told", "twice", "userns"} {
				if !strings.Contains(tt.machine.only, name) {
					continue
				}
				rec := b.seen(t, name)
				if rec.GPU.Opened < enough || rec.GPU.Refused != 0 || rec.Null.Refused != 0 {
					t.Errorf("%s: GPU %+v, null %+v, want no refusal", name, rec.GPU, rec.Null)
				}
				if diff := cmp.Diff(tt.programs, rec.Programs); rec.Hook.Result.Way != tt.told || diff != "" {
					t.Errorf("%s: got %+v, want way %s; programs (-want +got):\n%s", name, rec.Hook.Result, tt.told, diff)
				}
				b.note(t, name, rec, "")
			}
			if !strings.Contains(tt.machine.only, "reapplied") {
				return
			}
			if tt.alone == "" {
				b.wantHidden(t)
				return
			}
			rec := b.seen(t, "reapplied")
			if rec.Hook.Result.Way != tt.alone || rec.GPU.Streak > 0 {
				t.Errorf("reapplied: got %+v, GPU %+v, want way %s, and open at the end", rec.Hook.Result, rec.GPU, tt.alone)
			}
			b.note(t, "reapplied", rec, "bus hidden, lost at a reload, then reapplied")
		})
	}
}

// wantHidden wants the hook to say that it could not do it, and why.
func (b box) wantHidden(t *testing.T) {
	t.Helper()
	var rec record
	if err := load(b.out+"/reapplied.record", &rec); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(rec.Hook.Err, "hides") || rec.Other.Opened+rec.Kmsg.Opened > 0 {
		t.Errorf("reapplied: got %+v, want an error that names the hidden program", rec.Hook)
	}
	b.note(t, "reapplied", rec, "bus hidden, and the kernel hides both programs; open after reapply with the bus")
}
