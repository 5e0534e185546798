package main

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

// again are the options that the hook gives itself where it has to start a
// second time, inside the container. They are nobody else's to use.
type again struct {
	entered      string // the mount namespace that it must find itself in
	calledForGPU bool   // what argv[0] said the first time
}

// argsAgain is the command line for the second start.
func (o options) argsAgain(argv []string, command string) []string {
	args := slices.Clone(argv[min(1, len(argv)):])
	if o.command == "" {
		args = append(args, command)
	}
	if calledAsHook(argv) {
		args = append(args, "--called-for-gpu")
	}
	return args
}

// prepare sets the process up for a hook. The umask is the caller's (077 was
// seen), and would make the driver unreadable to ordinary users of the
// container. At createContainer the environment is the container's and the
// working directory its root or its bundle: neither is used for anything.
func prepare(o *hook.Options, stage state.Stage) error {
	unix.Umask(0)
	o.Stage = stage
	if stage != state.CreateContainer {
		return nil
	}
	os.Clearenv()
	return os.Chdir("/")
}
