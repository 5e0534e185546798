package integration

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatalf("mkfifo %s: %v", path, err)
	}
}

// TestRoots runs the main job in every kind of container root: whatever loader
// the root has finds the driver.
func TestRoots(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := host535(t, lab.Plain)
	for _, kind := range lab.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			root := lab.Root(t, kind)
			for _, tt := range []struct {
				name     string
				readOnly bool
				user     uint32
			}{{name: "root"}, {name: "read-only", readOnly: true}, {name: "user", user: 1000}} {
				b := lab.NewBundle(t, root, lab.Options{
					Host: host, Overlay: true, Env: askTwo(), ReadOnly: tt.readOnly, User: tt.user,
					Args: []string{"/bin/witness", "open:/dev/nvidia0", "stat:/dev/nvidia1", "driver:libcuda.so.1", "load:libc.so.6"},
				})
				got := lab.Run(t, lab.Runc(t), b, lab.Box{})
				if got.Code != 0 {
					t.Fatalf("%s: runc ended with %d: %s", tt.name, got.Code, got.Stderr)
				}
				wantErrnos(t, got.Facts, map[string]syscall.Errno{"open:/dev/nvidia0": syscall.ENXIO, "stat:/dev/nvidia1": syscall.ENOENT})
				if left := lab.Leftovers(t, b.Upper); left != nil {
					t.Errorf("%s: empty driver files left in the root: %q", tt.name, left)
				}
				libc := got.Facts["load:libc.so.6"]
				switch cuda := got.Facts["driver:libcuda.so.1"]; kind {
				case lab.Scratch: // Nothing there could load a library.
				case lab.Musl: // It finds the file, which then wants glibc.
					if !strings.Contains(cuda.Error, "symbol not found") && !strings.Contains(cuda.Error, "libc") {
						t.Errorf("%s: load libcuda: %q, want it found and refused for the want of glibc", tt.name, cuda.Error)
					}
				default:
					wantDriver(t, got.Facts, 12020, "/usr/local/nvidia/lib64/libcuda.so.1")
					if libc.Error != "" || strings.Contains(libc.Path, "nvidia") {
						t.Errorf("%s: load libc: %+v", tt.name, libc)
					}
				}
			}
		})
	}
}

// TestOddRoots spoils a container's root in many ways. Where the driver can be
// had the container gets it; where not, one line says why and nothing is done.
func TestOddRoots(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	base := lab.Root(t, lab.Glibc)
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, root string)
		setup string // in the container's namespace
		codes []int
		works bool // with code 0 the loader finds libcuda
	}{
		{name: "as it should be", codes: []int{0}, works: true},
		{name: "empty", codes: []int{0, 17}, spoil: func(t *testing.T, root string) {
			remove(t, root)
			if err := os.MkdirAll(filepath.Join(root, "dev"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "etc is a file", codes: []int{0, 17, 18}, works: true, spoil: replace("etc", "file")},
		{name: "etc is a link to nowhere", codes: []int{0, 17, 18}, works: true, spoil: replace("etc", "link /nowhere")},
		{name: "etc is a link", codes: []int{0}, works: true, spoil: func(t *testing.T, root string) {
			if err := os.Rename(root+"/etc", root+"/elsewhere"); err != nil {
				t.Fatal(err)
			}
			lab.Link(t, "/elsewhere", root+"/etc")
		}},
		{name: "etc is a loop", codes: []int{0, 17, 18}, works: true, spoil: replace("etc", "link etc")},
		{name: "no etc", codes: []int{0}, works: true, spoil: func(t *testing.T, root string) { remove(t, root+"/etc") }},
		{name: "cache is a directory", codes: []int{0}, works: true, spoil: replace("etc/ld.so.cache", "dir")},
		// The container's own loader waits for such a cache for ever, with us or without: only the hook must not.
		{name: "cache is a FIFO", codes: []int{0}, spoil: replace("etc/ld.so.cache", "fifo")},
		{name: "cache is a dangling link", codes: []int{0}, works: true, spoil: replace("etc/ld.so.cache", "link /nowhere")},
		{name: "cache is empty", codes: []int{0}, works: true, spoil: replace("etc/ld.so.cache", "file")},
		{name: "no cache", codes: []int{0}, works: true, spoil: func(t *testing.T, root string) { remove(t, root+"/etc/ld.so.cache") }},
		{name: "ld.so.conf is a FIFO", codes: []int{0}, works: true, spoil: replace("etc/ld.so.conf", "fifo")},
		{name: "usr/lib is a file", codes: []int{0, 17, 18}, spoil: replace("usr/lib", "file")},
		{name: "usr/lib is a link to nowhere", codes: []int{0, 17, 18}, spoil: replace("usr/lib", "link /nowhere")},
		{name: "usr/lib is a link", codes: []int{0}, works: true, spoil: func(t *testing.T, root string) {
			if err := os.Rename(root+"/usr/lib", root+"/libraries"); err != nil {
				t.Fatal(err)
			}
			lab.Link(t, "../libraries", root+"/usr/lib")
		}},
		{name: "usr/bin is a file", codes: []int{0, 17, 18}, spoil: replace("usr/bin", "file")},
		{name: "tree is a file", codes: []int{17}, spoil: replace("usr/local/nvidia", "file")},
		{name: "tree is a dangling link", codes: []int{17}, spoil: replace("usr/local/nvidia", "link /nowhere")},
		{name: "tree is a loop", codes: []int{17, 18}, spoil: replace("usr/local/nvidia", "link nvidia")},
		{name: "tree is a link to an empty directory", codes: []int{0}, works: true, spoil: func(t *testing.T, root string) {
			if err := os.MkdirAll(root+"/opt/nvidia", 0o755); err != nil {
				t.Fatal(err)
			}
			lab.Link(t, "/opt/nvidia", root+"/usr/local/nvidia")
		}},
		{name: "tree is a link to a directory in use", codes: []int{17}, spoil: func(t *testing.T, root string) {
			lab.Write(t, root+"/opt/nvidia/keep", "")
			lab.Link(t, "/opt/nvidia", root+"/usr/local/nvidia")
		}},
		{name: "tree is a link to its own parent", codes: []int{17}, spoil: func(t *testing.T, root string) {
			lab.Link(t, ".", root+"/usr/local/nvidia")
		}},
		{name: "usr/local is a tmpfs", codes: []int{0}, works: true, setup: "mount -t tmpfs tmpfs $ROOT/usr/local"},
		{name: "image's own nvidia-smi", codes: []int{0}, works: true, spoil: func(t *testing.T, root string) {
			lab.Write(t, root+"/usr/bin/nvidia-smi", "#!/bin/sh\necho image\n")
		}},
		{name: "leftovers of another tool", codes: []int{0}, works: true, spoil: func(t *testing.T, root string) {
			lab.Write(t, root+"/usr/lib/x86_64-linux-gnu/libcuda.so.1", "")
			lab.Write(t, root+"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "")
			lab.Write(t, root+"/usr/bin/nvidia-smi", "")
		}},
		{name: "on a read-only file system", codes: []int{17}, setup: readOnlyRoot},
		{name: "on a read-only file system with the mount point", codes: []int{0}, spoil: func(t *testing.T, root string) {
			if err := os.MkdirAll(root+"/usr/local/nvidia", 0o755); err != nil {
				t.Fatal(err)
			}
		}, setup: readOnlyRoot},
		{name: "dev/nvidia0 is a file", codes: []int{0}, works: true, setup: "echo x >$ROOT/dev/nvidia0"},
		{name: "dev/nvidia0 is another device", codes: []int{0}, works: true, setup: "mknod $ROOT/dev/nvidia0 c 1 3"},
		{name: "dev/nvidia0 is a link", codes: []int{0}, works: true, setup: "ln -s /etc/passwd $ROOT/dev/nvidia0"},
		{name: "dev/nvidia0 is a directory", codes: []int{0, 15}, setup: "mkdir $ROOT/dev/nvidia0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(lab.Temp(t), "rootfs")
			lab.CopyTree(t, base, root)
			if tt.spoil != nil {
				tt.spoil(t, root)
			}
			b := lab.NewBundle(t, root, lab.Options{Host: host, Env: askTwo(), Overlay: true, Config: lab.NoCgroups})
			got := lab.RunDirect(t, b, lab.Direct{Setup: tt.setup, Times: 2, Inside: thirdGPU + `
if grep -q " $ROOT/.*gpu-hook\| $ROOT/usr/local/nvidia " /proc/self/mountinfo; then
	[ -p $ROOT/etc/ld.so.cache ] || chroot $ROOT /bin/witness stat:/dev/nvidia0 stat:/dev/nvidia1 driver:libcuda.so.1
else
	echo no tree
fi
ls $ROOT/usr/local/nvidia/lib64 $ROOT/.gpu-hook/lib64 $ROOT/opt/nvidia/lib64 2>/dev/null`})
			if got.Code != 0 {
				wantOneLine(t, got.Result, tt.codes...)
				if !strings.Contains(got.Inside, "\nno tree\n") || strings.HasPrefix(got.Inside, gpu2) {
					t.Errorf("a hook that refused left a mount or a node: %s", got.Inside)
				}
				return
			}
			if !contains(tt.codes, 0) {
				t.Errorf("exit code 0, want one of %v", tt.codes)
			}
			if !strings.HasPrefix(got.Inside, gpu2) || !strings.Contains(got.Inside, "\nlibcuda.so.1\n") {
				t.Errorf("exit code 0, and no third GPU or no driver:\n%s", got.Inside)
			}
			if tt.works {
				wantNode(t, got.Facts["stat:/dev/nvidia0"], 195, 0)
				wantErrnos(t, got.Facts, map[string]syscall.Errno{"stat:/dev/nvidia1": syscall.ENOENT})
				wantDriver(t, got.Facts, 12020, "")
			}
		})
	}
}

// readOnlyRoot puts the rootfs on a file system that cannot be written at all.
const readOnlyRoot = `mkdir -p $ROOT/../copy; cp -a $ROOT/. $ROOT/../copy; umount $ROOT/dev $ROOT
mount -t tmpfs -o mode=755 tmpfs $ROOT; cp -a $ROOT/../copy/. $ROOT; rm -rf $ROOT/../copy
mount -o remount,ro $ROOT; mount -t tmpfs -o mode=755 dev $ROOT/dev`

// replace puts something else in the place of a name: "file", "dir", "fifo" or
// "link TARGET".
func replace(name, what string) func(t *testing.T, root string) {
	return func(t *testing.T, root string) {
		t.Helper()
		path := filepath.Join(root, name)
		remove(t, path)
		kind, target, _ := strings.Cut(what, " ")
		switch kind {
		case "file":
			lab.Write(t, path, "")
		case "dir":
			lab.Write(t, path+"/x", "")
		case "fifo":
			mkfifo(t, path)
		case "link":
			lab.Link(t, target, path)
		}
	}
}
