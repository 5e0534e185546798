package mounts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// box is a mount namespace of its own: a container that has not pivoted yet.
type box struct {
	Rootfs   string
	Overlay  bool        // rootfs is an overlay of itself
	Binds    [][2]string // host path, path inside the rootfs
	Tmpfs    []string    // inside the rootfs, 16 KiB each
	Shared   []string    // host paths that become shared tmpfs mounts
	NoExec   []string    // host paths that become tmpfs mounts with nosuid, nodev, noexec
	ReadOnly bool        // rootfs cannot be written
	UserNS   bool
	Bare     bool // rootfs is on the same mount as what is around it

	pid int // of a process or a thread
}

// start makes the namespace and opens its root.
func (b box) start(t testing.TB, c Calls) (*Root, box) {
	t.Helper()
	need.Root(t)
	need.MountNS(t)
	if b.UserNS {
		b.pid = b.startProcess(t)
	} else {
		b.pid = b.startThread(t)
	}
	r, err := OpenRootIn(b.pid, b.Rootfs, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, b
}

// startThread holds the namespace by a thread, which takes 1 ms, and with the
// race detector far less than a process. The thread starts from the namespace
// of the caller's thread, so that boxes nest.
func (b box) startThread(t testing.TB) int {
	t.Helper()
	from, err := OpenNamespace(unix.Gettid())
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	ready, release := make(chan error), make(chan struct{})
	var tid int
	go func() {
		_ = from.Do(func() error {
			tid = unix.Gettid()
			err := unix.Unshare(unix.CLONE_NEWNS)
			if err == nil {
				err = b.mount()
			}
			ready <- err
			<-release
			return nil
		})
	}()
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(release) })
	return tid
}

// startProcess starts a process: a Go program cannot join a user namespace.
func (b box) startProcess(t testing.TB) int {
	t.Helper()
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVar+"=box "+string(data))
	cmd.Stderr = os.Stderr
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 200000, Size: 65536}}
	// No Pdeathsig: it is sent when the starting thread ends, as those of InNamespace do.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: ids, GidMappings: ids, Credential: &syscall.Credential{},
	}
	openWay(t, b.Rootfs)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("box did not start: %q, %v", line, err)
	}
	return cmd.Process.Pid
}

// openWay lets other users into the directories of a test that lead to dir.
func openWay(t testing.TB, dir string) {
	t.Helper()
	for ; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// do runs fn in the box.
func (b box) do(t testing.TB, fn func() error) {
	t.Helper()
	if err := InNamespace(b.pid, fn); err != nil {
		t.Fatal(err)
	}
}

// runBox is the process: it mounts what was asked for and waits to be let go.
func runBox(data string) error {
	var b box
	if err := json.Unmarshal([]byte(data), &b); err != nil {
		return err
	}
	if err := b.mount(); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// mount mounts what was asked for in the namespace of the calling thread.
func (b box) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private /: %w", err)
	}
	if b.Overlay {
		work := b.Rootfs + ".work"
		options := "lowerdir=" + b.Rootfs + ",upperdir=" + work + "/upper,workdir=" + work + "/work"
		if err := unix.Mount("overlay", b.Rootfs, "overlay", 0, options); err != nil {
			return fmt.Errorf("overlay: %w", err)
		}
	} else if b.Bare {
		// Nothing to mount: the root is told apart by paths alone.
	} else if err := unix.Mount(b.Rootfs, b.Rootfs, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind rootfs: %w", err)
	}
	for _, bind := range b.Binds {
		if err := unix.Mount(bind[0], filepath.Join(b.Rootfs, bind[1]), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", bind[1], err)
		}
	}
	for _, dir := range b.Tmpfs {
		if err := unix.Mount("tmpfs", filepath.Join(b.Rootfs, dir), "tmpfs", 0, "size=16k"); err != nil {
			return fmt.Errorf("tmpfs %s: %w", dir, err)
		}
	}
	for _, dir := range b.Shared {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			return err
		}
		if err := unix.Mount("", dir, "", unix.MS_SHARED, ""); err != nil {
			return err
		}
	}
	for _, dir := range b.NoExec {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_NOATIME, ""); err != nil {
			return err
		}
	}
	if b.ReadOnly {
		if err := unix.Mount("", b.Rootfs, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
			return err
		}
	}
	return nil
}
