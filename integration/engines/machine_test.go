package engines

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // The scripts of first processes are files of their own.
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf/bpftest"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

//go:embed testdata/init.sh
var initScript string

// commandLimit bounds one command in a machine.
const commandLimit = 90 * time.Second

// machine is a Debian system in namespaces of its own. All its processes end
// with its first one, and that one ends when this program does.
type machine struct {
	suite   string
	cgroups lab.Cgroups
	dir     string // a folder on a real disk, at the same path inside
	parent  string // the cgroup below which engines put containers, without slash
	runtime string // what gpu-hook runtime becomes; "" = what it finds
	pid     int
	leader  string     // the first process of a box in the machine, as the machine counts; "" = none
	slice   string     // where CRI puts pods, "" = below parent
	owner   *testing.T // daemons last as long as the machine, whichever subtest started them
}

// boot starts a machine and installs gpu-hook in it.
func boot(t *testing.T, suite string, cgroups lab.Cgroups) *machine {
	t.Helper()
	switch cgroups {
	case lab.V2:
		need.Cgroup2(t)
		need.BPF(t)
		bpftest.Plain(t) // other packages' tests harden the kernel for a while
	default:
		need.Cgroup1(t)
	}
	m, _ := begin(t, tree(t, suite), initScript, "CGROUPS="+string(cgroups))
	m.suite, m.cgroups = suite, cgroups
	lab.Install(t, os.Getenv(lab.BinaryVar), m.path("/usr/local/bin/gpu-hook"))
	return m
}

// begin starts the first process of a machine: a script that says "ready" and
// one word more when the machine is made.
func begin(t *testing.T, tree, script string, env ...string) (m *machine, word string) {
	t.Helper()
	dir := lab.Temp(t)
	m = &machine{dir: dir, parent: "gpu-hook-" + filepath.Base(dir), owner: t}
	for _, name := range []string{"upper", "work", "root"} {
		check(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	cmd := exec.Command("sh", "-ec", script)
	cmd.Env = append(os.Environ(), append(env, "TREE="+tree, "DIR="+dir, "SHARED="+filepath.Dir(dir), "NAME="+m.parent)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Setpgid:    true,
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	check(t, err)
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	m.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // The kernel kills all others of the pid namespace.
		_ = stdin.Close()
		_ = cmd.Wait()
		m.removeCgroups(t)
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	word, ok := strings.CutPrefix(strings.TrimSpace(line), "ready")
	if !ok {
		t.Fatalf("start a machine: %v\n%s", err, stderr.String())
	}
	return m, strings.TrimSpace(word)
}

// path is where a file of the machine is seen from outside.
func (m *machine) path(file string) string {
	root := "/proc/" + strconv.Itoa(m.pid) + "/root"
	if m.leader != "" {
		root += "/proc/" + m.leader + "/root"
	}
	return root + file
}

func (m *machine) write(t *testing.T, file, text string) {
	t.Helper()
	lab.Write(t, m.path(file), text)
}

func (m *machine) read(file string) string {
	text, err := os.ReadFile(m.path(file))
	if err != nil {
		return ""
	}
	return string(text)
}

// use makes a stand-in host the machine's own.
func (m *machine) use(t *testing.T, host *lab.StandIn) {
	t.Helper()
	config := "host-root = \"" + host.Dir + "\"\nload-kernel-modules = false\naccept-volume-mounts = true\n[log]\nlevel = \"info\"\n"
	if m.runtime != "" {
		config += "[runtime]\nruntimes = [\"" + m.runtime + "\"]\n"
	}
	m.write(t, "/etc/gpu-hook/config.toml", config)
}

// said is how a command ended.
type said struct {
	code           int
	stdout, stderr string
}

func (s said) text() string { return s.stdout + s.stderr }

// command is a shell line in the machine.
func (m *machine) command(ctx context.Context, script string) *exec.Cmd {
	enter := []string{"-m", "-p", "-n", "-i", "-u", "-r", "-w"}
	args := append([]string{"-t", strconv.Itoa(m.pid)}, enter...)
	if m.leader != "" {
		args = append(append(args, "nsenter", "-t", m.leader), enter...)
	}
	args = append(args, "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "D="+m.dir,
		"sh", "-c", "cd "+m.dir+"; "+script)
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// try runs a shell line in the machine.
func (m *machine) try(t *testing.T, script string) said {
	t.Helper()
	return m.feed(t, script, nil)
}

func (m *machine) feed(t *testing.T, script string, stdin io.Reader) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	cmd := m.command(ctx, script)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("%s: %v", script, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s: longer than %v\n%s%s", script, commandLimit, stdout.String(), stderr.String())
	}
	return said{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs a shell line that has to succeed and returns its stdout.
func (m *machine) must(t *testing.T, script string) string {
	t.Helper()
	got := m.try(t, script)
	if got.code != 0 {
		t.Fatalf("%s: exit code %d\n%s\n%s", script, got.code, got.text(), m.tail("/var/log/gpu-hook.log"))
	}
	return got.stdout
}

// daemon starts a program that runs until stop or the machine's end, and waits
// until the shell line ready succeeds.
func (m *machine) daemon(t *testing.T, name, script, ready string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := m.command(ctx, "echo $$ >$D/"+name+".pid; exec "+script+" >>$D/"+name+".log 2>&1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		m.try(t, "kill $(cat $D/"+name+".pid)")
		select {
		case <-ended:
		case <-time.After(15 * time.Second):
			t.Errorf("%s did not stop in 15 s", name)
			m.try(t, "kill -9 $(cat $D/"+name+".pid)")
		}
		cancel()
	}
	// A machine that ends takes the daemon along; there is no need to ask it.
	m.owner.Cleanup(func() { stopped = true; cancel() })
	for range 400 {
		select {
		case err := <-ended:
			t.Fatalf("%s ended: %v\n%s", name, err, m.tail(m.dir+"/"+name+".log"))
		case <-time.After(25 * time.Millisecond):
		}
		if m.try(t, ready).code == 0 {
			return stop
		}
	}
	t.Fatalf("%s is not ready after 10 s\n%s", name, m.tail(m.dir+"/"+name+".log"))
	return nil
}

// tail is the end of a file, for messages.
func (m *machine) tail(file string) string {
	text := m.read(file)
	return fmt.Sprintf("%s:\n%s", file, text[max(0, len(text)-1500):])
}

// removeCgroups removes what killed engines left in the machine's hierarchies.
func (m *machine) removeCgroups(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		found, err := filepath.Glob(pattern + m.parent)
		if err != nil {
			t.Error(err)
		}
		for _, top := range found {
			var dirs []string
			_ = filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
				if err == nil && e.IsDir() {
					dirs = append(dirs, path)
				}
				return nil
			})
			for i := len(dirs) - 1; i >= 0; i-- {
				remove(t, dirs[i])
			}
		}
	}
}

// remove removes a cgroup whose processes are on their way out.
func remove(t *testing.T, dir string) {
	t.Helper()
	var err error
	for range 100 {
		if err = os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("remove cgroup: %v", err)
}
