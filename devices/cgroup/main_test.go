package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// witnessVariable makes the test program a witness: a process in a cgroup that
// says what it may open.
const witnessVariable = "GPUHOOK_TEST_WITNESS"

func TestMain(m *testing.M) {
	if os.Getenv(witnessVariable) != "" {
		witnessMain()
		return
	}
	for variable, role := range map[string]func() error{rootlessVariable: rootlessMain, detectVariable: detectMain} {
		if os.Getenv(variable) == "" {
			continue
		}
		if err := role(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	// Keeps tests off the first thread, which /proc/self is about: some join
	// other namespaces on theirs.
	runtime.LockOSThread()
	os.Exit(m.Run())
}

// witnessMain answers each line "MODE PATH" with the name of the error: MODE is
// r, w, rw, or mknod-MAJOR-MINOR, which makes PATH. Its end comes with that of
// its input.
func witnessMain() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		mode, path, _ := strings.Cut(in.Text(), " ")
		fmt.Println(errorName(attempt(mode, path)))
	}
}

func attempt(mode, path string) error {
	flags := map[string]int{"r": os.O_RDONLY, "w": os.O_WRONLY, "rw": os.O_RDWR}
	if f, ok := flags[mode]; ok {
		fd, err := syscall.Open(path, f|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
		if err == nil {
			_ = syscall.Close(fd)
		}
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(mode, "mknod-%d-%d", &major, &minor); err != nil {
		return err
	}
	err := syscall.Mknod(path, syscall.S_IFCHR|0o600, major<<8|minor)
	if err == nil {
		_ = os.Remove(path)
	}
	return err
}

func errorName(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, syscall.EPERM):
		return "EPERM"
	case errors.Is(err, syscall.ENXIO):
		return "ENXIO"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// testContext is for what runs without a test.
func testContext() context.Context { return context.Background() }
