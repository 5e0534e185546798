package hook

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/state"
	"github.com/gpu-hook/gpu-hook/mounts"
)

// errNotInside says that a hook that works from inside is not there: it would
// mount the container's files on the host.
var errNotInside = errors.New("this process is not in the container's mount namespace")

const insideCure = `register "gpu-hook createContainer" for the stage "createContainer" alone, and "gpu-hook createRuntime" for the others`

// checkInside makes sure that this process is where it should be. The process
// that a createContainer state names cannot be looked at: runc says 1 there, as
// the container sees itself, and crun 0. A larger number is the runtime's word
// where the container has the host's PID namespace, or that of another stage.
func (c *call) checkInside() error {
	own, err := namespace("self", "mnt")
	if err != nil {
		return fault.New(fault.State, "find out where the hook is", err)
	}
	if c.options.Entered != "" {
		if own.String() != c.options.Entered {
			return fault.New(fault.State, "enter the container's mount namespace", errNotInside)
		}
		return nil
	}
	if c.state.Pid > 1 {
		if theirs, err := namespace(strconv.Itoa(c.state.Pid), "mnt"); err == nil && theirs != own {
			return fault.New(fault.State, "use the OCI state",
				&state.StageError{Stage: c.options.Stage, Status: c.state.Status, PID: c.state.Pid})
		}
	}
	if c.state.Pid, err = parent(); err != nil {
		return fault.New(fault.State, "find the container's process", err)
	}
	return nil
}

// errOutside says that the state's process is none of a container: its id is
// another process's by now, or the container has no mount namespace.
var errOutside = errors.New("its process is in this hook's own mount namespace, so what a container gets would be mounted on the host")

// checkOutside makes sure that the container is not where this process is. One
// that cannot be looked at is left to the steps that need it.
func (c *call) checkOutside(s Standing) error {
	if s.Inside() || c.state.Pid <= 0 {
		return nil
	}
	own, err := namespace("self", "mnt")
	if err != nil {
		return fault.New(fault.State, "find out where the hook is", err)
	}
	if theirs, err := namespace(strconv.Itoa(c.state.Pid), "mnt"); err == nil && theirs == own {
		return &fault.Error{
			Code: fault.State, What: "use the OCI state", Err: errOutside,
			Cure: "start the container anew, with a mount namespace in linux.namespaces",
		}
	}
	return nil
}

// checkRoot makes sure that the directory is the container's root as the
// container's mount namespace shows it: every runtime mounts it there. Outside,
// and in another container, it is a plain directory.
func (s Standing) checkRoot(r *mounts.Root, path string) error {
	if !s.Inside() {
		return nil
	}
	mounted, err := r.Mounted()
	if err == nil && !mounted {
		err = errNotInside
	}
	if err != nil {
		return &fault.Error{Code: fault.State, What: fmt.Sprintf("use rootfs %.200q", path), Err: err, Cure: insideCure}
	}
	return nil
}

// parent is the process that has started this one, as /proc numbers it. At
// createContainer that is the one that becomes the container's first; getppid(2)
// would give its number in the container.
func parent() (int, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	return parseParent(stat)
}

// parseParent takes the fourth field of /proc/PID/stat (proc(5)). The second,
// the command, may hold blanks and parentheses.
func parseParent(stat []byte) (int, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("parse process status %.100q: too short", stat)
	}
	pid, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0, fmt.Errorf("parse process status %.100q: parent: %w", stat, err)
	}
	return pid, nil
}
