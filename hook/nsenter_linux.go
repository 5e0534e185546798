package hook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// nsenterPaths are where util-linux installs nsenter, and busybox its own. The
// environment's PATH is not asked.
func nsenterPaths() []string { return []string{"/usr/bin/nsenter", "/bin/nsenter"} }

// enter replaces this process by the host's nsenter, which joins the container's
// user and mount namespaces and starts gpu-hook again. It returns only errors.
//
// A Go program cannot join a user namespace: it has several threads, which
// setns(2) refuses (EINVAL). Starting gpu-hook a second time happens after
// joining, where its path may lead to a file of the container's; so it is
// started by a descriptor that is open already. Until pivot_root /proc is the
// host's there. The state was read from standard input and is given again.
func (c *call) enter(s Standing, paths []string) error {
	pid := strconv.Itoa(c.state.Pid)
	cure := `register "gpu-hook createContainer" for the stage "createContainer"`
	fail := func(err error) error {
		return &fault.Error{Code: fault.Mount, What: "enter the container's mount namespace", Err: err, Cure: cure}
	}
	ns, err := namespace(pid, "mnt")
	if err != nil {
		// crun hides the namespaces of its process from other processes of the
		// user (PR_SET_DUMPABLE): not even nsenter can join them.
		return fail(err)
	}
	tool := findTool(paths)
	if tool == "" {
		cure = "install nsenter (util-linux), or " + cure
		return fail(fmt.Errorf("user %d has no right to join it, and the host has no %s", s.UID, paths[0]))
	}
	self, err := c.keepSelf()
	if err != nil {
		return fail(err)
	}
	// The user of a rootless runc is the root of its containers (runc refuses
	// other mappings), so there are no ids to change, and often no right to.
	argv := append([]string{"nsenter", "-t", pid, "-U", "-m", "--preserve-credentials", "--", self}, c.options.Args...)
	if c.options.ConfigPath != "" { // nsenter leaves the working directory
		path, err := filepath.Abs(c.options.ConfigPath)
		if err != nil {
			return fail(err)
		}
		argv = append(argv, "--config", path)
	}
	return fail(fmt.Errorf("run %s: %w", tool, unix.Exec(tool, append(argv, "--entered", ns.String()), []string{})))
}

func findTool(paths []string) string {
	for _, path := range paths {
		if unix.Access(path, unix.X_OK) == nil {
			return path
		}
	}
	return ""
}

// keepSelf makes standard input the state once more and returns a path by which
// nsenter can start this program: both survive the two calls of execve.
func (c *call) keepSelf() (string, error) {
	text, err := c.state.Encode(c.bundle.Dir)
	if err != nil {
		return "", err
	}
	input, err := unix.MemfdCreate("gpu-hook state", unix.MFD_CLOEXEC) // Linux 3.17
	if err != nil {
		return "", fmt.Errorf("hand the state on: %w", os.NewSyscallError("memfd_create", err))
	}
	f := os.NewFile(uintptr(input), "state")
	_, err = f.WriteAt(text, 0) // leaves the offset, where reading will start, at 0
	if err == nil {
		err = os.NewSyscallError("dup3", unix.Dup3(input, 0, 0))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("hand the state on: %w", err)
	}
	self, err := unix.Open("/proc/self/exe", unix.O_PATH, 0)
	if err != nil {
		return "", fmt.Errorf("hold gpu-hook itself: %w", os.NewSyscallError("open", err))
	}
	return "/proc/self/fd/" + strconv.Itoa(self), nil
}
