package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// driver is a directory of stand-in driver files.
func driver(t testing.TB) string {
	return plant(t, t.TempDir(),
		"file lib/libcuda.so.550.54 cuda", "file lib/libnvidia-ml.so.550.54 ml", "file lib/libother.so.550.54 other",
		"link lib/libcuda.so.1 libcuda.so.550.54", "file bin/nvidia-smi smi", "file data/d x", "sock run/socket", "fifo lib/fifo",
		"char dev/null")
}

// tree is a small tree of ours.
func tree(t testing.TB, host *Root, c Calls) Tree {
	return Tree{
		At: "/usr/local/nvidia",
		Files: []TreeFile{
			{Path: "lib64/libcuda.so.550.54", From: prepare(t, host, "lib/libcuda.so.1", c)},
			{Path: "lib64/libnvidia-ml.so.550.54", From: prepare(t, host, "lib/libnvidia-ml.so.550.54", c)},
			{Path: "bin/nvidia-smi", From: prepareLate(t, host, "bin/nvidia-smi", c)},
		},
		Texts: []TreeText{{Path: "files/params", Content: []byte("ModifyDeviceFiles: 0\n")}},
		Links: []Link{
			{Path: "lib64/libcuda.so.1", Target: "libcuda.so.550.54"},
			{Path: "lib", Target: "lib64"},
		},
	}
}

// treeContent is the snapshot of it.
var treeContent = []string{
	"drwxr-xr-x .", "drwxr-xr-x bin", `-rw-r--r-- bin/nvidia-smi "smi"`,
	"drwxr-xr-x files", `-rw-r--r-- files/params "ModifyDeviceFiles: 0\n"`, "Lrwxrwxrwx lib -> lib64", "drwxr-xr-x lib64",
	"Lrwxrwxrwx lib64/libcuda.so.1 -> libcuda.so.550.54", `-rw-r--r-- lib64/libcuda.so.550.54 "cuda"`,
	`-rw-r--r-- lib64/libnvidia-ml.so.550.54 "ml"`,
}

// mountsBelow lists the mounts at and below a path of the calling thread's
// namespace: relative path, type and flags.
func mountsBelow(t testing.TB, dir string) []*mountinfo.Info {
	t.Helper()
	f, err := os.Open("/proc/thread-self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := mountinfo.GetMountsFromReader(f, mountinfo.PrefixFilter(dir))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTreeBuild(t *testing.T) {
	t.Parallel()
	hostDir := driver(t)
	for way, calls := range everyCalls() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			rootfs := plant(t, t.TempDir(), "dir usr/local")
			at := filepath.Join(rootfs, "usr/local/nvidia")
			host := openRoot(t, hostDir, calls)
			r, b := box{Rootfs: rootfs}.start(t, calls)
			first := tree(t, host, calls)
			b.do(t, func() error {
				if got, err := first.Build(r, calls); err != nil || got != Made {
					t.Fatalf("Build: got %v, %v; want it made", got, err)
				}
				sortedEqual(t, snapshot(t, at), treeContent)
				list := mountsBelow(t, at)
				if len(list) != 4 {
					t.Errorf("mounts: got %d; want the tmpfs and 3 files", len(list))
				}
				for _, m := range list {
					options := strings.Split(m.Options, ",")
					for _, o := range []string{"ro", "nosuid", "nodev"} {
						if !slices.Contains(options, o) {
							t.Errorf("mount options of %s: got %q; want %s", m.Mountpoint, m.Options, o)
						}
					}
					if slices.Contains(options, "noexec") || m.Optional != "" {
						t.Errorf("mount %s: got %q, propagation %q; want neither noexec nor propagation", m.Mountpoint, m.Options, m.Optional)
					}
				}
				top := list[slices.IndexFunc(list, func(m *mountinfo.Info) bool { return m.Mountpoint == at })]
				if top.Source != "gpu-hook" || top.FSType != "tmpfs" || !strings.Contains(top.VFSOptions, "size=1024k") {
					t.Errorf("top mount: got %+v; want a tmpfs gpu-hook of 1 MiB", top)
				}
				refuses(t, at)
				return nil
			})
			second := tree(t, host, calls)
			b.do(t, func() error {
				before := mountsBelow(t, at)
				if got, err := second.Build(r, calls); err != nil || got != Kept {
					t.Errorf("Build again: got %v, %v; want it kept", got, err)
				}
				if diff := cmp.Diff(before, mountsBelow(t, at)); diff != "" {
					t.Errorf("mounts changed by the second run (-first +second):\n%s", diff)
				}
				return nil
			})
			if left := snapshot(t, at); len(left) != 1 {
				t.Errorf("host sees %q in the mount point; want nothing", left)
			}
		})
	}
}

// refuses tries to change a tree.
func refuses(t *testing.T, at string) {
	t.Helper()
	for what, err := range map[string]error{
		"create":      os.WriteFile(at+"/new", nil, 0o644),
		"remove":      os.Remove(at + "/lib64/libcuda.so.1"),
		"write":       os.WriteFile(at+"/lib64/libcuda.so.550.54", []byte("x"), 0o644),
		"chmod":       os.Chmod(at+"/lib64/libcuda.so.550.54", 0o777),
		"move":        os.Rename(at, at+"2"),
		"remove-file": os.Remove(at + "/lib64/libcuda.so.550.54"),
	} {
		if !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EBUSY) {
			t.Errorf("%s: got %v; want EROFS or EBUSY", what, err)
		}
	}
}

func TestTreeReplacesOther(t *testing.T) {
	t.Parallel()
	hostDir := driver(t)
	tests := []struct {
		name   string
		change func(*Tree, *Prepared)
	}{
		{name: "other-file", change: func(tr *Tree, other *Prepared) { tr.Files[1].From = other }},
		{name: "file-more", change: func(tr *Tree, other *Prepared) {
			tr.Files = append(tr.Files, TreeFile{Path: "lib64/more", From: other})
		}},
		{name: "file-less", change: func(tr *Tree, _ *Prepared) { tr.Files = tr.Files[1:] }},
		{name: "link-target", change: func(tr *Tree, _ *Prepared) { tr.Links[0].Target = "other" }},
		{name: "link-more", change: func(tr *Tree, _ *Prepared) { tr.Links = append(tr.Links, Link{Path: "x/y", Target: "z"}) }},
		{name: "link-less", change: func(tr *Tree, _ *Prepared) { tr.Links = tr.Links[1:] }},
		{name: "link-for-file", change: func(tr *Tree, _ *Prepared) {
			tr.Links = append(tr.Links, Link{Path: tr.Files[2].Path, Target: "x"})
			tr.Files = tr.Files[:2]
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rootfs := plant(t, t.TempDir(), "dir usr/local")
			at := filepath.Join(rootfs, "usr/local/nvidia")
			host := openRoot(t, hostDir, Calls{})
			r, b := box{Rootfs: rootfs}.start(t, Calls{})
			first, second := tree(t, host, Calls{}), tree(t, host, Calls{})
			tt.change(&second, prepare(t, host, "lib/libother.so.550.54", Calls{}))
			b.do(t, func() error {
				if _, err := first.Build(r, Calls{}); err != nil {
					t.Fatal(err)
				}
				if got, err := second.Build(r, Calls{}); err != nil || got != Replaced {
					t.Errorf("Build of another tree: got %v, %v; want it replaced", got, err)
				}
				if got, want := len(mountsBelow(t, at)), 1+len(second.Files); got != want {
					t.Errorf("mounts: got %d; want %d", got, want)
				}
				return nil
			})
		})
	}
}

// TestTreeFails makes Build fail half-way: nothing of it may stay.
func TestTreeFails(t *testing.T) {
	t.Parallel()
	hostDir := driver(t)
	tests := []struct {
		name   string
		change func(*Tree)
	}{
		{name: "same-path-twice", change: func(tr *Tree) { tr.Links = append(tr.Links, tr.Links[0]) }},
		{name: "link-and-directory", change: func(tr *Tree) { tr.Links = append(tr.Links, Link{Path: "lib64", Target: "x"}) }},
		{name: "prepared-twice", change: func(tr *Tree) {
			tr.Files = append(tr.Files, TreeFile{Path: "again", From: tr.Files[0].From})
			tr.Files[0].From.Close()
		}},
		{name: "path-up", change: func(tr *Tree) { tr.Links[0].Path = "../x" }},
		{name: "path-absolute", change: func(tr *Tree) { tr.Files[0].Path = "/x" }},
		{name: "path-empty", change: func(tr *Tree) { tr.Files[0].Path = "" }},
	}
	for _, calls := range []string{"all", "none"} {
		for _, tt := range tests {
			if calls == "none" && tt.name == "prepared-twice" {
				continue // without clones a file may be used twice
			}
			t.Run(calls+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				calls := everyCalls()[calls]
				rootfs := plant(t, t.TempDir(), "dir usr")
				before := snapshot(t, rootfs)
				r, b := box{Rootfs: rootfs}.start(t, calls)
				if os.Getenv(roleVar) != "" && tt.name == "prepared-twice" {
					return // no clones here, either
				}
				tr := tree(t, openRoot(t, hostDir, calls), calls)
				tt.change(&tr)
				b.do(t, func() error {
					if got, err := tr.Build(r, calls); err == nil {
						t.Errorf("Build: got %v; want an error", got)
					}
					if list := mountsBelow(t, rootfs+"/usr"); len(list) != 0 {
						t.Errorf("mounts left: %+v", list)
					}
					return nil
				})
				sortedEqual(t, snapshot(t, rootfs), before)
			})
		}
	}
}

// TestTreeLabel asks for a label that no policy has: SELinux refuses it, and a
// kernel without SELinux, which does not know the option, goes without.
func TestTreeLabel(t *testing.T) {
	t.Parallel()
	hostDir := driver(t)
	for _, name := range []string{"all", "none"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := everyCalls()[name]
			r, b := box{Rootfs: plant(t, t.TempDir(), "dir usr")}.start(t, calls)
			tr := tree(t, openRoot(t, hostDir, calls), calls)
			tr.Label = "no_such_label"
			b.do(t, func() error {
				if got, err := tr.Build(r, calls); (err != nil) != selinux() {
					t.Errorf("Build: got %v, %v with SELinux %v", got, err, selinux())
				}
				return nil
			})
		})
	}
}

// TestTreeOnOverlay is the usual case: the rootfs is an overlay.
func TestTreeOnOverlay(t *testing.T) {
	t.Parallel()
	need.Overlay(t)
	scratch := t.TempDir() // not a tmpfs in general; overlay takes both
	rootfs := plant(t, scratch, "dir rootfs/usr/lib", "dir rootfs.work/upper", "dir rootfs.work/work") + "/rootfs"
	host := openRoot(t, driver(t), Calls{})
	r, b := box{Rootfs: rootfs, Overlay: true}.start(t, Calls{})
	tr := tree(t, host, Calls{})
	b.do(t, func() error {
		if got, err := tr.Build(r, Calls{}); err != nil || got != Made {
			t.Errorf("Build: got %v, %v", got, err)
		}
		if got, reason, err := PlaceLink(r, Link{Path: "/usr/lib/libcuda.so.1", Target: "/usr/local/nvidia/lib64/libcuda.so.1"}); err != nil || got != Made {
			t.Errorf("PlaceLink: got %v, %q, %v", got, reason, err)
		}
		return nil
	})
	upper := snapshot(t, scratch+"/rootfs.work/upper")
	want := []string{
		"drwxr-xr-x .", "drwxr-xr-x usr", "drwxr-xr-x usr/lib", "drwxr-xr-x usr/local", "drwxr-xr-x usr/local/nvidia",
		"Lrwxrwxrwx usr/lib/libcuda.so.1 -> /usr/local/nvidia/lib64/libcuda.so.1",
	}
	sortedEqual(t, upper, want)
}

func TestTreePrepareKinds(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := openRoot(t, driver(t), Calls{})
	tests := []struct {
		name   string
		source Source
		err    error
	}{
		{name: "file", source: Source{Root: host, Path: "lib/libcuda.so.1"}},
		{name: "directory", source: Source{Root: host, Path: "data"}},
		{name: "socket", source: Source{Root: host, Path: "run/socket"}},
		{name: "device", source: Source{Root: host, Path: "dev/null"}, err: ErrUnsafePath},
		{name: "device-wanted", source: Source{Root: host, Path: "dev/null", Device: true, Rdev: unix.Mkdev(1, 3)}},
		{name: "fifo", source: Source{Root: host, Path: "lib/fifo"}, err: ErrUnsafePath},
		{name: "missing", source: Source{Root: host, Path: "none"}, err: fs.ErrNotExist},
	}
	for _, way := range slices.Sorted(maps.Keys(everyCalls())) {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s/%s", way, tt.name), func(t *testing.T) {
				p, err := Prepare(tt.source, everyCalls()[way])
				if !errors.Is(err, tt.err) || (p != nil) != (tt.err == nil) {
					t.Fatalf("Prepare: got %v, %v; want %v", p, err, tt.err)
				}
				if p != nil {
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// TestTreeSourceChanges replaces a host file after it was prepared for a bind by
// path.
// TestTreeLateSourceChanges: a file that is cloned when it is mounted must still
// be the one that was looked at.
func TestTreeLateSourceChanges(t *testing.T) {
	t.Parallel()
	hostDir := driver(t)
	rootfs := plant(t, t.TempDir(), "dir usr/local/nvidia")
	r, b := box{Rootfs: rootfs}.start(t, Calls{})
	tr := tree(t, openRoot(t, hostDir, Calls{}), Calls{})
	if err := os.Rename(filepath.Join(hostDir, "lib/libother.so.550.54"), filepath.Join(hostDir, "bin/nvidia-smi")); err != nil {
		t.Fatal(err)
	}
	b.do(t, func() error {
		if got, err := tr.Build(r, Calls{}); !errors.Is(err, ErrUnsafePath) {
			t.Errorf("Build: got %v, %v; want ErrUnsafePath", got, err)
		}
		return nil
	})
}

func TestTreeSourceChanges(t *testing.T) {
	t.Parallel()
	calls := everyCalls()["none"]
	hostDir := driver(t)
	rootfs := plant(t, t.TempDir(), "dir usr/local/nvidia")
	r, b := box{Rootfs: rootfs}.start(t, calls)
	tr := tree(t, openRoot(t, hostDir, calls), calls)
	if err := os.Rename(filepath.Join(hostDir, "lib/libother.so.550.54"), filepath.Join(hostDir, "lib/libcuda.so.550.54")); err != nil {
		t.Fatal(err)
	}
	b.do(t, func() error {
		if got, err := tr.Build(r, calls); !errors.Is(err, ErrUnsafePath) {
			t.Errorf("Build: got %v, %v; want ErrUnsafePath", got, err)
		}
		return nil
	})
}
