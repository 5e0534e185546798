package lab

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

func TestDriverFilesInBothLayouts(t *testing.T) {
	t.Parallel()
	driver := DriverFiles(t, "535")
	for _, tt := range []struct {
		name   string
		layout Layout
		want   string
	}{
		{name: "plain", layout: Plain, want: "/lib/x86_64-linux-gnu/libcuda.so.1"},
		{name: "debian", layout: Debian, want: "/lib/x86_64-linux-gnu/libcuda.so.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := Host(t, HostSpec{Driver: driver, Layout: tt.layout, GPUs: GPUs(8, A100), NoNodes: os.Geteuid() != 0})
			listed := command(t, "", nil, ldconfig(), "-p", "-C", filepath.Join(host.Dir, "etc/ld.so.cache"))
			if !strings.Contains(listed, "libcuda.so.1 (libc6,x86-64) => "+tt.want) {
				t.Errorf("ldconfig -p lists no %s:\n%s", tt.want, listed)
			}
		})
	}
}

// TestRoots runs the witness in every kind of root by chroot: a library loads
// and the root has no driver of its own.
func TestRoots(t *testing.T) {
	t.Parallel()
	need.Root(t)
	for _, kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			root := Root(t, kind)
			facts := ParseFacts(t, command(t, "", nil, "chroot", root, "/bin/witness",
				"load:libc.so.6", "driver:libcuda.so.1", "stat:/bin"))
			if got := facts["stat:/bin"]; got.Errno != 0 {
				t.Errorf("stat /bin: errno %d", got.Errno)
			}
			if got := facts["driver:libcuda.so.1"]; got.Error == "" {
				t.Errorf("the root has a libcuda of its own: %+v", got)
			}
			loads := kind != Scratch
			if got := facts["load:libc.so.6"]; loads == (got.Error != "") {
				t.Errorf("load libc.so.6: %+v", got)
			}
		})
	}
}

// TestRuntimes runs a container without a hook in each runtime and layout: the
// cgroup keeps a device of the stand-in hosts closed.
func TestRuntimes(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := Root(t, Glibc)
	for _, tt := range []struct {
		name    string
		runtime func(T) Runtime
		cgroups Cgroups
	}{
		{name: "runc", runtime: Runc},
		{name: "runc v2", runtime: Runc, cgroups: V2},
		{name: "runc of the module", runtime: RuncModule},
		{name: "runc of the module v2", runtime: RuncModule, cgroups: V2},
		{name: "crun v1", runtime: Crun, cgroups: V1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := NewBundle(t, root, Options{
				Stages: []string{}, Overlay: true,
				Args: []string{"/bin/witness", "node:/tmp/n:195:0", "open:/dev/null", "write:/tmp/x"},
			})
			got := Run(t, tt.runtime(t), b, Box{Cgroups: tt.cgroups})
			if got.Code != 0 {
				t.Fatalf("%s ended with %d: %s", tt.name, got.Code, got.Stderr)
			}
			for question, want := range map[string]syscall.Errno{
				"node:/tmp/n:195:0": syscall.EPERM, "open:/dev/null": 0, "write:/tmp/x": 0,
			} {
				if fact, ok := got.Facts[question]; !ok || syscall.Errno(fact.Errno) != want {
					t.Errorf("%s = %v, want %v", question, fact, want)
				}
			}
			if !exists(t, b.Upper+"/tmp/x") || exists(t, root+"/tmp/x") {
				t.Errorf("the file is not in the overlay's upper directory")
			}
			if got.MountsBefore != got.MountsAfter {
				t.Errorf("mounts before:\n%s\nafter:\n%s", got.MountsBefore, got.MountsAfter)
			}
		})
	}
}

func TestDirect(t *testing.T) {
	t.Parallel()
	need.Root(t)
	b := NewBundle(t, Root(t, Glibc), Options{Hook: "/bin/cat", Overlay: true})
	b.Hook = []string{"cat", "-"}
	got := RunDirect(t, b, Direct{
		Stage: "-", Setup: "echo hello >$ROOT/tmp/hello",
		Inside: "cat $ROOT/tmp/hello; chroot $ROOT witness open:/dev/null",
	})
	if want := `"id":"` + b.ID + `"`; got.Code != 0 || !strings.Contains(got.Stdout, want) {
		t.Errorf("the hook ended with %d and wrote %q, want a state with %s (%s)", got.Code, got.Stdout, want, got.Stderr)
	}
	if !strings.HasPrefix(got.Inside, "hello\n") || got.Facts["open:/dev/null"].Errno != int(syscall.ENOENT) {
		t.Errorf("inside: %q", got.Inside)
	}
}
