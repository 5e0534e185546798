package mounts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func nsOf(t *testing.T, path string) string {
	t.Helper()
	link, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func TestNamespaceDo(t *testing.T) {
	t.Parallel()
	_, b := box{Rootfs: t.TempDir()}.start(t, Calls{})
	n, err := OpenNamespace(b.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	host := nsOf(t, "/proc/thread-self/ns/mnt")
	var inside string
	var tid int
	if err := n.Do(func() error {
		inside, tid = nsOf(t, "/proc/thread-self/ns/mnt"), unix.Gettid()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if inside == host {
		t.Errorf("Do stayed in %s", host)
	}
	// However many goroutines run afterwards, none of them is in there.
	for range 50 {
		done := make(chan string)
		go func() {
			runtime.LockOSThread()
			if unix.Gettid() == tid && tid != os.Getpid() {
				done <- "the thread of Do"
				return
			}
			done <- nsOf(t, "/proc/thread-self/ns/mnt")
		}()
		if got := <-done; got != host {
			t.Fatalf("another goroutine: got %s; want %s", got, host)
		}
	}
}

// TestNamespaceDoLeavesFirstThread: whichever thread Do starts on, the process's
// first one, whose view /proc/self is, stays where it was.
func TestNamespaceDoLeavesFirstThread(t *testing.T) {
	t.Parallel()
	_, b := box{Rootfs: t.TempDir()}.start(t, Calls{})
	n, err := OpenNamespace(b.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	host := nsOf(t, "/proc/self/ns/mnt")
	for range 50 {
		if err := n.Do(func() error {
			if unix.Gettid() == os.Getpid() {
				return errors.New("on the first thread")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got := nsOf(t, "/proc/self/ns/mnt"); got != host {
		t.Errorf("the process is in %s now; want %s", got, host)
	}
}

func TestNamespaceErrors(t *testing.T) {
	t.Parallel()
	_, b := box{Rootfs: t.TempDir()}.start(t, Calls{})
	boom := errors.New("boom")
	if err := InNamespace(b.pid, func() error { return boom }); !errors.Is(err, boom) {
		t.Errorf("InNamespace: got %v; want the function's error", err)
	}
	if err := InNamespace(b.pid, func() error { runtime.Goexit(); return nil }); !errors.Is(err, errExited) {
		t.Errorf("InNamespace with Goexit: got %v; want %v", err, errExited)
	}
	if err := InNamespace(1<<30, func() error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("InNamespace of no process: got %v", err)
	}
	defer func() {
		if got := recover(); got != "boom" {
			t.Errorf("panic: got %v; want it in the caller", got)
		}
	}()
	_ = InNamespace(b.pid, func() error { panic("boom") })
}

// TestNamespaceOutlivesProcess uses a namespace after its process is gone.
func TestNamespaceOutlivesProcess(t *testing.T) {
	t.Parallel()
	rootfs := t.TempDir()
	n := &Namespace{}
	t.Run("process", func(t *testing.T) {
		_, b := box{Rootfs: rootfs, Tmpfs: []string{"."}}.start(t, Calls{})
		var err error
		if n, err = OpenNamespace(b.pid); err != nil {
			t.Fatal(err)
		}
	})
	if n.f == nil {
		return // the process was skipped
	}
	defer n.Close()
	if err := n.Do(func() error { return os.WriteFile(filepath.Join(rootfs, "f"), nil, 0o644) }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(rootfs, "f")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("file in the namespace, seen from outside: got %v", err)
	}
}
