package wrapper

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runtimeProgram is a copy of the test program that is no copy for the wrapper:
// one byte longer.
func runtimeProgram(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	path := filepath.Join(t.TempDir(), "runc")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err == nil {
		_, err = out.WriteString("\n")
	}
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs the wrapper around a recording runtime and returns what that saw,
// nil where it was not started.
func start(t *testing.T, hostRoot, configText string, args []string, change func(*exec.Cmd)) (*seen, int, string) {
	t.Helper()
	dir := t.TempDir()
	file, out := filepath.Join(dir, "config.toml"), filepath.Join(dir, "record")
	write(t, file, configText)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"gpu-hook"}, args...)
	cmd.Env = []string{"A=1", "odd", recordVar + "=" + out, fmt.Sprintf(`%s={"Config":%q,"HostRoot":%q}`, wrapperVar, file, hostRoot)}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if change != nil {
		change(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	_ = cmd.Wait()
	text, err := os.ReadFile(out)
	if errors.Is(err, os.ErrNotExist) {
		return nil, cmd.ProcessState.ExitCode(), stderr.String()
	}
	var r seen
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.PID != pid {
		t.Errorf("the runtime is process %d, want %d: it takes the wrapper's place", r.PID, pid)
	}
	if want := cmd.Env; !slices.Equal(r.Env, want) {
		t.Errorf("environment %q, want %q", r.Env, want)
	}
	return &r, cmd.ProcessState.ExitCode(), stderr.String()
}

func runtimes(path string) string {
	return "load-kernel-modules = false\n[log]\nfile = \"\"\n[runtime]\nruntimes = [\"" + path + "\"]\n"
}

func TestRunBecomesTheRuntime(t *testing.T) {
	t.Parallel()
	runc, root := runtimeProgram(t), host(t, 0)
	dir := bundle(t, asking)
	for _, args := range [][]string{
		{"--root", "/r", "--log", "/l", "--log-format", "json", "update", "--resources=-", "c1"},
		{"--root=/r", "kill", "c1", "KILL"},
		{"--frobnicate", "", "create\n", "--", "ö\xff"},
		{},
		{"delete", "--force", "c1"},
		{"create", "--bundle", dir, "c1"},
	} {
		r, code, stderr := start(t, root, runtimes(runc), args, nil)
		if r == nil || code != 42 || stderr != "" {
			t.Fatalf("%q ended with %d: %s", args, code, stderr)
		}
		if diff := cmp.Diff(append([]string{runc}, slices.Collect(mapped(args))...), r.Args); diff != "" {
			t.Errorf("arguments (-want +got):\n%s", diff)
		}
	}
	if !strings.Contains(read(t, filepath.Join(dir, "config.json")), `"createRuntime"`) {
		t.Error("create did not add the hook")
	}
}

// mapped are arguments as JSON keeps them.
func mapped(args []string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, a := range args {
			if !yield(strings.ToValidUTF8(a, "\ufffd")) {
				return
			}
		}
	}
}

// TestRunKeepsTheProcess: what a parent set up for the runtime reaches it.
func TestRunKeepsTheProcess(t *testing.T) {
	t.Parallel()
	runc, dir := runtimeProgram(t), t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, _ = w.WriteString("extra")
	w.Close()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	got, code, stderr := start(t, "/none", runtimes(runc), []string{"state", "c1"}, func(cmd *exec.Cmd) {
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader("resources")
		cmd.ExtraFiles = []*os.File{r}
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGUSR1}
	})
	if got == nil || code != 42 {
		t.Fatalf("ended with %d: %s", code, stderr)
	}
	if got.Dir != dir || got.Stdin != "resources" || got.Extra != "extra" || got.Death != int(syscall.SIGUSR1) || got.Parent != os.Getpid() {
		t.Errorf("the runtime saw %+v", got)
	}
}

// TestRunReadsNoBundle: for other commands a bundle that would be refused is
// not even looked at.
func TestRunReadsNoBundle(t *testing.T) {
	t.Parallel()
	runc := runtimeProgram(t)
	dir := bundle(t, `{"broken`)
	for _, command := range []string{"state", "start", "delete", "spec", "restore", "features"} {
		if r, code, stderr := start(t, "/none", runtimes(runc), []string{command, "--bundle", dir}, nil); r == nil {
			t.Errorf("%s ended with %d: %s", command, code, stderr)
		}
	}
	if r, code, _ := start(t, "/none", runtimes(runc), []string{"run", "--bundle", dir, "c"}, nil); r != nil || code != 10 {
		t.Errorf("run of a broken bundle ended with %d", code)
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	runc, root := runtimeProgram(t), host(t, 0)
	wrong := strings.Replace(asking, "DEVICES=0", "DEVICES=9", 1)
	script := filepath.Join(t.TempDir(), "runc")
	write(t, script, "#!/nonexistent\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		config string
		text   string // config.json
		format string
		code   int
		want   string
	}{
		{"no-such-GPU", runtimes(runc), wrong, "json", 11, `"level":"error"`},
		{"no-such-GPU-text", runtimes(runc), wrong, "text", 11, `level=error msg="gpu-hook: `},
		{"broken", runtimes(runc), `{"process":`, "json", 10, "unexpected end"},
		{"no-runtime", runtimes("/nonexistent/runc"), asking, "json", 1, "find an OCI runtime"},
		{"no-interpreter", runtimes(script), `{}`, "json", 1, "no such file"},
		{"configuration", runtimes(runc) + "frob = 1\n", asking, "json", 19, "frob"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := bundle(t, tt.text)
			logFile := filepath.Join(t.TempDir(), "log.json")
			args := []string{"--log", logFile, "--log-format", tt.format, "create", "--bundle", dir, "c1"}
			r, code, stderr := start(t, root, tt.config, args, nil)
			if r != nil || code != tt.code {
				t.Fatalf("ended with %d, want %d: %s", code, tt.code, stderr)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "gpu-hook: ") {
				t.Errorf("stderr is not one line of ours: %q", stderr)
			}
			text := read(t, logFile)
			if strings.Count(text, "\n") != 1 || !strings.Contains(text, tt.want) {
				t.Errorf("the engine reads %q, want one line with %q", text, tt.want)
			}
			if tt.format == "json" {
				var line struct{ Level, Msg, Time string }
				if err := json.Unmarshal([]byte(text), &line); err != nil || line.Msg+"\n" != stderr || line.Level != "error" || line.Time == "" {
					t.Errorf("the engine reads %+v (%v), want %q", line, err, stderr)
				}
			}
			if got := read(t, filepath.Join(dir, "config.json")); got != tt.text && tt.name != "no-interpreter" {
				t.Errorf("the bundle changed: %s", got)
			}
		})
	}
}

// TestRunWithBrokenConfiguration: containers that run already can be ended, and
// new ones without GPUs start.
func TestRunWithBrokenConfiguration(t *testing.T) {
	t.Parallel()
	runc := runtimeProgram(t)
	dir := bundle(t, `{"process":{"env":["A=1"]}}`)
	for _, args := range [][]string{{"delete", "c1"}, {"create", "--bundle", dir, "c1"}} {
		if r, code, stderr := start(t, "/none", runtimes(runc)+"frob = 1\n", args, nil); r == nil {
			t.Errorf("%q ended with %d: %s", args, code, stderr)
		}
	}
}
