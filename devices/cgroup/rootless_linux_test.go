package cgroup

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

const (
	// rootlessVariable makes the test program ask for rules for itself.
	rootlessVariable = "GPUHOOK_TEST_ROOTLESS"

	// detectVariable makes it say where it finds the cgroup of a process.
	detectVariable = "GPUHOOK_TEST_DETECT"
)

func selfPID() int { return os.Getpid() }

func detectMain() error {
	pid, err := strconv.Atoi(os.Getenv(detectVariable))
	if err != nil {
		return err
	}
	l, err := Detect(pid)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Printf("%d %s\n", l.Version, l.Dir)
	return nil
}

func rootlessMain() error {
	l, err := Detect(os.Getpid())
	if err != nil {
		return err
	}
	defer l.Close()
	req := Request{PID: os.Getpid(), Rules: []Rule{char(testMajor, 0, "rw")}}
	res, err := l.Allow(testContext(), req)
	if err != nil {
		return err
	}
	missing, err := l.Missing(req)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"way": res.Way, "reason": res.Reason, "missing": len(missing)})
}

// In a user namespace device programs can be neither seen nor changed, and
// there are none for a rootless container.
func TestAllowRootless(t *testing.T) {
	t.Parallel()
	need.UserNS(t)
	cg := newCgroup2(t, "")
	inMountNS(t, func(t *testing.T) {
		t.Helper()
		_ = unix.Unmount(sysCgroup, unix.MNT_DETACH)
		mustMount(t, "none", sysCgroup, "cgroup2", 0, "")
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{rootlessVariable + "=1"}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 1000, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 1000, Size: 1}},
			UseCgroupFD: true, CgroupFD: int(cg.Fd()),
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("child: %v: %s", err, out)
			return
		}
		var got struct {
			Way, Reason string
			Missing     int
		}
		if err := json.Unmarshal(out, &got); err != nil || got.Way != WayUnprivileged || got.Reason == "" || got.Missing != 0 {
			t.Errorf("got %s (%v), want way %q with a reason", out, err, WayUnprivileged)
		}
	})
}

// Root without the right is told so.
func TestAllowWithoutCapability(t *testing.T) {
	t.Parallel()
	cg := newCgroup2(t, "")
	w := startWitness(t, cg)
	attachFilter(t, cg, "", runtimeFilter(t), bpf.FlagMulti)
	l := layoutOf(t, w, cg)
	l.kernel = &faulty{queryFails: unix.EPERM}
	_, err := l.Allow(t.Context(), requestFor(w))
	wantRuleError(t, err, unix.EPERM)
}
