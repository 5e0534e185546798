package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// call runs one command line with text on a pipe as standard input.
func call(t *testing.T, stdin string, argv ...string) (code int, stdout, stderr string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		_, _ = w.WriteString(stdin)
		_ = w.Close()
	}()
	var out, errs bytes.Buffer
	code = run(argv, r, &out, &errs)
	return code, out.String(), errs.String()
}

// bundle writes a bundle whose container has the environment given.
func bundle(t *testing.T, env ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "rootfs"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := `{"ociVersion":"1.0.2","process":{"env":["` + strings.Join(env, `","`) + `"]},"root":{"path":"rootfs"}}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRunEnds(t *testing.T) {
	t.Parallel()
	quiet := bundle(t, "A=1")
	asking := bundle(t, "NVIDIA_VISIBLE_DEVICES=0")
	noLog := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(noLog, []byte("[log]\nfile = \"\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(broken, []byte("[log]\nfile = \"\"\n[cgroups]\nmode = \"loud\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	state := func(bundle string) string {
		return `{"ociVersion":"1.0.2","id":"c","status":"creating","pid":` + strconv.Itoa(os.Getpid()) + `,"bundle":"` + bundle + `"}`
	}
	tests := []struct {
		name     string
		stdin    string
		argv     []string
		wantCode int
		wantErr  string // in the one line on stderr; "" = nothing
	}{
		{"no GPU asked for", state(quiet), []string{"gpu-hook", "--config", noLog, "prestart"}, 0, ""},
		{"no GPU asked for, broken configuration", state(quiet), []string{"gpu-hook", "--config", broken, "prestart"}, 0, ""},
		{"no command but a state", state(quiet), []string{"gpu-hook", "--config", noLog}, 0, ""},
		{"poststop", state(quiet), []string{"nvidia-container-runtime-hook", "poststop"}, 0, ""},
		{"GPU, broken configuration", state(asking), []string{"gpu-hook", "--config", broken, "prestart"}, 19, "configuration"},
		{"plan without a driver", "", []string{"gpu-hook", "--config", noLog, "--host-root", empty, "plan", "--bundle", asking}, 12, "driver"},
		{"poststop under our own name", state(quiet), []string{"gpu-hook", "poststop"}, 2, "prestart"},
		{"empty state", "", []string{"gpu-hook", "--config", noLog, "prestart"}, 10, "state"},
		{"truncated state", `{"id":`, []string{"gpu-hook", "--config", noLog, "createRuntime"}, 10, "state"},
		{"missing bundle", state("/nonexistent"), []string{"gpu-hook", "--config", noLog, "prestart"}, 10, "bundle"},
		{"unknown command", state(quiet), []string{"gpu-hook", "frobnicate"}, 2, "frobnicate"},
		{"unknown option", state(quiet), []string{"gpu-hook", "--frobnicate", "prestart"}, 2, "frobnicate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := call(t, tt.stdin, tt.argv...)
			if code != tt.wantCode {
				t.Errorf("%q ended with %d, want %d: %s", tt.argv, code, tt.wantCode, stderr)
			}
			if stdout != "" && !slices.Contains(tt.argv, "plan") {
				t.Errorf("a hook wrote to stdout: %q", stdout)
			}
			if tt.wantErr == "" && stderr != "" || !strings.Contains(stderr, tt.wantErr) {
				t.Errorf("stderr: %q, want %q in it", stderr, tt.wantErr)
			}
			if stderr != "" && (strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "gpu-hook: ")) {
				t.Errorf("stderr is not one line of ours: %q", stderr)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arg, want string }{
		{"version", "version", "gpu-hook devel\n"},
		{"help", "--help", usage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := call(t, "", "gpu-hook", tt.arg)
			if code != 0 || stdout != tt.want || stderr != "" {
				t.Errorf("%s: %d, %q, %q", tt.arg, code, stdout, stderr)
			}
		})
	}
}
