package integration

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// canary is a directory of the host that no container may reach. It has the
// names that a careless hook would write to.
func canary(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(lab.Temp(t), "canary")
	for _, name := range []string{
		"ld.so.cache", "ld.so.conf", "ld.so.conf.d/00-gpu-hook.conf", "nvidia0", "nvidiactl", "nvidia-smi", "file",
		"x86_64-linux-gnu/libcuda.so.1", "x86_64-linux-gnu/libc.so.6", "nvidia/lib64/libcuda.so.1", "lib/x", "local/nvidia/lib64/x",
	} {
		lab.Write(t, filepath.Join(dir, name), "of the host\n")
	}
	return dir
}

// refusals are the codes with which a hook may refuse a hostile root.
func refusals() []int { return []int{10, 15, 17, 18} }

// TestHostileRoots puts links to the host's files where the hook writes. The
// canary stays as it was, whatever the hook says.
func TestHostileRoots(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	base := lab.Root(t, lab.Glibc)
	const up = "../../../../../../../../../../../.."
	for _, tt := range []struct{ name, path, target, setup string }{
		{name: "etc", path: "etc", target: "CANARY"},
		{name: "etc upwards", path: "etc", target: up + "CANARY"},
		{name: "cache", path: "etc/ld.so.cache", target: "CANARY/ld.so.cache"},
		{name: "cache upwards", path: "etc/ld.so.cache", target: up + "CANARY/ld.so.cache"},
		{name: "ld.so.conf", path: "etc/ld.so.conf", target: "CANARY/ld.so.conf"},
		{name: "ld.so.conf.d", path: "etc/ld.so.conf.d", target: "CANARY/ld.so.conf.d"},
		{name: "drop-in", path: "etc/ld.so.conf.d/00-gpu-hook.conf", target: "CANARY/ld.so.conf.d/00-gpu-hook.conf"},
		{name: "libraries", path: "usr/lib/x86_64-linux-gnu", target: "CANARY/x86_64-linux-gnu"},
		{name: "libc", path: "usr/lib/x86_64-linux-gnu/libc.so.6", target: "CANARY/x86_64-linux-gnu/libc.so.6"},
		{name: "libcuda", path: "usr/lib/x86_64-linux-gnu/libcuda.so.1", target: "CANARY/x86_64-linux-gnu/libcuda.so.1"},
		{name: "tree", path: "usr/local/nvidia", target: "CANARY/nvidia"},
		{name: "tree upwards", path: "usr/local/nvidia", target: up + "CANARY/nvidia"},
		{name: "usr/local", path: "usr/local", target: "CANARY/local"},
		{name: "usr", path: "usr", target: "CANARY"},
		{name: "nvidia-smi", path: "usr/bin/nvidia-smi", target: "CANARY/nvidia-smi"},
		{name: "through proc", path: "etc", target: "/proc/1/rootCANARY"},
		{name: "through proc/self/cwd", path: "usr/local", target: "/proc/self/cwd/../local"},
		{name: "device", setup: "ln -s CANARY/nvidia0 $ROOT/dev/nvidia0"},
		{name: "device upwards", setup: "ln -s " + up + "CANARY/nvidiactl $ROOT/dev/nvidiactl"},
		{name: "dev", setup: "umount $ROOT/dev; rmdir $ROOT/dev; ln -s CANARY $ROOT/dev"},
		{name: "dev upwards", setup: "umount $ROOT/dev; rmdir $ROOT/dev; ln -s " + up + "CANARY $ROOT/dev"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			hostDir := canary(t)
			expand := func(s string) string { return strings.ReplaceAll(s, "CANARY", hostDir) }
			root := filepath.Join(lab.Temp(t), "rootfs")
			lab.CopyTree(t, base, root)
			if tt.path != "" {
				remove(t, filepath.Join(root, tt.path))
				lab.Link(t, expand(tt.target), filepath.Join(root, tt.path))
			}
			before := lab.Tree(t, hostDir)
			files := lab.Tree(t, host.Dir)
			b := lab.NewBundle(t, root, lab.Options{Host: host, Env: askTwo(), Config: lab.NoCgroups})
			got := lab.RunDirect(t, b, lab.Direct{Setup: expand(tt.setup) + "\nmount -t proc proc $ROOT/proc", Inside: thirdGPU + "grep -c " + hostDir + " /proc/self/mountinfo"})
			wantUnchanged(t, "the canary", before, lab.Tree(t, hostDir))
			wantUnchanged(t, "the stand-in host", files, lab.Tree(t, host.Dir))
			if got.Code != 0 {
				wantOneLine(t, got.Result, refusals()...)
			}
			if !strings.HasSuffix(got.Inside, "\n0\n") {
				t.Errorf("mounts on the canary: %s", got.Inside)
			}
			if done := strings.HasPrefix(got.Inside, gpu2); done != (got.Code == 0) {
				t.Errorf("exit code %d, and at the third GPU's node: %s", got.Code, got.Inside)
			}
		})
	}
}

// TestCarelessHookIsCaught makes sure that the attacks bite: a hook that writes
// by path, as a shell does, reaches the canary.
func TestCarelessHookIsCaught(t *testing.T) {
	t.Parallel()
	need.Root(t)
	hostDir := canary(t)
	before := lab.Tree(t, hostDir)
	root := filepath.Join(lab.Temp(t), "rootfs")
	lab.CopyTree(t, lab.Root(t, lab.Glibc), root)
	remove(t, root+"/etc")
	lab.Link(t, hostDir, root+"/etc")
	b := lab.NewBundle(t, root, lab.Options{Config: lab.NoCgroups})
	careless := filepath.Join(b.Dir, "careless")
	lab.Write(t, careless, "echo careless >"+root+"/etc/ld.so.cache\n")
	b.Hook = []string{"sh", careless}
	if got := lab.RunDirect(t, b, lab.Direct{}); got.Code != 0 {
		t.Fatalf("the careless hook ended with %d: %s", got.Code, got.Stderr)
	}
	after := lab.Tree(t, hostDir)
	if before["ld.so.cache"] == after["ld.so.cache"] {
		t.Errorf("the canary was written to and its description is the same: %s", after["ld.so.cache"])
	}
}

// TestSwappedUnderUs exchanges a directory of the rootfs with a link to the
// canary, over and over, while the hook works. Success and an error are both
// fine; a change of the canary is not.
func TestSwappedUnderUs(t *testing.T) {
	t.Parallel()
	need.Root(t)
	rounds := 60
	if testing.Short() {
		rounds = 5
	}
	host := madeHost(t)
	base := lab.Root(t, lab.Glibc)
	for _, tt := range []struct{ name, path, target string }{
		{name: "dev", path: "dev", target: ""},
		{name: "etc", path: "etc", target: ""},
		{name: "usr-lib", path: "usr/lib/x86_64-linux-gnu", target: "/x86_64-linux-gnu"},
		{name: "usr-local", path: "usr/local", target: "/local"},
		{name: "tree", path: "usr/local/nvidia", target: "/nvidia"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			hostDir := canary(t)
			before := lab.Tree(t, hostDir)
			ended := map[int]int{}
			swaps := 0
			for range rounds {
				root := filepath.Join(lab.Temp(t), "rootfs")
				lab.CopyTree(t, base, root)
				victim := filepath.Join(root, tt.path)
				if err := os.MkdirAll(victim, 0o755); err != nil {
					t.Fatal(err)
				}
				lab.Link(t, "../../../../../../../../.."+hostDir+tt.target, victim+".evil")
				b := lab.NewBundle(t, root, lab.Options{Host: host, Env: askTwo(), Config: lab.NoCgroups})
				stop := swap(t, victim, victim+".evil")
				got := lab.RunDirect(t, b, lab.Direct{DevDir: true})
				swaps += stop()
				ended[got.Code]++
				if got.Code != 0 {
					wantOneLine(t, got.Result, refusals()...)
				}
			}
			wantUnchanged(t, "the canary", before, lab.Tree(t, hostDir))
			t.Logf("%d rounds, %d swaps; exit codes: %v", rounds, swaps, ended)
			if ended[0] == rounds && swaps < rounds {
				t.Errorf("the attack did not run: %d swaps in %d rounds", swaps, rounds)
			}
		})
	}
}

// swap exchanges two names until the function it returns is called, which says
// how often it did.
func swap(t *testing.T, a, b string) func() int {
	t.Helper()
	var done atomic.Bool
	var wg sync.WaitGroup
	count := 0
	wg.Go(func() {
		for !done.Load() {
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err == nil {
				count++
			}
			time.Sleep(20 * time.Microsecond)
		}
	})
	return func() int {
		done.Store(true)
		wg.Wait()
		return count
	}
}
