package mounts

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// swapper exchanges pairs of names in a directory as fast as it can.
func swapper(t *testing.T, top string, pairs [][2]string) (stop func() int) {
	t.Helper()
	dir, err := unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	done, swaps := make(chan struct{}), 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			for _, p := range pairs {
				select {
				case <-done:
					return
				default:
				}
				if unix.Renameat2(dir, p[0], dir, p[1], unix.RENAME_EXCHANGE) == nil {
					swaps++
				}
			}
		}
	})
	return func() int {
		close(done)
		wg.Wait()
		unix.Close(dir)
		return swaps
	}
}

// allowed are the errors that an attack may cause: it may stop a container, and
// nothing else.
func allowed(err error) bool {
	if errors.Is(err, ErrUnsafePath) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrChanged) {
		return true
	}
	for _, as := range []any{new(*MountPointError), new(*ForeignMountError), new(*WrongKindError)} {
		if errors.As(err, as) {
			return true
		}
	}
	// The place was taken, or went away with its directory.
	return errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EISDIR)
}

// TestAttack swaps the directories and files that we use for links to a
// directory of the host, on the same mount, while we work on them. The host's
// directory must never change, and its content never be read.
func TestAttack(t *testing.T) {
	t.Parallel()
	limit := 700 * time.Millisecond
	if testing.Short() {
		limit = 150 * time.Millisecond
	}
	hostDir := driver(t)
	for _, way := range []string{"all", "no-openat2", "none"} {
		t.Run(way, func(t *testing.T) {
			calls := everyCalls()[way]
			top := t.TempDir()
			canary := plant(t, filepath.Join(top, "canary"), "file name canary", "file nvidia/lib64/x canary", "empty empty",
				"dir local/nvidia", "file compat/x canary")
			rootfs := plant(t, filepath.Join(top, "rootfs"),
				"file etc/name image", "link etc.link "+canary, "dir usr/local/nvidia", "link usr.link ../canary",
				"file lib/name image", "link lib.link "+canary, "link lib/other ../../canary/name",
				"dir compat", "link compat.link ../../canary/compat", "dir new", "link new.link "+canary)
			before := snapshot(t, canary)
			r, b := box{Rootfs: rootfs, Bare: true}.start(t, calls)
			host := openRoot(t, hostDir, calls)
			stop := swapper(t, rootfs, [][2]string{
				{"etc", "etc.link"},
				{"usr", "usr.link"},
				{"lib", "lib.link"},
				{"lib/name", "lib/other"},
				{"compat", "compat.link"},
				{"new", "new.link"},
			})
			good, bad := map[string]int{}, map[string]int{}
			note := func(what string, err error) {
				switch {
				case err == nil:
					good[what]++
				case allowed(err):
					bad[what]++
				default:
					t.Errorf("%s: %v", what, err)
				}
			}
			for end := time.Now().Add(limit); time.Now().Before(end) && !t.Failed(); {
				tr := tree(t, host, calls)
				p := prepare(t, host, "bin/nvidia-smi", calls)
				b.do(t, func() error {
					r.retire() // resolve again in each round
					_, err := tr.Build(r, calls)
					note("Build", err)
					for range 50 {
						r.retire()
						_, err = r.WriteFile("/etc", "name", []byte(time.Now().String()), 0o644)
						note("WriteFile", err)
						_, err = r.WriteFile("/new/dir", "name", []byte("x"), 0o644)
						note("WriteFile in a new directory", err)
						_, _, err = PlaceLink(r, Link{Path: "/lib/name", Target: "x"})
						note("PlaceLink", err)
						data, err := r.ReadFile("/lib/name", 1000)
						note("ReadFile", err)
						if strings.Contains(string(data), "canary") {
							t.Errorf("ReadFile: got %q of the host", data)
						}
					}
					_, _, err = PlaceFile(r, "/lib/name", p, Cover)
					note("PlaceFile", err)
					_, err = HideDir(r, "/compat")
					note("HideDir", err)
					if list := mountsBelow(t, canary); len(list) != 0 {
						t.Errorf("mounts on the host's directory: %+v", list)
					}
					clearMounts(t, rootfs)
					return nil
				})
				for _, f := range tr.Files {
					f.From.Close()
				}
				p.Close()
			}
			swaps := stop()
			sortedEqual(t, snapshot(t, canary), before)
			t.Logf("%d swaps; worked %v; refused %v", swaps, good, bad)
			if swaps == 0 {
				t.Error("nothing was swapped")
			}
		})
	}
}

// clearMounts takes away what one round mounted, for the next.
func clearMounts(t *testing.T, rootfs string) {
	t.Helper()
	for range 20 { // a swapped directory may refuse for a while
		list := mountsBelow(t, rootfs)
		if len(list) == 0 {
			return
		}
		for _, m := range list {
			_ = unix.Unmount(m.Mountpoint, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
	}
}
