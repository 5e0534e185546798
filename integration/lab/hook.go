package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// WithHook is for a TestMain: it builds gpu-hook once, names it in [BinaryVar]
// for [Hook] and the test programs, and calls run, whose exit code it returns.
// Where the variable is set already, that program is tested.
func WithHook(run func() int) int {
	if os.Getenv(BinaryVar) != "" {
		return run()
	}
	dir, err := os.MkdirTemp("", "gpu-hook-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary := filepath.Join(dir, "gpu-hook")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=test", "-o", binary,
		"github.com/gpu-hook/gpu-hook/cmd/gpu-hook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build gpu-hook: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv(BinaryVar, binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}
