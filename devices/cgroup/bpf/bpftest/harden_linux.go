// Package bpftest keeps tests apart that need different settings of the whole
// machine: those that read device programs as they were loaded, and those that
// harden the kernel so that this is not possible. A lock in the folder for
// temporary files is shared by the former and taken by the latter alone, over
// all test programs that run at the same time.
package bpftest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

const (
	jitHarden = "/proc/sys/net/core/bpf_jit_harden"
	kptr      = "/proc/sys/kernel/kptr_restrict"
)

// Plain keeps the kernel from being hardened until the test ends.
func Plain(t testing.TB) {
	t.Helper()
	lock(t, unix.LOCK_SH)
}

// Harden sets net.core.bpf_jit_harden and kernel.kptr_restrict until the test
// ends. The test must not call [Plain].
func Harden(t *testing.T, harden, restrict string) {
	t.Helper()
	need.Harden(t)
	lock(t, unix.LOCK_EX)
	set(t, jitHarden, harden)
	set(t, kptr, restrict)
}

func lock(t testing.TB, how int) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "gpu-hook-harden.lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // Closing gives the lock back.
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EINTR) {
			t.Fatalf("lock %s: %v", f.Name(), err)
		}
	}
}

// set changes a setting. A process of its own puts the old value back when this
// end of its pipe closes, which happens however the test program ends.
func set(t *testing.T, file, value string) {
	t.Helper()
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	restore := exec.CommandContext(context.Background(), "sh", "-c", `cat >/dev/null; echo "$1" >"$2"`, "restore", strings.TrimSpace(string(was)), file)
	restore.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // An interrupt from the terminal is not for it.
	pipe, err := restore.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := restore.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = pipe.Close()
		if err := restore.Wait(); err != nil {
			t.Errorf("restore %s: %v", file, err)
		}
	})
	if err := write(file, value); err != nil {
		t.Fatal(err)
	}
}

func write(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(value); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
