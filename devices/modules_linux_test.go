package devices

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestRunCommandInRoot has a shell in the root, so that the program, behind an
// absolute link as Debian's alternatives are, runs with that root as its own.
func TestRunCommandInRoot(t *testing.T) {
	need.Root(t)
	need.Busybox(t)
	h := stand(t, "file canary x", "dir bin", "dir etc/alternatives", "link usr/bin/nvidia-smi /etc/alternatives/nvidia-smi")
	root := filepath.Dir(h.Proc)
	shell, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(shell)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin/busybox"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/busybox sh\nset -- \"$@\" /canary* /proc*\necho \"$@\"\n"
	if err := os.WriteFile(filepath.Join(root, "etc/alternatives/nvidia-smi"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := HostSMI(root)(t.Context(), "-L")
	if want := "-L /canary /proc*\n"; err != nil || string(out) != want {
		t.Errorf("HostSMI() = %q, %v, want %q", out, err, want)
	}
}

// script puts an executable shell script below a stand-in root. There is no
// shell in that root, so it is run as it is. Tests that write a program do not
// run in parallel: a child that another test forks at that moment would hold the
// file open for writing, and running it would give ETXTBSY.
func script(t *testing.T, root, path, body string) {
	t.Helper()
	full := filepath.Join(root, path)
	put(t, full, "#!/bin/sh\n"+body+"\n")
	if err := os.Chmod(full, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestLoadModules(t *testing.T) {
	for _, tc := range []struct {
		name, modprobe, nvidia string
		want                   string
	}{
		{"nvidia-modprobe", "echo modprobe", "echo nvidia", "nvidia -u -c=0\n"},
		{"modprobe-only", "echo modprobe", "", "modprobe -- nvidia-uvm\n"},
		{"second-way", "echo modprobe", "exit 1; :", "modprobe -- nvidia-uvm\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			log := filepath.Join(root, "log")
			if tc.modprobe != "" {
				script(t, root, "usr/sbin/modprobe", tc.modprobe+` "$@" >>`+log)
			}
			if tc.nvidia != "" {
				script(t, root, "usr/bin/nvidia-modprobe", tc.nvidia+` "$@" >>`+log)
			}
			if err := LoadModules(t.Context(), root, "nvidia-uvm"); err != nil {
				t.Fatalf("LoadModules() = %v", err)
			}
			if got, err := os.ReadFile(log); err != nil || string(got) != tc.want {
				t.Errorf("commands %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestLoadModulesErrors(t *testing.T) {
	root := t.TempDir()
	var load *LoadError
	err := LoadModules(t.Context(), root, "nvidia-uvm")
	if !errors.As(err, &load) || !errors.Is(err, errNoCommand) || !strings.Contains(load.Cure(), "modprobe nvidia-uvm") {
		t.Errorf("LoadModules() without tools = %v, want a LoadError", err)
	}
	script(t, root, "usr/sbin/modprobe", "echo 'FATAL: not found' >&2; exit 1")
	err = LoadModules(t.Context(), root, "nvidia-uvm", "nvidia-modeset")
	if err == nil || strings.Count(err.Error(), "FATAL: not found") != 2 {
		t.Errorf("LoadModules() = %v, want what modprobe said, for both modules", err)
	}
}

func TestRunCommandEnvironment(t *testing.T) {
	t.Setenv("LD_PRELOAD_CANARY", "sings")
	root := t.TempDir()
	script(t, root, "usr/bin/nvidia-smi", `tr '\0' '\n' </proc/self/environ; echo "$@"; pwd`)
	out, err := HostSMI(root)(t.Context(), "-q", "-x")
	if err != nil {
		t.Fatalf("HostSMI() = %v", err)
	}
	if strings.Contains(string(out), "CANARY") || !strings.HasSuffix(string(out), "-q -x\n/\n") {
		t.Errorf("nvidia-smi saw %q, want an empty environment and /", out)
	}
}

func TestHostSMIMissing(t *testing.T) {
	t.Parallel()
	if _, err := HostSMI(t.TempDir())(t.Context(), "-L"); !errors.Is(err, errNoCommand) {
		t.Errorf("HostSMI() = %v, want errNoCommand", err)
	}
}

// TestFindCommandStaysInside has the command as an absolute link, as Debian's
// alternatives are: it leads to the root's own file.
func TestFindCommandStaysInside(t *testing.T) {
	t.Parallel()
	h := stand(t, "file etc/alternatives/smi x", "link usr/bin/nvidia-smi /etc/alternatives/smi", "link usr/bin/out /etc/passwd")
	root := filepath.Dir(h.Proc)
	if got, err := findCommand(root, []string{"/usr/bin/none", "/usr/bin/nvidia-smi"}); err != nil || got != "/usr/bin/nvidia-smi" {
		t.Errorf("findCommand() = %q, %v", got, err)
	}
	if got, err := findCommand(root, []string{"/usr/bin/out"}); err == nil {
		t.Errorf("findCommand() = %q, which is outside the root", got)
	}
}

func TestRunCommandLimits(t *testing.T) {
	root := t.TempDir()
	script(t, root, "bin/endless", "exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := runCommand(ctx, root, "/bin/endless"); err == nil || time.Since(begin) > 10*time.Second {
		t.Errorf("runCommand() of an endless command = %v after %v", err, time.Since(begin))
	}
	l := &limited{max: 4}
	for _, text := range []string{"ab", "cdef", "g"} {
		if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("Write(%q) = %d, %v", text, n, err)
		}
	}
	if string(l.data) != "abcd" {
		t.Errorf("kept %q, want the first four bytes", l.data)
	}
}
