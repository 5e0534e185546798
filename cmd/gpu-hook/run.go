package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

const usage = `usage: gpu-hook [--config F] [--host-root D] [--driver-root D] [--log-level L] COMMAND

  prestart | createRuntime   OCI hook: state on standard input
  createContainer            the same from inside the container, for rootless runc without nsenter
  plan [--bundle D] [--format json|text]
                             what the hook would do; nothing is changed
  list [--format json|text]  the host's driver and GPUs
  ps [--format json|text]    the running containers that were given GPUs
  reapply ID|--all [--check] put lost device rules back, or only say which
  configure docker|containerd|crio|podman [--dry-run|--remove] [--import-nvidia-config]
                             [--root D] [--binary F] [--file F] [--set-default] [--base-spec] [--hook-link auto|always|never]
                             make an engine call gpu-hook, or undo that
  runtime ARGS...            OCI runtime: runc or crun, with GPUs (also started as gpu-runtime)
  cdi [--kind VENDOR/CLASS] [--cdi-version V|newest]
                             CDI specification of the host's GPUs
  version
`

// run carries out one command line and returns the exit code. A hook prints
// nothing on stdout, and on failure exactly one line on stderr.
func run(argv []string, stdin *os.File, stdout, stderr io.Writer) int {
	o, err := parseArgs(argv)
	if err == nil {
		err = dispatch(argv, o, stdin, stdout)
	} else {
		// A runtime that writes the state to us must not get a broken pipe
		// instead of our exit code.
		drain(stdin)
	}
	if err == nil {
		return int(fault.Done)
	}
	if u := (errUsage{}); errors.As(err, &u) {
		fmt.Fprintf(stderr, "gpu-hook: read the command line: %s; see: gpu-hook --help\n", u.text)
		return int(fault.Usage)
	}
	fmt.Fprintln(stderr, fault.Line(err))
	return int(fault.CodeOf(err))
}

func dispatch(argv []string, o options, stdin *os.File, stdout io.Writer) error {
	command := o.command
	if command == "" && hasState(stdin) {
		// No command but a state on standard input: registered as a hook
		// without arguments.
		command = "prestart"
	}
	opts := hook.Options{
		ConfigPath: o.config, HostRoot: o.hostRoot, DriverRoot: o.driverRoot, LogLevel: o.logLevel,
		BundleOverride: o.bundle, CalledForGPU: calledAsHook(argv) || o.again.calledForGPU,
		Named: o.devices, Annotations: o.annotations, Entered: o.again.entered,
	}
	if o.configSet && o.config == "" {
		return errUsage{"--config needs a file"}
	}
	switch command {
	case "prestart", "createRuntime", "createContainer":
		opts.Args = o.argsAgain(argv, command)
		if err := prepare(&opts, state.Stage(command)); err != nil {
			return err
		}
		return hook.Hook(context.Background(), opts, stdin)
	case "poststart", "poststop":
		drain(stdin)
		if calledAsHook(argv) {
			return nil // NVIDIA's hook takes the words and does nothing either
		}
		return errUsage{command + " is no stage for gpu-hook: register prestart or createRuntime"}
	case "runtime":
		return runRuntime(opts, o.args)
	case "cdi":
		return cdi(opts, o, stdout, os.Stderr)
	case "plan":
		return plan(opts, o.format, stdin, stdout)
	case "list":
		return list(opts, o.format, stdout)
	case "ps":
		return ps(o.format, stdout)
	case "reapply":
		return reapply(o, stdout)
	case "configure":
		return configure(o, stdout)
	case "version":
		_, err := fmt.Fprintf(stdout, "gpu-hook %s\n", version)
		return err
	case "help":
		_, err := io.WriteString(stdout, usage)
		return err
	case "":
		return errUsage{"no command"}
	default:
		drain(stdin)
		return errUsage{fmt.Sprintf("unknown command %.200q", command)}
	}
}

// hasState reports that standard input is what a runtime gives a hook: a pipe
// or a socket, no terminal and no /dev/null.
func hasState(stdin *os.File) bool {
	st, err := stdin.Stat()
	return err == nil && st.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

func drain(stdin *os.File) {
	if hasState(stdin) {
		state.Drain(stdin)
	}
}
