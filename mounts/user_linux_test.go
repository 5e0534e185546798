package mounts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestDoAs makes files in a container of another user namespace: in a tmpfs of
// that namespace, in the rootfs, and in a tree of ours.
func TestDoAs(t *testing.T) {
	t.Parallel()
	need.UserNS(t)
	rootfs := plant(t, t.TempDir(), "dir dev", "dir usr/local")
	if err := os.Chmod(rootfs, 0o700); err != nil { // root's alone: rights must be kept
		t.Fatal(err)
	}
	r, b := box{Rootfs: rootfs, UserNS: true, Tmpfs: []string{"dev"}}.start(t, Calls{})
	if err := os.Chmod(rootfs, 0o700); err != nil {
		t.Fatal(err)
	}
	n, err := OpenNamespace(b.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	inDev := filepath.Join(rootfs, "dev/file")
	if err := n.Do(func() error { return os.WriteFile(inDev, nil, 0o644) }); !errors.Is(err, unix.EOVERFLOW) {
		t.Errorf("write into /dev as user 0: got %v; want EOVERFLOW, or this test tests nothing", err)
	}
	got := map[string]string{}
	owner := func(name string) {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(rootfs, name), &st); err != nil {
			t.Error(err)
		}
		got[name] = fmt.Sprintf("%d:%d", st.Uid, st.Gid)
	}
	err = n.DoAs(User{UID: 200000, GID: 200007}, func() error {
		if err := os.WriteFile(inDev, nil, 0o644); err != nil {
			t.Errorf("write into /dev as the mapped root: %v", err)
		}
		if _, err := r.WriteFile("/etc/x", "cache", []byte("x"), 0o644); err != nil {
			t.Error(err)
		}
		if _, _, err := PlaceLink(r, Link{Path: "/usr/local/link", Target: "x"}); err != nil {
			t.Error(err)
		}
		if _, err := (Tree{At: "/usr/local/nvidia", Links: []Link{{Path: "lib/a", Target: "b"}}}).Build(r, Calls{}); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"dev/file", "etc/x", "etc/x/cache", "usr/local/link", "usr/local/nvidia", "usr/local/nvidia/lib/a"} {
			owner(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for name := range got {
		want[name] = "200000:200007"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	// The next thread is root again.
	if err := os.WriteFile(filepath.Join(rootfs, "after"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	owner("after")
	if got["after"] != "0:0" {
		t.Errorf("a file made afterwards is %s's; want 0:0", got["after"])
	}
}

// TestPrepareDeviceNumbers refuses what is no device, or another one: the
// host's file of that name is bound into a container that may then open it.
func TestPrepareDeviceNumbers(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := openRoot(t, driver(t), Calls{})
	for _, tt := range []struct {
		name string
		path string
		rdev uint64
		want bool
	}{
		{name: "right", path: "dev/null", rdev: unix.Mkdev(1, 3), want: true},
		{name: "other-minor", path: "dev/null", rdev: unix.Mkdev(1, 5)},
		{name: "no-number", path: "dev/null"},
		{name: "the root itself", path: "", rdev: unix.Mkdev(1, 3)},
		{name: "file", path: "lib.so", rdev: unix.Mkdev(1, 3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Prepare(Source{Root: host, Path: tt.path, Device: true, Rdev: tt.rdev}, Calls{})
			if err == nil {
				p.Close()
			}
			if got := err == nil; got != tt.want {
				t.Errorf("Prepare: got %v; want success %v", err, tt.want)
			}
		})
	}
}

func TestMounted(t *testing.T) {
	t.Parallel()
	rootfs := t.TempDir()
	for _, tt := range []struct {
		name string
		box  box
		want bool
	}{
		{name: "bound on itself", box: box{Rootfs: rootfs}, want: true},
		{name: "a plain directory", box: box{Rootfs: rootfs, Bare: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, way := range []string{"all", "no-mount-id"} {
				r, b := tt.box.start(t, everyCalls()[way])
				b.do(t, func() error {
					if got, err := r.Mounted(); err != nil || got != tt.want {
						t.Errorf("%s: got %v, %v; want %v", way, got, err, tt.want)
					}
					return nil
				})
			}
		})
	}
}
