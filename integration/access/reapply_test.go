package access

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// updateFile is what containerd's CRI plugin sends with every update.
const updateFile = `{"devices":[{"allow":false,"access":"rwm"}]}`

// sleeper is a container that lasts.
func (s *stage) sleeper(t *testing.T, who string) *lab.Bundle {
	t.Helper()
	b := s.bundle(t, who, askTwo(), lab.Options{Args: []string{"/bin/sleep", "100"}})
	lab.Write(t, b.Dir+"/update.json", updateFile)
	return b
}

// life runs shell lines while a container runs. Each part that "say" begins is
// in the map under its name.
func (s *stage) life(t *testing.T, c lab.Cgroups, r runtime, b *lab.Bundle, setup, lines string) (map[string]string, lab.Result) {
	t.Helper()
	rt, own := r.use(t, b)
	got := lab.Run(t, rt, b, lab.Box{Cgroups: c, Setup: privateRun + own + setup, While: fmt.Sprintf(`set -e
say() { echo "=== $1"; }
look() { $RUNTIME exec ${1:-$ID} /bin/witness open:/dev/nvidia0 open:/dev/nvidia2 open:/dev/nvidiactl open:/dev/nvidia-uvm node:/tmp/o:195:1 node:/tmp/k:1:11 open:/dev/null; }
fails() { if "$@" 2>&1; then echo "it worked"; return 1; else echo "code $?"; fi; }
hook="%s --host-root %s"
DIR=%s
%s
`, s.hook, s.host.Dir, b.Dir, lines)})
	if got.Code != 0 {
		t.Fatalf("%s ended with %d: %s%s\nlog:\n%s", r.name, got.Code, got.Stdout, got.Stderr, got.Log)
	}
	parts := map[string]string{}
	for _, part := range strings.Split(got.Stdout, "=== ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		parts[name] = text
	}
	return parts, got
}

// wantLook checks what a container could open.
func wantLook(t *testing.T, name, text string, gpus syscall.Errno) {
	t.Helper()
	facts := lab.ParseFacts(t, text)
	want := map[string]syscall.Errno{
		"open:/dev/nvidia0": gpus, "open:/dev/nvidia2": gpus, "open:/dev/nvidiactl": gpus, "open:/dev/nvidia-uvm": gpus,
		"node:/tmp/o:195:1": syscall.EPERM, "node:/tmp/k:1:11": syscall.EPERM, "open:/dev/null": 0,
	}
	got := map[string]syscall.Errno{}
	for question := range facts {
		got[question] = syscall.Errno(facts[question].Errno)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// cells are the runtimes on the layouts that they know.
func cells() map[lab.Cgroups][]runtime {
	all := map[lab.Cgroups][]runtime{}
	for _, c := range []lab.Cgroups{lab.V1, lab.Machine, lab.V2} {
		for _, r := range runtimes() {
			if noCell(r, c) == "" {
				all[c] = append(all[c], r)
			}
		}
	}
	return all
}

// TestReapply takes the rules away as an engine's update does under crun, and
// puts them back. runc does not touch devices in an update.
func TestReapply(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	s := makeStage(t)
	for c, list := range cells() {
		for _, r := range list {
			t.Run(layoutName(c)+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				b := s.sleeper(t, plain)
				parts, _ := s.life(t, c, r, b, "", `say ps; $hook ps
say json; $hook ps --format json
say first; look
say unharmed; $hook reapply --check $ID
$RUNTIME update -r $DIR/update.json $ID
say lost; look
say check; $hook reapply --check $ID
say still; look
say check-json; $hook reapply --check --format json --all
say again; $hook reapply $ID
say back; look
say then; $hook reapply --all
say unknown; fails $hook reapply nobody`)
				loses := strings.HasPrefix(r.name, "crun")
				closed := syscall.ENXIO
				if loses {
					closed = syscall.EPERM
				}
				wantLook(t, "first", parts["first"], syscall.ENXIO)
				wantLook(t, "lost", parts["lost"], closed)
				wantLook(t, "still", parts["still"], closed)
				wantLook(t, "back", parts["back"], syscall.ENXIO)
				const nothing, names = "nothing is missing", "c 195:0 rw, c 195:2 rw, c 195:255 rw, c 510:0 rw, c 510:1 rw"
				want := map[string]string{"unharmed": nothing, "check": nothing, "again": nothing, "then": nothing}
				if loses {
					want["check"], want["again"] = "missing: "+names, "missing: "+names+" (put back)"
				}
				for part, text := range want {
					if got := parts[part]; got != b.ID+": "+text+"\n" {
						t.Errorf("%s: got %q, want %q", part, got, text)
					}
				}
				wantRow(t, parts, b, c)
				var found []hook.Reapplied
				if err := json.Unmarshal([]byte(parts["check-json"]), &found); err != nil || len(found) != 1 || found[0].Done || (len(found[0].Missing) == 5) != loses {
					t.Errorf("reapply --check --format json: %s (%v)", parts["check-json"], err)
				}
				if text := parts["unknown"]; !strings.Contains(text, `find container "nobody"`) || !strings.Contains(text, "code 1\n") {
					t.Errorf("reapply of a container that is not there: %q", text)
				}
			})
		}
	}
}

// wantRow checks what "gpu-hook ps" shows.
func wantRow(t *testing.T, parts map[string]string, b *lab.Bundle, c lab.Cgroups) {
	t.Helper()
	way := "v1"
	if c == lab.V2 {
		way = "v2"
	}
	for _, word := range []string{"CONTAINER", b.ID, "535.261.03", " " + way + " ", lab.GPUs(8, "")[0].UUID + "," + lab.GPUs(8, "")[2].UUID} {
		if !strings.Contains(parts["ps"], word) {
			t.Errorf("ps: no %q in\n%s", word, parts["ps"])
		}
	}
	var list []struct {
		ID    string
		Way   string
		Nodes []struct{ Path string }
	}
	if err := json.Unmarshal([]byte(parts["json"]), &list); err != nil || len(list) != 1 || list[0].ID != b.ID || list[0].Way != way || len(list[0].Nodes) != 5 {
		t.Errorf("ps --format json: %s (%v), want one container with 5 nodes", parts["json"], err)
	}
}

// TestModuleReload gives nvidia-uvm another major while a container runs.
func TestModuleReload(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	for c, list := range cells() {
		for _, r := range list {
			for _, who := range []string{plain, userns} {
				if strings.HasSuffix(r.name, "-sid") || r.name == "runc-module" || c == lab.Machine {
					continue // One runtime and layout each is enough for this.
				}
				t.Run(layoutName(c)+"/"+r.name+"/"+who, func(t *testing.T) {
					t.Parallel()
					moduleReload(t, c, r, who)
				})
			}
		}
	}
}

func moduleReload(t *testing.T, c lab.Cgroups, r runtime, who string) {
	t.Helper()
	s := makeStage(t) // A host of its own, since it changes.
	b := s.sleeper(t, who)
	setup := ""
	reapply := "$hook reapply $ID"
	if who == userns {
		setup = fmt.Sprintf("chown %d:%d %s/rootfs\n", mapped, mapped, b.Dir)
		reapply = "fails " + reapply
	}
	parts, _ := s.life(t, c, r, b, setup, `look=/bin/witness
sed -i 's/^510 nvidia-uvm/509 nvidia-uvm/' `+s.host.Dir+`/proc/devices
for n in 0:nvidia-uvm 1:nvidia-uvm-tools; do f=`+s.host.Dir+`/dev/${n#*:}; rm $f; mknod -m 666 $f c 509 ${n%%:*}; done
say check; $hook reapply --check $ID
say again; `+reapply+`
say node; $RUNTIME exec $ID /bin/witness stat:/dev/nvidia-uvm stat:/dev/nvidia-uvm-tools open:/dev/nvidia-uvm open:/dev/nvidia-uvm-tools node:/tmp/n:509:2
say then; $hook reapply --check $ID`)
	const rules = "missing: c 509:0 rw, c 509:1 rw"
	if got, want := parts["check"], b.ID+": "+rules+", /dev/nvidia-uvm, /dev/nvidia-uvm-tools\n"; got != want {
		t.Errorf("reapply --check: got %q, want %q", got, want)
	}
	if who == userns {
		// The node is another file system's: nobody can change it from here.
		for _, word := range []string{"it is bound from the host", "restart the container", "code 16"} {
			if !strings.Contains(parts["again"], word) {
				t.Errorf("reapply: no %q in %q", word, parts["again"])
			}
		}
		return
	}
	facts := lab.ParseFacts(t, parts["node"])
	for minor, name := range []string{"nvidia-uvm", "nvidia-uvm-tools"} {
		if f := facts["stat:/dev/"+name]; f.Major != 509 || f.Minor != minor || f.Mode != 0o666 {
			t.Errorf("%s: %+v, want 509:%d", name, f, minor)
		}
		if e := syscall.Errno(facts["open:/dev/"+name].Errno); e != syscall.ENXIO {
			t.Errorf("open %s: %v, want ENXIO", name, e)
		}
	}
	if e := syscall.Errno(facts["node:/tmp/n:509:2"].Errno); e != syscall.EPERM {
		t.Errorf("open 509:2: %v, want EPERM", e)
	}
	if got := parts["then"]; got != b.ID+": nothing is missing\n" {
		t.Errorf("reapply --check afterwards: %q, want nothing missing", got)
	}
}

// TestRecords covers two containers, one that is gone, and a process id that is
// another process's now.
func TestRecords(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	s := makeStage(t)
	b := s.sleeper(t, plain)
	second := lab.NewBundle(t, lab.Root(t, lab.Glibc), lab.Options{
		Host: s.host, Hook: s.hook, Env: []string{"NVIDIA_VISIBLE_DEVICES=0,2"}, Args: []string{"/bin/sleep", "100"},
	})
	crun := runtimes()[3]
	parts, _ := s.life(t, lab.V1, crun, b, "", `OTHER=`+second.ID+`
trap '$RUNTIME delete --force $OTHER >/dev/null 2>&1 || :' EXIT
$RUNTIME run --detach --bundle `+second.Dir+` $OTHER </dev/null >/dev/null
for id in $ID $OTHER; do $RUNTIME update -r $DIR/update.json $id; done
say both; $hook ps
say one; $hook reapply $ID
say one-look; look
say other-look; look $OTHER
say all; $hook reapply --all
say all-look; look $OTHER
say mode; stat -c '%a %u' /run/gpu-hook /run/gpu-hook/containers /run/gpu-hook/containers/*
$RUNTIME delete --force $OTHER
say gone; $hook ps
say files; ls /run/gpu-hook/containers
sed 's/"startTime":[0-9]*/"startTime":1/; s/"pid":[0-9]*/"pid":'$$'/; s/'$ID'/reused/' /run/gpu-hook/containers/$ID.*.json >/run/gpu-hook/containers/reused.$$.json
say reused; fails $hook reapply reused
say reused-files; ls /run/gpu-hook/containers
echo '{"version":99}' >/run/gpu-hook/containers/newer.1.json; mkfifo /run/gpu-hook/containers/pipe.1.json; ln -s /etc/passwd /run/gpu-hook/containers/link.1.json
say odd; timeout 5 $hook ps`)
	for name, want := range map[string][]string{
		"both": {b.ID, second.ID}, "one": {b.ID + ": missing", "put back"}, "all": {b.ID + ": nothing", second.ID + ": missing", "put back"},
		"gone": {b.ID}, "files": {b.ID}, "reused": {`find container "reused"`}, "reused-files": {b.ID}, "odd": {b.ID},
		"mode": {"700 0\n700 0\n600 0\n600 0\n"},
	} {
		for _, word := range want {
			if !strings.Contains(parts[name], word) {
				t.Errorf("%s: no %q in %q", name, word, parts[name])
			}
		}
	}
	for _, name := range []string{"gone", "files", "reused-files"} {
		if strings.Contains(parts[name], second.ID) || strings.Contains(parts[name], "reused.") {
			t.Errorf("%s: %q has a container that is gone", name, parts[name])
		}
	}
	wantLook(t, "one-look", parts["one-look"], syscall.ENXIO)
	wantLook(t, "other-look", parts["other-look"], syscall.EPERM)
	wantLook(t, "all-look", parts["all-look"], syscall.ENXIO)
}

// TestNoPlaceForRecords: a container starts where nothing can be remembered.
func TestNoPlaceForRecords(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	s := makeStage(t)
	for _, tt := range []struct{ name, setup string }{
		{"read-only", "mkdir /run/gpu-hook; mount -t tmpfs -o ro none /run/gpu-hook\n"},
		{"a file", "echo x >/run/gpu-hook\n"},
		{"a link", "mkdir /run/elsewhere; ln -s elsewhere /run/gpu-hook\n"},
		{"full", "mkdir /run/gpu-hook; mount -t tmpfs -o nr_inodes=2 none /run/gpu-hook\n"},
		{"dangling", "ln -s /nowhere /run/gpu-hook\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			parts, got := s.life(t, lab.V1, runtimes()[0], s.sleeper(t, plain), tt.setup, "say look; look\nsay elsewhere; ls /run/elsewhere 2>/dev/null || :")
			wantLook(t, tt.name, parts["look"], syscall.ENXIO)
			if warning := field(got.Log, "warning"); warning != "no-record" || strings.TrimSpace(parts["elsewhere"]) != "" {
				t.Errorf("warning %q, written %q; want no-record and nothing; log:\n%s", warning, parts["elsewhere"], got.Log)
			}
		})
	}
}
