package state

import (
	"fmt"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Stage is the point in a container's life at which the hook was started.
type Stage string

// The stages that the hook can be registered for. The first two are the same
// to us; runtimes run them in the runtime's namespaces, before pivot_root.
// The third runs in the container's mount namespace.
const (
	Prestart        Stage = "prestart"
	CreateRuntime   Stage = "createRuntime"
	CreateContainer Stage = "createContainer"
)

// Check says whether a hook of the given stage can work with this state: it
// needs a process to enter, and a container that has not started yet. It is
// asked only for containers that want a GPU.
func (s State) Check(stage Stage) error {
	switch s.Status {
	case specs.StateRunning, specs.StateStopped:
		return &StageError{Stage: stage, Status: s.Status, PID: s.Pid}
	}
	// At createContainer runc says 1 and crun 0, whatever the process is: the
	// hook is inside already.
	if stage != CreateContainer && s.Pid <= 1 {
		return &StageError{Stage: stage, Status: s.Status, PID: s.Pid}
	}
	return nil
}

// StageError is a hook that was registered for one stage and started as
// another, which the state gives away.
type StageError struct {
	Stage  Stage
	Status specs.ContainerState
	PID    int
}

// Error says what in the state does not fit the stage.
func (e *StageError) Error() string {
	if e.Status == specs.StateRunning || e.Status == specs.StateStopped {
		return fmt.Sprintf("container is %s, too late for %s", e.Status, e.Stage)
	}
	if e.PID == 0 {
		return fmt.Sprintf("state names no process (pid 0 or missing), so this is no %s hook", e.Stage)
	}
	return fmt.Sprintf("state names process %d, so this is no %s hook", e.PID, e.Stage)
}

// Cure names the stage to register.
func (e *StageError) Cure() string {
	if e.Status == specs.StateRunning || e.Status == specs.StateStopped {
		return `register the hook for the stage "createRuntime"`
	}
	return `register the hook for the stage "createRuntime" (or "prestart"), or start it as "gpu-hook createContainer" where its stage is "createContainer"`
}
