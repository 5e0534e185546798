package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// Cgroups is a cgroup layout that a box shows to what runs in it.
type Cgroups string

// The layouts. A machine with v1 controllers can show all of them; one with
// cgroup v2 alone shows V2 only.
const (
	Machine Cgroups = "machine" // as the machine has it
	V1      Cgroups = "v1"      // v1 controllers, no cgroup2 beside them (crun refuses the mixture)
	V2      Cgroups = "v2"      // cgroup2 at /sys/fs/cgroup
)

// Result is how a container ended.
type Result struct {
	Code           int // exit status of the runtime
	Stdout, Stderr string
	Facts          Facts  // what the witness said on stdout
	Log            string // the hook's log file
	MountsBefore   string // mount table of the runtime's namespace
	MountsAfter    string
	Took           time.Duration
}

// Box says where a container runs.
type Box struct {
	Cgroups Cgroups
	Setup   string        // shell lines run in the box before the runtime, as root in its own mount namespace
	While   string        // shell lines run while the container runs; $PID is its first process, $ID its name
	Limit   time.Duration // 0 = one minute

	// Hardened says that the test itself has hardened the kernel. Others with
	// device programs keep it from being hardened while they run.
	Hardened bool
}

// Run runs a bundle with a runtime to its end, in a mount namespace of its own.
// Mounts of the box go away with it; the container and its cgroups are removed.
func Run(t T, rt Runtime, b *Bundle, box Box) Result {
	t.Helper()
	need.Root(t)
	need.MountNS(t)
	out := filepath.Join(b.Dir, "out")
	if err := os.RemoveAll(out); err != nil {
		t.Fatalf("%v", err)
	}
	mkdir(t, out, ".")
	t.Cleanup(func() { removeCgroups(b.ID) })
	if box.Cgroups == V2 && !box.Hardened {
		defer plainKernel(t)()
	}
	script := box.Cgroups.script(t) + b.mountScript() + box.Setup + "\n"
	runtime := strings.Join(append([]string{rt.Path, "--root", filepath.Join(b.Dir, "state")}, rt.Args...), " ")
	script += "cat /proc/self/mountinfo >" + out + "/before\nset +e\ncd " + b.Dir + "\n" + badUmask
	if box.While == "" {
		script += runtime + " run --bundle " + b.Dir + " " + b.ID + " </dev/null\nrc=$?\n"
	} else {
		script += fmt.Sprintf("%[1]s run --detach --pid-file %[2]s/pid --bundle %[3]s %[4]s </dev/null\nrc=$?\n"+
			"if [ $rc = 0 ]; then PID=$(cat %[2]s/pid) ID=%[4]s RUNTIME='%[1]s'\n%[5]s\nrc=$?; %[1]s delete --force %[4]s; fi\n",
			runtime, out, b.Dir, b.ID, box.While)
	}
	script += "cat /proc/self/mountinfo >" + out + "/after\nexit $rc\n"
	limit := box.Limit
	if limit == 0 {
		limit = time.Minute
	}
	r := sh(t, script, limit)
	r.Facts = ParseFacts(t, r.Stdout)
	r.Log = Content(b.Log)
	r.MountsBefore, r.MountsAfter = Content(out+"/before"), Content(out+"/after")
	return r
}

// plainKernel holds the lock that package bpftest takes to harden the kernel,
// shared with others, until the function it returns is called.
func plainKernel(t T) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "gpu-hook-harden.lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		t.Fatalf("lock %s: %v", f.Name(), err)
	}
	return func() { _ = f.Close() } // Closing gives the lock back.
}

// badUmask is the umask of everything that starts a hook here: the hook must not
// depend on its caller's.
const badUmask = "umask 077\n"

// InBox runs shell lines in a mount namespace of their own.
func InBox(t T, c Cgroups, script string) Result {
	t.Helper()
	need.Root(t)
	need.MountNS(t)
	return sh(t, c.script(t)+script, time.Minute)
}

// sh runs a script in a new private mount namespace. Go makes all mounts of the
// new namespace private before the program starts.
func sh(t T, script string, limit time.Duration) Result {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Setpgid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A pipe, not the machine's /dev/null: crun gives standard input to the root
	// of the container's user namespace.
	cmd.Stdin = strings.NewReader("")
	// A container that was left running keeps the pipes open: do not wait for it.
	cmd.WaitDelay = 5 * time.Second
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v", err)
	}
	watchdog := time.AfterFunc(limit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	if !watchdog.Stop() {
		t.Fatalf("the box ran longer than %v\n%s\n%s", limit, stdout.String(), stderr.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("%v", err)
	}
	return Result{
		Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String(), Took: time.Since(start),
	}
}

// script sets the layout up inside a fresh mount namespace.
func (c Cgroups) script(t T) string {
	t.Helper()
	switch c {
	case "", Machine:
		return ""
	case V1:
		need.Cgroup1(t)
		return "if grep -q ' /sys/fs/cgroup/unified ' /proc/self/mountinfo; then umount /sys/fs/cgroup/unified; fi\n"
	case V2:
		need.Cgroup2(t)
		need.BPF(t)
		return "umount -R /sys/fs/cgroup\nmount -t cgroup2 none /sys/fs/cgroup\n"
	}
	t.Fatalf("make cgroup layout %q: no such layout", c)
	return ""
}

// mountScript mounts the overlay of a bundle.
func (b *Bundle) mountScript() string {
	if b.Upper == "" {
		return ""
	}
	return fmt.Sprintf("mount -t overlay overlay -o lowerdir=%s,upperdir=%s,workdir=%s/overlay-work %s/rootfs\n",
		b.Root, b.Upper, b.Dir, b.Dir)
}

// removeCgroups removes what a runtime that was killed left behind.
func removeCgroups(id string) {
	for _, pattern := range []string{"/sys/fs/cgroup/*/", "/sys/fs/cgroup/"} {
		dirs, err := filepath.Glob(pattern + id)
		if err != nil {
			return
		}
		for _, dir := range dirs {
			_ = os.Remove(dir) // Gone already where the runtime did its work.
		}
	}
}

// Content returns a file's text, or nothing where there is no such file.
func Content(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
