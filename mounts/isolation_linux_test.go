package mounts

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestTreeInUserNS builds in a namespace that belongs to another user namespace.
func TestTreeInUserNS(t *testing.T) {
	t.Parallel()
	need.UserNS(t)
	rootfs := plant(t, t.TempDir(), "dir usr/local")
	host := openRoot(t, driver(t), Calls{})
	for _, way := range []string{"all", "no-mount-setattr"} {
		t.Run(way, func(t *testing.T) {
			calls := everyCalls()[way]
			r, b := box{Rootfs: rootfs, UserNS: true}.start(t, calls)
			tr := tree(t, host, calls)
			b.do(t, func() error {
				if got, err := tr.Build(r, calls); err != nil || got != Made {
					t.Fatalf("Build: got %v, %v", got, err)
				}
				sortedEqual(t, snapshot(t, filepath.Join(rootfs, "usr/local/nvidia")), treeContent)
				return nil
			})
		})
	}
}

// TestTreeDoesNotPropagate mounts over a driver file in the container. The
// host's file lies on a shared mount, so that without MS_PRIVATE the host would
// see that mount on its own file.
func TestTreeDoesNotPropagate(t *testing.T) {
	t.Parallel()
	for way, calls := range everyCalls() {
		if calls.NoOpenTree || os.Getenv(roleVar) != "" {
			continue // binds by path need one namespace that sees both; TestTreeBuild looks at the propagation
		}
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			shared := t.TempDir()
			rootfs := plant(t, t.TempDir(), "dir usr/local")
			_, host := box{Rootfs: rootfs, Shared: []string{shared}}.start(t, calls)
			r, container := box{Rootfs: rootfs}.start(t, calls)
			tr := Tree{At: "/usr/local/nvidia"}
			host.do(t, func() error {
				plant(t, shared, "file lib.so host", "file other.so other")
				p := prepare(t, openRoot(t, shared, calls), "lib.so", calls)
				tr.Files = []TreeFile{{Path: "lib.so", From: p}}
				return nil
			})
			target := filepath.Join(rootfs, "usr/local/nvidia/lib.so")
			container.do(t, func() error {
				if _, err := tr.Build(r, calls); err != nil {
					t.Fatal(err)
				}
				if err := unix.Mount("/proc/version", target, "", unix.MS_BIND, ""); err != nil {
					t.Fatal(err)
				}
				return nil
			})
			host.do(t, func() error {
				if data, err := os.ReadFile(shared + "/lib.so"); err != nil || string(data) != "host" {
					t.Errorf("host's file: got %q, %v; want it unchanged", data, err)
				}
				return nil
			})
		})
	}
}

// TestTreeKeepsLockedFlags makes mounts read-only by remount in a user
// namespace, where the flags of what the host mounted are locked: dropping one
// is EPERM.
func TestTreeKeepsLockedFlags(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.UserNS(t)
	calls := everyCalls()["none"]
	rootfs, source := plant(t, t.TempDir(), "dir usr/local"), t.TempDir()
	_, host := box{Rootfs: rootfs, NoExec: []string{source}}.start(t, calls)
	var r *Root
	var container box
	tr := Tree{At: "/usr/local/nvidia"}
	host.do(t, func() error {
		openWay(t, source)
		plant(t, source, "file lib.so host")
		r, container = box{Rootfs: rootfs, UserNS: true}.start(t, calls) // a child of this thread
		tr.Files = []TreeFile{{Path: "lib.so", From: prepare(t, openRoot(t, source, calls), "lib.so", calls)}}
		return nil
	})
	container.do(t, func() error {
		if _, err := tr.Build(r, calls); err != nil {
			t.Fatal(err)
		}
		var st unix.Statfs_t
		if err := unix.Statfs(filepath.Join(rootfs, "usr/local/nvidia/lib.so"), &st); err != nil {
			t.Fatal(err)
		}
		const want = unix.ST_RDONLY | unix.ST_NOSUID | unix.ST_NODEV | unix.ST_NOEXEC | unix.ST_NOATIME
		if st.Flags&want != want {
			t.Errorf("flags: got %#x; want %#x of them", st.Flags, want)
		}
		return nil
	})
}
