package lab

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// T is the part of [testing.TB] that the laboratory uses, so that programs such
// as the demonstration and the benchmark can use it, too.
type T interface {
	need.T
	Logf(format string, args ...any)
	Cleanup(func())
}

// command runs a program to its end and returns what it wrote on stdout. On
// failure the test ends with everything that the program said.
func command(t T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := try(dir, env, name, args...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

// try is command for callers that know what to do about a failure.
func try(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(stdout.String() + "\n" + stderr.String())
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return stdout.String(), nil
}

// Write puts text into a file, making the directories above it.
func Write(t T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatalf("%v", err)
	}
}

// Link makes a symbolic link, making the directories above it.
func Link(t T, target, link string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatalf("%v", err)
	}
}

// mkdir makes directories below dir, each as a child could see it (0755
// whatever the umask).
func mkdir(t T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatalf("%v", err)
		}
	}
}
