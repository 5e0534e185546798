package hook

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

// roleVariable makes the test program replace itself as the hook does.
const roleVariable = "GPUHOOK_TEST_HOOK_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "enter" {
		c := &call{
			options: Options{Args: []string{"prestart"}, ConfigPath: "relative.toml"},
			state:   state.State{State: specs.State{Version: "1.0", ID: "c1", Pid: os.Getpid(), Bundle: "/elsewhere"}},
			bundle:  state.Bundle{Dir: "/bundle"},
		}
		_ = c.enter(Standing{UID: 1000}, []string{"/nothing", os.Args[1]})
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestEnter replaces a process by a stand-in for nsenter, and looks at what that
// was given: arguments, environment, the state, and a way to start gpu-hook.
func TestEnter(t *testing.T) {
	t.Parallel()
	tool := filepath.Join(t.TempDir(), "nsenter")
	script := "#!/bin/sh\n/usr/bin/env\nfor a; do echo \"arg $a\"; done\n/bin/cat\necho\nfor a; do case $a in /proc/self/fd/*) /bin/readlink /proc/$$/fd/${a##*/};; esac; done\n"
	if err := os.WriteFile(tool, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", tool)
	cmd.Env = []string{roleVariable + "=enter", "LD_PRELOAD=/evil.so", "SECRET=1"}
	cmd.Stdin = strings.NewReader("this was read before")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("enter: %v: %s", err, out)
	}
	text := string(out)
	for _, bad := range []string{"LD_PRELOAD", "SECRET", "this was read before"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s was handed on:\n%s", bad, text)
		}
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	ns, err := namespace("self", "mnt")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"arg -U\narg -m\narg --preserve-credentials\narg --\narg /proc/self/fd/",
		"arg prestart\narg --config\narg " + filepath.Join(wd, "relative.toml") + "\narg --entered\narg " + ns.String() + "\n",
		`"id":"c1"`, `"bundle":"/bundle"`, "hook.test",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func TestEnterWithoutTool(t *testing.T) {
	t.Parallel()
	c := &call{state: state.State{State: specs.State{Pid: os.Getpid()}}}
	err := c.enter(Standing{UID: 1000}, []string{"/nothing/nsenter", "/dev/null"})
	if fault.CodeOf(err) != fault.Mount || !strings.Contains(fault.CureOf(err), "install nsenter") || !strings.Contains(err.Error(), "user 1000") {
		t.Errorf("enter without nsenter: %v (code %d)", err, fault.CodeOf(err))
	}
	c.state.Pid = 1 << 30
	err = c.enter(Standing{}, nil)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(fault.CureOf(err), "createContainer") {
		t.Errorf("enter no process: %v", err)
	}
}

// TestStateTwice hands a state on and reads it again.
func TestStateTwice(t *testing.T) {
	t.Parallel()
	first := state.State{
		State: specs.State{Version: "1.0", ID: "c\n1", Status: "created", Pid: 7, Bundle: "/", Annotations: map[string]string{"a": "b"}},
		Root:  "rootfs",
	}
	text, err := first.Encode("/found")
	if err != nil {
		t.Fatal(err)
	}
	second, err := state.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	first.Bundle = "/found"
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second reading (-want +got):\n%s", diff)
	}
}
