package cgroup

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf/bpftest"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/filter"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// Majors of stand-in devices: listed in no /proc/devices here, so that opening
// gives ENXIO where the cgroup says yes and EPERM where it says no.
const testMajor = 195

// witness is a process in a cgroup of its own.
type witness struct {
	t     testing.TB
	dir   string // For nodes.
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	nodes atomic.Int32
}

// startWitness starts a witness. A nil cgroup keeps it in the test's own.
func startWitness(t testing.TB, cgroup *os.File) *witness {
	t.Helper()
	w := &witness{t: t, dir: t.TempDir()}
	w.cmd = exec.Command("/proc/self/exe")
	w.cmd.Env = []string{witnessVariable + "=1"}
	w.cmd.Stderr = os.Stderr
	if cgroup != nil {
		w.cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(cgroup.Fd())}
	}
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.in, w.out = in, bufio.NewScanner(out)
	t.Cleanup(w.stop)
	return w
}

func (w *witness) stop() {
	_ = w.in.Close()
	_ = w.cmd.Wait()
}

func (w *witness) pid() int { return w.cmd.Process.Pid }

// try returns what an attempt gave: ok, EPERM, ENXIO.
func (w *witness) try(mode, path string) string {
	w.t.Helper()
	if _, err := fmt.Fprintln(w.in, mode, path); err != nil {
		w.t.Fatal(err)
	}
	if !w.out.Scan() {
		w.t.Fatalf("witness ended: %v", w.out.Err())
	}
	return w.out.Text()
}

// open tries a stand-in device.
func (w *witness) open(mode string, major, minor int) string {
	w.t.Helper()
	path := filepath.Join(w.dir, fmt.Sprintf("n%d-%d", major, minor))
	if _, err := os.Lstat(path); err != nil {
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(uint32(major), uint32(minor)))); err != nil {
			w.t.Fatal(err)
		}
	}
	return w.try(mode, path)
}

// mknod tries to make a device.
func (w *witness) mknod(major, minor int) string {
	w.t.Helper()
	return w.try(fmt.Sprintf("mknod-%d-%d", major, minor), filepath.Join(w.dir, fmt.Sprintf("new%d", w.nodes.Add(1))))
}

// newCgroup2 makes a cgroup of v2 that is removed afterwards.
func newCgroup2(t testing.TB, parent string) *os.File {
	t.Helper()
	need.Root(t)
	need.BPF(t)
	bpftest.Plain(t)
	if parent == "" {
		parent = cgroup2Root(t)
	}
	return newCgroup(t, parent)
}

func newCgroup(t testing.TB, parent string) *os.File {
	t.Helper()
	name := filepath.Join(parent, "gpu-hook-test-"+strings.ReplaceAll(filepath.Base(t.Name()), "=", "")+fmt.Sprint(os.Getpid()))
	for n := 0; ; n++ {
		err := os.Mkdir(name, 0o755)
		if err == nil {
			break
		}
		if !os.IsExist(err) || n > 20 {
			t.Fatal(err)
		}
		name += "x"
	}
	t.Cleanup(func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	})
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// cgroup2Root returns where v2 is mounted, and skips where it is not.
func cgroup2Root(t testing.TB) string {
	t.Helper()
	need.Cgroup2(t)
	table, err := readMounts()
	if err != nil {
		t.Fatal(err)
	}
	if len(table.v2) == 0 {
		need.Lacks(t, "cgroup2", "cgroup v2 is not mounted anywhere")
	}
	return table.v2[0].at
}

// runtimeFilter is what a runtime attaches: the defaults of containers, and
// nothing else.
func runtimeFilter(t testing.TB) filter.Program {
	t.Helper()
	entries, err := filter.FromSpec(nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := filter.Build(entries)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// attachFilter loads a program under a name and attaches it.
func attachFilter(t testing.TB, cgroup *os.File, name string, p filter.Program, flags uint32) *bpf.Program {
	t.Helper()
	loaded, err := bpf.Load(name, p.Encode())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = loaded.Close() })
	if err := bpf.Attach(cgroup, loaded, flags); err != nil {
		t.Fatal(err)
	}
	return loaded
}

// layoutOf is the layout of a witness in a v2 cgroup. [Detect] would find the
// v1 hierarchy on a hybrid machine.
func layoutOf(t testing.TB, w *witness, cgroup *os.File) Layout {
	t.Helper()
	proc, err := openProcess(w.pid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proc.Close() })
	lines, err := readProcess(proc, "cgroup")
	if err != nil {
		t.Fatal(err)
	}
	path := parseCgroups(lines).unified
	l := Layout{
		Version: V2, PID: w.pid(), Path: path, Dir: cgroup.Name(), depth: levels(path),
		dir: cgroup, proc: proc, kernel: bpfKernel{},
	}
	l.Unit, l.above = scopeOf(path)
	return l
}
