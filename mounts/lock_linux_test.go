package mounts

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLock(t *testing.T) {
	t.Parallel()
	dir := plant(t, t.TempDir(), "dir sub")
	a, b := openRoot(t, dir, Calls{}), openRoot(t, dir, Calls{})
	unlock, err := a.Lock()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err = b.lock(20 * time.Millisecond)
	if path, ok := errors.AsType[*PathError](err); !errors.Is(err, ErrBusy) || !ok || path.Cure() == "" {
		t.Errorf("lock of a locked root: got %v; want ErrBusy with a cure", err)
	}
	if waited := time.Since(start); waited < 20*time.Millisecond {
		t.Errorf("lock waited %v; want 20 ms", waited)
	}
	other := openRoot(t, dir+"/sub", Calls{})
	if free, err := other.lock(0); err != nil {
		t.Errorf("lock of another root: %v", err)
	} else {
		free()
	}
	time.AfterFunc(10*time.Millisecond, unlock)
	free, err := b.Lock()
	if err != nil {
		t.Fatalf("Lock after unlock: %v", err)
	}
	free()
}

// TestLockExcludes lets several hooks count.
func TestLockExcludes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var inside atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		r := openRoot(t, dir, Calls{})
		wg.Go(func() {
			unlock, err := r.Lock()
			if err != nil {
				t.Errorf("Lock: %v", err)
				return
			}
			defer unlock()
			if inside.Add(1) != 1 {
				t.Error("two hold the lock")
			}
			time.Sleep(time.Millisecond)
			inside.Add(-1)
		})
	}
	wg.Wait()
}

// TestLockReadOnly locks a container that cannot be written, from its namespace.
func TestLockReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, b := box{Rootfs: dir, ReadOnly: true}.start(t, Calls{})
	b.do(t, func() error {
		unlock, err := r.Lock()
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		if _, err := openRoot(t, dir, Calls{}).lock(0); !errors.Is(err, ErrBusy) {
			t.Errorf("lock through the host's path: got %v; want ErrBusy", err)
		}
		return nil
	})
}

// TestLockedHooks lets several hooks work on one container at the same moment.
// Each has resolved the tree's place before it gets the lock.
func TestLockedHooks(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "dir usr/local/nvidia", "dir etc")
	host := openRoot(t, driver(t), Calls{})
	r, b := box{Rootfs: rootfs}.start(t, Calls{})
	r.Close()
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		r, err := OpenRootIn(b.pid, rootfs, Calls{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := r.Dir("/usr/local/nvidia"); err != nil {
			t.Fatal(err)
		}
		tr := tree(t, host, Calls{})
		wg.Go(func() {
			err := InNamespace(b.pid, func() error {
				unlock, err := r.Lock()
				if err != nil {
					return err
				}
				defer unlock()
				outcome, err := tr.Build(r, Calls{})
				if err != nil {
					return err
				}
				if outcome == Made {
					made.Add(1)
				}
				if _, err := r.WriteFile("/etc/conf.d", "name", []byte("x"), 0o644); err != nil {
					return err
				}
				_, _, err = PlaceLink(r, Link{Path: "/etc/link", Target: "name"})
				return err
			})
			if err != nil {
				t.Errorf("hook: %v", err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("trees made: %d; want 1, kept by the others", made.Load())
	}
}
