package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/state"
	"github.com/gpu-hook/gpu-hook/integration/need"
	"github.com/gpu-hook/gpu-hook/mounts"
)

// child starts a process that sleeps, with attributes, and returns its id.
func child(t *testing.T, attr *syscall.SysProcAttr) int {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestStandOwnNamespace(t *testing.T) {
	t.Parallel()
	need.Root(t)
	configured := IDMaps{UIDs: []specs.LinuxIDMapping{{HostID: 5, Size: 1}}, GIDs: []specs.LinuxIDMapping{{HostID: 5, Size: 1}}}
	want := Standing{Stage: state.Prestart, Capable: true}
	// What config.json lists does not count where there is a process: podman's
	// lists the mappings of the user namespace that its hooks are in, too.
	got, err := stand(state.Prestart, false, child(t, nil), configured)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stand (-want +got):\n%s", diff)
	}
	got, err = stand(state.Prestart, false, 0, configured)
	if err != nil {
		t.Fatal(err)
	}
	want.Other, want.Maps = true, configured
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stand without a process (-want +got):\n%s", diff)
	}
}

func TestStandOtherNamespace(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.UserNS(t)
	for _, tt := range []struct {
		name string
		maps []syscall.SysProcIDMap
		want []specs.LinuxIDMapping
	}{
		{
			name: "mapped, though config.json lists nothing",
			maps: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 200000, Size: 65536}},
			want: []specs.LinuxIDMapping{{HostID: 200000, Size: 65536}},
		},
		{
			name: "mapped to itself",
			maps: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65536}},
			want: []specs.LinuxIDMapping{{Size: 65536}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pid := child(t, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: tt.maps, GidMappings: tt.maps})
			got, err := stand(state.Prestart, false, pid, IDMaps{})
			if err != nil {
				t.Fatal(err)
			}
			want := Standing{Stage: state.Prestart, Capable: true, Other: true, Maps: IDMaps{UIDs: tt.want, GIDs: tt.want}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("stand (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckInside(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.MountNS(t)
	own, err := namespace("self", "mnt")
	if err != nil {
		t.Fatal(err)
	}
	other := child(t, &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS})
	same := child(t, nil)
	for _, tt := range []struct {
		name    string
		entered string
		pid     int
		ok      bool
	}{
		{name: "runc", pid: 1, ok: true},
		{name: "crun", pid: 0, ok: true},
		{name: "runc in the host's PID namespace", pid: same, ok: true},
		{name: "another stage", pid: other},
		{name: "nsenter has worked", entered: own.String(), pid: other, ok: true},
		{name: "nsenter has not", entered: "4:1", pid: other},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &call{
				options: Options{Stage: state.CreateContainer, Entered: tt.entered},
				state:   state.State{State: specs.State{Pid: tt.pid}},
			}
			err := c.checkInside()
			if (err == nil) != tt.ok || err != nil && fault.CodeOf(err) != fault.State {
				t.Errorf("checkInside: %v, want it right: %v", err, tt.ok)
			}
			if tt.ok && tt.entered == "" && c.state.Pid != os.Getppid() {
				t.Errorf("the container's process is %d, want the parent %d", c.state.Pid, os.Getppid())
			}
		})
	}
}

func TestCheckRoot(t *testing.T) {
	t.Parallel()
	r, err := mounts.OpenRoot(t.TempDir(), mounts.Calls{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := (Standing{Stage: state.Prestart}).checkRoot(r, "/b"); err != nil {
		t.Errorf("outside a rootfs may be any directory: %v", err)
	}
	err = Standing{Stage: state.CreateContainer}.checkRoot(r, "/b")
	if fault.CodeOf(err) != fault.State || !strings.Contains(fault.CureOf(err), "createContainer") {
		t.Errorf("a plain directory inside: %v", err)
	}
	proc, err := mounts.OpenRoot("/proc", mounts.Calls{})
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	if err := (Standing{Stage: state.CreateContainer}).checkRoot(proc, "/proc"); err != nil {
		t.Errorf("a mounted root: %v", err)
	}
}

func TestParseParent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     int
		fail     bool
	}{
		{name: "plain", in: "7 (cat) R 42 1 1 0", want: 42},
		{name: "odd name", in: "7 (a) b) (c) S 9 1", want: 9},
		{name: "short", in: "7 (cat) R", fail: true},
		{name: "no number", in: "7 (cat) R x", fail: true},
		{name: "empty", in: "", fail: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseParent([]byte(tt.in))
			if got != tt.want || (err != nil) != tt.fail {
				t.Errorf("parseParent(%q) = %d, %v", tt.in, got, err)
			}
		})
	}
}

func FuzzParseParent(f *testing.F) {
	f.Add([]byte("7 (cat) R 42 1 1 0"))
	f.Add([]byte("7 (a) b) (c) S 9 1"))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = parseParent(text) })
}

func TestUserRunDir(t *testing.T) {
	need.Root(t)
	safe, open := t.TempDir(), t.TempDir()
	for dir, mode := range map[string]os.FileMode{safe: 0o700, open: 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, 61002, 61002); err != nil {
			t.Fatal(err)
		}
	}
	user := Standing{UID: 61002}
	for _, tt := range []struct {
		name, env string
		in        Standing
		want      string
	}{
		{"root", safe, Standing{}, RunDir},
		{"user", safe, user, filepath.Join(safe, "gpu-hook")},
		{"somebody else's", safe, Standing{UID: 61003}, ""},
		{"others can write", open, user, ""},
		{"relative", "x", user, ""},
		{"none", "", user, ""},
		{"inside the environment is the image's", safe, Standing{UID: 61002, Stage: state.CreateContainer}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", tt.env)
			if got := tt.in.runDir(); got != tt.want {
				t.Errorf("runDir = %q, want %q", got, tt.want)
			}
		})
	}
}

// TestCheckOutside refuses a process of this mount namespace: the id in a state
// may be another process's by now, and everything would be mounted on the host.
func TestCheckOutside(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		pid   int
		stage state.Stage
		want  fault.Code
	}{
		{name: "our own", pid: os.Getpid(), stage: state.Prestart, want: fault.State},
		{name: "inside", pid: os.Getpid(), stage: state.CreateContainer, want: fault.Done},
		{name: "none", stage: state.Prestart, want: fault.Done},
		{name: "ended", pid: 1 << 30, stage: state.Prestart, want: fault.Done},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &call{}
			c.state.Pid = tt.pid
			if got := fault.CodeOf(c.checkOutside(Standing{Stage: tt.stage})); got != tt.want {
				t.Errorf("checkOutside: code %d, want %d", got, tt.want)
			}
		})
	}
}
