package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

func TestRootOpenKinds(t *testing.T) {
	t.Parallel()
	need.Root(t)
	rootfs := plant(t, t.TempDir(),
		"fifo fifo", "sock sock", "char null", "dir dir", "file regular x", "link to-fifo fifo", "link to-null /null")
	tests := []struct{ name, path, want string }{
		{name: "fifo", path: "fifo", want: "FIFO"},
		{name: "socket", path: "sock", want: "socket"},
		{name: "device", path: "null", want: "character device"},
		{name: "directory", path: "dir", want: "directory"},
		{name: "link-to-fifo", path: "to-fifo", want: "FIFO"},
		{name: "link-to-device", path: "to-null", want: "character device"},
	}
	for way, calls := range bothWays() {
		r := openRoot(t, rootfs, calls)
		for _, tt := range tests {
			t.Run(way+"/"+tt.name, func(t *testing.T) {
				done := make(chan error, 1)
				go func() {
					_, err := r.ReadFile(tt.path, 10)
					done <- err
				}()
				var err error
				select {
				case err = <-done:
				case <-time.After(5 * time.Second):
					t.Fatalf("ReadFile(%q) blocks", tt.path)
				}
				wrong, ok := errors.AsType[*WrongKindError](err)
				if !ok || wrong.Got != tt.want || !errors.Is(err, ErrUnsafePath) {
					t.Errorf("ReadFile(%q): got %v; want a *WrongKindError for a %s", tt.path, err, tt.want)
				}
			})
		}
	}
}

func TestRootReadFileLimit(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "file ten 0123456789", "file huge x")
	if err := os.Truncate(filepath.Join(rootfs, "huge"), 1<<40); err != nil {
		t.Fatal(err)
	}
	r := openRoot(t, rootfs, Calls{})
	tests := []struct {
		name, path string
		limit      int64
		want       string
		tooLarge   bool
	}{
		{name: "exact", path: "ten", limit: 10, want: "0123456789"},
		{name: "below", path: "ten", limit: 9, tooLarge: true},
		{name: "sparse-terabyte", path: "huge", limit: 1 << 20, tooLarge: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, err := r.ReadFile(tt.path, tt.limit)
			_, tooLarge := errors.AsType[*TooLargeError](err)
			if tooLarge != tt.tooLarge || string(data) != tt.want {
				t.Errorf("ReadFile(%q, %d): got %q, %v; want %q, too large %v", tt.path, tt.limit, data, err, tt.want, tt.tooLarge)
			}
			if tt.tooLarge && !errors.Is(err, ErrUnsafePath) {
				t.Errorf("ReadFile(%q): %v does not match ErrUnsafePath", tt.path, err)
			}
		})
	}
}

// TestRootReadFileGrows reads a file of procfs, whose size is 0.
func TestRootReadFileGrows(t *testing.T) {
	t.Parallel()
	r := openRoot(t, "/proc/self", Calls{})
	if data, err := r.ReadFile("status", 1<<20); err != nil || len(data) < 100 {
		t.Errorf("ReadFile(status): got %d bytes, %v; want some hundred", len(data), err)
	}
	if _, err := r.ReadFile("status", 10); !errors.Is(err, ErrUnsafePath) {
		t.Errorf("ReadFile(status, 10): got %v; want a *TooLargeError", err)
	}
}

// TestRootOpenLease makes sure that a lease held on a file, by whoever shares
// it, does not make open wait until the lease breaks (45 s).
func TestRootOpenLease(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "file leased x")
	fd, err := unix.Open(filepath.Join(rootfs, "leased"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Logf("this file system has no leases: %v", err)
		return
	}
	r := openRoot(t, rootfs, Calls{})
	start := time.Now()
	if f, err := r.Open("leased"); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("Open of a leased file: got %v, %v; want EWOULDBLOCK", f, err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Open of a leased file took %v", took)
	}
}
