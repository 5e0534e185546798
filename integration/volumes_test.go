package integration

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestVolumes binds directories of the host over places where the hook would
// write, as "-v" does. The container has what can be had; the directories are
// unchanged to the byte.
func TestVolumes(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	root := lab.Root(t, lab.Glibc)
	tests := []struct {
		name, target string
		make         func(t *testing.T, dir string) // fills the host directory
		path         string                         // where libcuda is then found; "" = anywhere
	}{
		{name: "etc", target: "/etc", make: copyOf(root + "/etc")},
		{name: "usr-lib", target: "/usr/lib", make: copyOf(root + "/usr/lib"), path: "/usr/local/nvidia/lib64/libcuda.so.1"},
		{name: "usr-bin", target: "/usr/bin", make: copyOf(root + "/usr/bin"), path: "/usr/local/nvidia/lib64/libcuda.so.1"},
		{name: "usr-local", target: "/usr/local", make: copyOf(root + "/usr/local")},
		{name: "usr-local-with-nvidia", target: "/usr/local", make: func(t *testing.T, dir string) {
			copyOf(root+"/usr/local")(t, dir)
			lab.Write(t, filepath.Join(dir, "nvidia/lib64/mine"), "a user's file\n")
		}},
		{name: "usr-local-nvidia", target: "/usr/local/nvidia", make: func(t *testing.T, dir string) {
			lab.Write(t, filepath.Join(dir, "lib64/libcuda.so.1"), "a user's file\n")
		}},
		{name: "ld-so-conf-d", target: "/etc/ld.so.conf.d", make: copyOf(root + "/etc/ld.so.conf.d"), path: "/usr/local/nvidia/lib64/libcuda.so.1"},
		{name: "usr", target: "/usr", make: copyOf(root + "/usr")},
	}
	for _, tt := range tests {
		for _, mode := range []string{"rw", "ro"} {
			t.Run(tt.name+"-"+mode, func(t *testing.T) {
				t.Parallel()
				volume := filepath.Join(lab.Temp(t), "volume")
				lab.Write(t, filepath.Join(volume, "canary"), "unchanged\n")
				tt.make(t, volume)
				before := lab.Tree(t, volume)
				b := lab.NewBundle(t, root, lab.Options{
					Host: host, Overlay: true, Env: askTwo(), Mounts: []specs.Mount{lab.Bind(volume, tt.target, mode)},
					Args: []string{"/bin/witness", "open:/dev/nvidia0", "stat:/dev/nvidia1", "driver:libcuda.so.1"},
				})
				got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
				if got.Code != 0 {
					t.Fatalf("runc ended with %d: %s", got.Code, got.Stderr)
				}
				wantUnchanged(t, tt.target+" of the host", before, lab.Tree(t, volume))
				wantErrnos(t, got.Facts, map[string]syscall.Errno{
					"open:/dev/nvidia0": syscall.ENXIO, "stat:/dev/nvidia1": syscall.ENOENT,
				})
				wantDriver(t, got.Facts, 12020, tt.path)
			})
		}
	}
}

// copyOf fills a host directory with a copy.
func copyOf(from string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) { t.Helper(); lab.CopyTree(t, from, dir) }
}

// TestVolumeOverDev binds a host's /dev over the container's: its nodes are
// used as they are, none is made, changed or removed.
func TestVolumeOverDev(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	root := lab.Root(t, lab.Glibc)
	for _, tt := range []struct {
		name, odd string // odd: a node of the host that is another device than its name says
		empty     bool
		want      map[string]syscall.Errno
	}{
		{name: "with-nodes", want: map[string]syscall.Errno{
			"open:/dev/nvidia0": syscall.ENXIO, "open:/dev/nvidia2": syscall.ENXIO, "open:/dev/nvidiactl": syscall.ENXIO,
			"open:/dev/nvidia1": syscall.EPERM,
		}},
		{name: "without-nodes", empty: true, want: map[string]syscall.Errno{
			"open:/dev/nvidia0": syscall.ENOENT, "node:/tmp/n:195:1": syscall.EPERM,
		}},
		{name: "odd-node", odd: "nvidia0", want: map[string]syscall.Errno{
			"open:/dev/nvidia2": syscall.ENXIO, "node:/tmp/n:195:1": syscall.EPERM,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			volume := filepath.Join(lab.Temp(t), "dev")
			if err := os.MkdirAll(filepath.Join(volume, "pts"), 0o755); err != nil {
				t.Fatal(err)
			}
			if !tt.empty {
				lab.CopyTree(t, host.Dir+"/dev", volume)
			}
			for i, name := range []string{"zero", "full", "random", "urandom", "tty", "console"} {
				mknod(t, filepath.Join(volume, name), 1, []uint32{5, 7, 8, 9, 3, 3}[i])
			}
			if tt.empty {
				mknod(t, filepath.Join(volume, "null"), 1, 3)
			}
			if tt.odd != "" {
				if err := os.Remove(filepath.Join(volume, tt.odd)); err != nil {
					t.Fatal(err)
				}
				mknod(t, filepath.Join(volume, tt.odd), 1, 5)
			}
			before := lab.Tree(t, volume)
			questions := []string{"/bin/witness", "driver:libcuda.so.1"}
			for question := range tt.want {
				questions = append(questions, question)
			}
			// libcuda makes missing nodes itself where it may; here it has no right to.
			b := lab.NewBundle(t, root, lab.Options{Host: host, Overlay: true, Env: askTwo(), Dev: volume, Args: questions})
			got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
			if got.Code != 0 {
				t.Fatalf("runc ended with %d: %s", got.Code, got.Stderr)
			}
			wantUnchanged(t, "/dev of the host", before, lab.Tree(t, volume))
			wantErrnos(t, got.Facts, tt.want)
			wantDriver(t, got.Facts, 12020, "/usr/local/nvidia/lib64/libcuda.so.1")
			if tt.name != "with-nodes" && !strings.Contains(got.Log, "nvidia0") {
				t.Errorf("the log does not tell that nvidia0 was left out:\n%s", got.Log)
			}
		})
	}
}

// mknod makes a character device.
func mknod(t *testing.T, path string, major, minor uint32) {
	t.Helper()
	if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(major, minor))); err != nil {
		t.Fatalf("mknod %s: %v", path, err)
	}
}
