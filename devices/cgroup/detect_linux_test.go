package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

func itoa(n int) string { return strconv.Itoa(n) }

func detect(t *testing.T, w *witness) Layout {
	t.Helper()
	l, err := Detect(w.pid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// inMountNS runs f on a thread with a mount namespace of its own, which ends
// with the thread.
func inMountNS(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	need.Root(t)
	need.MountNS(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // Never unlocked: the thread ends with the goroutine.
		if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
			t.Errorf("unshare: %v", err)
			return
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Errorf("make mounts private: %v", err)
			return
		}
		f(t)
	}()
	<-done
}

func mustMount(t *testing.T, source, target, fstype string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, target, fstype, flags, data); err != nil {
		t.Errorf("mount %s on %s: %v", fstype, target, err)
	}
}

// The host is made one of v2 alone, or v2 is mounted at an odd place: the same
// cgroup must be found.
func TestDetectV2(t *testing.T) {
	t.Parallel()
	cg := newCgroup2(t, "")
	nested := newCgroup2(t, cg.Name())
	w := startWitness(t, nested)
	odd := filepath.Join(t.TempDir(), "with space: and\ttab\\")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	below := "/" + filepath.Base(cg.Name())
	tests := []struct {
		name  string
		setup func(t *testing.T)
		want  string
	}{
		{"unified", func(t *testing.T) {
			t.Helper()
			_ = unix.Unmount(sysCgroup, unix.MNT_DETACH)
			mustMount(t, "none", sysCgroup, "cgroup2", 0, "")
		}, sysCgroup + below + "/" + filepath.Base(nested.Name())},
		{"odd place without v1", func(t *testing.T) {
			t.Helper()
			mustMount(t, "none", odd, "cgroup2", 0, "")
			_ = unix.Unmount(sysCgroup, unix.MNT_DETACH)
		}, odd + below + "/" + filepath.Base(nested.Name())},
		{"subtree mounted at the usual place", func(t *testing.T) {
			t.Helper()
			mustMount(t, cg.Name(), odd, "", unix.MS_BIND, "")
			_ = unix.Unmount(sysCgroup, unix.MNT_DETACH)
			mustMount(t, odd, sysCgroup, "", unix.MS_BIND, "")
			_ = unix.Unmount(odd, unix.MNT_DETACH)
		}, sysCgroup + "/" + filepath.Base(nested.Name())},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inMountNS(t, func(t *testing.T) {
				t.Helper()
				tt.setup(t)
				l, err := Detect(w.pid())
				if err != nil {
					t.Error(err)
					return
				}
				defer l.Close()
				if l.Version != V2 || l.Dir != tt.want {
					t.Errorf("Detect: got version %d in %q, want 2 in %q", l.Version, l.Dir, tt.want)
				}
			})
		})
	}
}

func TestDetectNothingMounted(t *testing.T) {
	t.Parallel()
	inMountNS(t, func(t *testing.T) {
		t.Helper()
		_ = unix.Unmount(sysCgroup, unix.MNT_DETACH)
		l, err := Detect(os.Getpid())
		if err != nil {
			t.Error(err)
			return
		}
		defer l.Close()
		res, err := l.Allow(t.Context(), Request{PID: os.Getpid(), Rules: []Rule{char(testMajor, 0, "rw")}})
		if err != nil || res.Way != WayNone || res.Reason == "" {
			t.Errorf("Allow: got %+v, %v, want way %q with a reason", res, err, WayNone)
		}
	})
}

// A subtree that the process is not in is no way to its cgroup.
func TestDetectOutOfReach(t *testing.T) {
	t.Parallel()
	here, there := newCgroup2(t, ""), newCgroup2(t, "")
	w := startWitness(t, here)
	inMountNS(t, func(t *testing.T) {
		t.Helper()
		tmp := t.TempDir()
		mustMount(t, there.Name(), tmp, "", unix.MS_BIND, "")
		_ = unix.Unmount(sysCgroup, unix.MNT_DETACH)
		mustMount(t, tmp, sysCgroup, "", unix.MS_BIND, "")
		_ = unix.Unmount(tmp, unix.MNT_DETACH)
		_, err := Detect(w.pid())
		var rule *RuleError
		if !errors.As(err, &rule) || !errors.Is(err, ErrNoCgroup) || rule.Cure() == "" {
			t.Errorf("Detect: got %v, want a RuleError that is ErrNoCgroup with a cure", err)
		}
	})
}

func TestDetectGone(t *testing.T) {
	t.Parallel()
	w := startWitness(t, nil)
	pid := w.pid()
	w.stop()
	for _, pid := range []int{pid, 0, -1, 1 << 30} {
		if _, err := Detect(pid); !errors.Is(err, ErrNoProcess) {
			t.Errorf("Detect(%d): got %v, want ErrNoProcess", pid, err)
		}
	}
}

// A process that ends between Detect and Allow leaves its cgroup to others.
func TestAllowAfterTheEnd(t *testing.T) {
	t.Parallel()
	cg := newCgroup2(t, "")
	w := startWitness(t, cg)
	attachFilter(t, cg, "", runtimeFilter(t), 2)
	l := layoutOf(t, w, cg)
	before := attached(t, l)
	w.stop()
	_, err := l.Allow(t.Context(), Request{PID: l.PID, Rules: []Rule{char(testMajor, 0, "rw")}})
	if !errors.Is(err, ErrNoProcess) {
		t.Errorf("Allow: got %v, want ErrNoProcess", err)
	}
	if after := attached(t, l); len(after) != 1 || after[0] != before[0] {
		t.Errorf("programs: got %v, want %v", after, before)
	}
}

func TestAllowElsewhere(t *testing.T) {
	t.Parallel()
	here, there := newCgroup2(t, ""), newCgroup2(t, "")
	w := startWitness(t, here)
	l := layoutOf(t, w, here)
	setDevices(t, there.Name(), "cgroup.procs", itoa(w.pid()))
	req := Request{PID: l.PID, Rules: []Rule{char(testMajor, 0, "rw")}}
	if _, err := l.Allow(t.Context(), req); !errors.Is(err, ErrNoCgroup) {
		t.Errorf("Allow of a process that was moved: got %v, want ErrNoCgroup", err)
	}
	req.PID++
	var rule *RuleError
	if _, err := l.Allow(t.Context(), req); !errors.As(err, &rule) {
		t.Errorf("Allow for another process: got %v, want a RuleError", err)
	}
}

// detectFrom runs Detect in a process that is in a cgroup and has a cgroup
// namespace of its own.
func detectFrom(cgroup *os.File, pid int) (string, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{detectVariable + "=" + itoa(pid)}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		UseCgroupFD: true, CgroupFD: int(cgroup.Fd()), Cloneflags: unix.CLONE_NEWCGROUP,
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Paths are relative to the reader's cgroup namespace: a container beside ours
// is /../NAME, which only a mount made above leads to.
func TestDetectNamespaces(t *testing.T) {
	t.Parallel()
	ours, theirs := newCgroup2(t, ""), newCgroup2(t, "")
	inside := child(t, ours, "inner")
	beside, nested := startWitness(t, theirs), startWitness(t, inside)
	inMountNS(t, func(t *testing.T) {
		t.Helper()
		_ = unix.Unmount(sysCgroup, unix.MNT_DETACH)
		mustMount(t, "none", sysCgroup, "cgroup2", 0, "")
		want := "2 " + sysCgroup + "/" + filepath.Base(theirs.Name())
		if got, err := detectFrom(ours, beside.pid()); got != want || err != nil {
			t.Errorf("Detect of a container beside: got %q, %v, want %q", got, err, want)
		}
		// The mount's root is "/.." and the path "/inner": the name of our own
		// cgroup between them is not to be known.
		if got, err := detectFrom(ours, nested.pid()); err == nil || !strings.Contains(got, ErrNoCgroup.Error()) {
			t.Errorf("Detect of a container inside: got %q, %v, want %v", got, err, ErrNoCgroup)
		}
		// With nothing but its own subtree in sight, as in a container.
		tmp := t.TempDir()
		mustMount(t, sysCgroup+"/"+filepath.Base(ours.Name()), tmp, "", unix.MS_BIND, "")
		_ = unix.Unmount(sysCgroup, unix.MNT_DETACH)
		mustMount(t, tmp, sysCgroup, "", unix.MS_BIND, "")
		_ = unix.Unmount(tmp, unix.MNT_DETACH)
		want = "2 " + sysCgroup + "/inner"
		if got, err := detectFrom(ours, nested.pid()); got != want || err != nil {
			t.Errorf("Detect inside, from its own subtree: got %q, %v, want %q", got, err, want)
		}
		if got, err := detectFrom(ours, beside.pid()); err == nil || !strings.Contains(got, ErrNoCgroup.Error()) {
			t.Errorf("Detect of a container out of sight: got %q, %v, want %v", got, err, ErrNoCgroup)
		}
	})
}

// Docker in Docker on v1: the mount shows the outer container's subtree at the
// usual place, and the paths still begin at the host's root.
func TestDetectNestedV1(t *testing.T) {
	t.Parallel()
	outer := newCgroup1(t, "")
	inner := newCgroup1(t, outer)
	w := startIn(t, inner)
	inMountNS(t, func(t *testing.T) {
		t.Helper()
		tmp := t.TempDir()
		mustMount(t, outer, tmp, "", unix.MS_BIND, "")
		_ = unix.Unmount(sysCgroup, unix.MNT_DETACH)
		mustMount(t, "tmpfs", sysCgroup, "tmpfs", 0, "")
		at := sysCgroup + "/xattr,devices"
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Error(err)
			return
		}
		mustMount(t, tmp, at, "", unix.MS_BIND, "")
		_ = unix.Unmount(tmp, unix.MNT_DETACH)
		l, err := Detect(w.pid())
		if err != nil {
			t.Error(err)
			return
		}
		defer l.Close()
		if want := at + "/" + filepath.Base(inner); l.Version != V1 || l.Dir != want {
			t.Errorf("Detect: got version %d in %s, want 1 in %s", l.Version, l.Dir, want)
		}
	})
}
