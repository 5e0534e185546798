package access

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/systemd"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/systemd/systemdtest"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// notForEver is what a container's start may take, however busy the machine is.
const notForEver = 30 * time.Second

// meddler makes the bundle's hook a script that does something between the
// state and gpu-hook. $STATE is the state, $PID its process.
func meddler(t *testing.T, b *lab.Bundle, lines string) {
	t.Helper()
	alone := "" // What changes mounts does so in a namespace of its own.
	if strings.Contains(lines, "mount") {
		alone = "[ \"$ALONE\" ] || ALONE=1 exec unshare -m \"$0\" \"$@\"\n"
	}
	h := &b.Spec.Hooks.Prestart[0]
	lab.Write(t, b.Dir+"/meddler", "#!/bin/sh\n"+alone+"STATE=$(cat)\nPID=$(echo \"$STATE\" | sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/')\n"+lines+"\n"+
		"echo \"$STATE\" | "+h.Path+" \"$@\"\ncode=$?\necho $code >"+b.Dir+"/code\nexit $code\n")
	if err := os.Chmod(b.Dir+"/meddler", 0o755); err != nil {
		t.Fatal(err)
	}
	h.Path, h.Env = b.Dir+"/meddler", []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	b.Save(t)
}

// TestBadInput changes the world under the hook. It ends with a code or a
// warning, soon, and touches nobody else.
func TestBadInput(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	s := makeStage(t)
	runc, crun := runtimes()[0], runtimes()[3]
	for _, tt := range []struct {
		name    string
		cgroups lab.Cgroups
		runtime runtime
		lines   string // before the hook
		setup   string
		path    string // cgroupsPath, below a name of its own
		code    string // of the hook
		log     string
	}{
		{name: "process ended", cgroups: lab.V1, runtime: runc, lines: `kill -9 $PID; while [ -e /proc/$PID/ns/mnt ]; do sleep 0.01; done`, code: "10", log: "code=10"},
		{name: "process ended, v2", cgroups: lab.V2, runtime: runc, lines: `kill -9 $PID; while [ -e /proc/$PID/ns/mnt ]; do sleep 0.01; done`, code: "10", log: "code=10"},
		{name: "pid is another's", cgroups: lab.V1, runtime: runc, lines: `STATE=$(echo "$STATE" | sed "s/\"pid\": *[0-9]*/\"pid\":$(cat $OTHER)/")`, code: "10", log: "code=10"},
		{name: "pid is another's, v2", cgroups: lab.V2, runtime: runc, lines: `STATE=$(echo "$STATE" | sed "s/\"pid\": *[0-9]*/\"pid\":$(cat $OTHER)/")`, code: "10", log: "code=10"},
		{
			name: "read-only", cgroups: lab.V1, runtime: runc, setup: "mount --bind /sys/fs/cgroup/devices /sys/fs/cgroup/devices\n",
			lines: `mount -o remount,bind,ro /sys/fs/cgroup/devices`, code: "16", log: "read-only file system",
		},
		{name: "read-only, v2", cgroups: lab.V2, runtime: runc, lines: `mount -o remount,bind,ro /sys/fs/cgroup`, code: "0"},
		{name: "out of sight", cgroups: lab.V2, runtime: runc, lines: `mkdir -p /run/x; mount --bind /sys/fs/cgroup/$OTHERS /run/x; umount /sys/fs/cgroup; mount --bind /run/x /sys/fs/cgroup; umount /run/x`, code: "16", log: "cgroup is not reachable"},
		{name: "blanks and colons", cgroups: lab.V1, runtime: runc, path: "/a b: c/x:y z", code: "0"},
		{name: "blanks and colons, v2", cgroups: lab.V2, runtime: runc, path: "/a b: c/x:y z", code: "0"},
		{name: "blanks and colons, hybrid", cgroups: lab.Machine, runtime: runc, path: "/a b: c/x:y z", code: "0"},
		{name: "blanks and colons, crun", cgroups: lab.V1, runtime: crun, path: "/a b: c/x:y z", code: "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := s.bundle(t, plain, askTwo(), lab.Options{Args: append([]string{"/bin/witness"}, questions(false)...)})
			// Everything that starts later lies in the box's own copy of the mounts.
			meddler(t, b, "OTHER="+b.Dir+"/other OTHERS=gpu-hook-other-"+b.ID+"\n"+tt.lines)
			top := "gpu-hook-bad-" + b.ID
			if tt.path != "" {
				b.Spec.Linux.CgroupsPath = "/" + top + tt.path
				b.Save(t)
			}
			t.Cleanup(func() { removeCgroups(t, top); removeCgroups(t, "gpu-hook-other-"+b.ID) })
			got := lab.Run(t, tt.runtime.find(t), b, lab.Box{Cgroups: tt.cgroups, Setup: privateRun + tt.setup + stranger(t, b, tt.cgroups)})
			if code := strings.TrimSpace(lab.Content(b.Dir + "/code")); code != tt.code || (got.Code == 0) != (tt.code == "0") {
				t.Errorf("the hook ended with %s, the runtime with %d; want %s\n%s\nlog:\n%s", code, got.Code, tt.code, got.Stderr, got.Log)
			}
			if !strings.Contains(got.Log, tt.log) {
				t.Errorf("no %q in the log:\n%s", tt.log, got.Log)
			}
			if tt.code == "0" {
				for n := range given() {
					if e := syscall.Errno(got.Facts[n.question()].Errno); e != syscall.ENXIO {
						t.Errorf("open %d:%d: %v, want ENXIO; log:\n%s", n.major, n.minor, e, got.Log)
					}
				}
			}
			if got.MountsBefore != got.MountsAfter {
				t.Errorf("mounts of the runtime's namespace changed")
			}
			wantStranger(t, b)
			if got.Took > notForEver {
				t.Errorf("took %v", got.Took)
			}
		})
	}
}

// stranger starts a process of the host in a cgroup that denies GPUs, for
// process ids that are somebody else's.
func stranger(t *testing.T, b *lab.Bundle, c lab.Cgroups) string {
	t.Helper()
	dir := "/sys/fs/cgroup/devices/gpu-hook-other-" + b.ID
	setup := "OUTER=" + dir + "\n" + denyV1
	if c == lab.V2 {
		dir = "/sys/fs/cgroup/gpu-hook-other-" + b.ID
		setup = "mkdir " + dir + "\n" + denyVar + "=" + dir + " " + self(t) + "\n"
	}
	look := lookVar + "=" + dir + " " + self(t) + " >" + b.Dir
	return setup + `sleep 60 >/dev/null 2>&1 </dev/null &
other=$!
echo $other >` + b.Dir + `/other; echo $other >` + dir + `/cgroup.procs
trap '` + look + `/stranger.after; kill $other; wait $other' EXIT
` + look + "/stranger.before\n"
}

// wantStranger wants the stranger's rules to be as they were.
func wantStranger(t *testing.T, b *lab.Bundle) {
	t.Helper()
	before, after := lab.Content(b.Dir+"/stranger.before"), lab.Content(b.Dir+"/stranger.after")
	if before == "" || before != after {
		t.Errorf("rules of another process: %q and then %q, want no change", before, after)
	}
}

// TestBadBus has a scope whose systemd does not answer, breaks off or lies.
func TestBadBus(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	s := makeStage(t)
	for _, c := range []lab.Cgroups{lab.V1, lab.V2} {
		for _, tt := range []struct {
			name    string
			mode    systemdtest.Mode
			silent  bool // no bus at all
			warning string
		}{
			{name: "no bus", silent: true, warning: "systemd-not-told"},
			{name: "hangs at auth", mode: systemdtest.HangAtAuth, warning: "systemd-not-told"},
			{name: "hangs at call", mode: systemdtest.HangAtCall, warning: "systemd-not-told"},
			{name: "hangs at set", mode: systemdtest.HangAtSet, warning: "systemd-not-told"},
			{name: "refuses", mode: systemdtest.Refuse, warning: "systemd-not-told"},
			{name: "garbage", mode: systemdtest.Garbage, warning: "systemd-not-told"},
			{name: "breaks off", mode: systemdtest.BreakOff, warning: "systemd-not-told"},
			{name: "half a message", mode: systemdtest.HalfMessage, warning: "systemd-not-told"},
			{name: "wrong types", mode: systemdtest.WrongTypes, warning: "systemd-not-told"},
			{name: "lies", warning: map[lab.Cgroups]string{lab.V1: "systemd-lied"}[c]},
		} {
			t.Run(layoutName(c)+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				b := s.bundle(t, plain, askTwo(), lab.Options{Args: append([]string{"/bin/witness"}, questions(false)...)})
				unit := b.ID + ".scope"
				b.Spec.Linux.CgroupsPath = "/" + unit
				b.Save(t)
				t.Cleanup(func() { removeCgroups(t, unit) })
				setup := privateRun + "mkdir -p /run/systemd/system /run/dbus\n"
				if !tt.silent {
					bus := &systemdtest.Server{Mode: tt.mode, Version: "252", Units: map[string]systemd.Unit{
						unit: {ControlGroup: "/" + unit, Policy: "strict"},
					}}
					setup += "touch /run/dbus/system_bus_socket; mount --bind " + bus.Start(t).Path + " /run/dbus/system_bus_socket\n"
				}
				got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: c, Setup: setup})
				if got.Code != 0 {
					t.Fatalf("runc ended with %d: %s\nlog:\n%s", got.Code, got.Stderr, got.Log)
				}
				for _, n := range asked() {
					e := syscall.Errno(got.Facts[n.question()].Errno)
					if given()[n] && e != syscall.ENXIO || n.major == 195 && !given()[n] && e != syscall.EPERM {
						t.Errorf("open %d:%d: %v", n.major, n.minor, e)
					}
				}
				if warning := field(got.Log, "warning"); warning != tt.warning {
					t.Errorf("warning %q, want %q; log:\n%s", warning, tt.warning, got.Log)
				}
				if tt.warning != "" && !strings.Contains(got.Log, "gpu-hook reapply") {
					t.Errorf("the warning has no cure:\n%s", got.Log)
				}
				if got.Took > notForEver {
					t.Errorf("took %v", got.Took)
				}
			})
		}
	}
}
