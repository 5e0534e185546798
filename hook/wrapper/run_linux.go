package wrapper

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/logfile"
)

// Runner is one start of the wrapper.
type Runner struct {
	Hook hook.Options // the options before "runtime", which our hook gets, too
	Self string       // the path of this program's file
	// RunDir is where records of containers are, "" = [hook.RunDir].
	RunDir string
}

// Run becomes the runtime with the arguments given. It returns only with an
// error, and then nothing of the bundle was changed and no runtime was started.
//
// The call belongs at the start of main: a runtime inherits the signal that its
// parent wants at its own end (PR_SET_PDEATHSIG, which containerd's shim uses)
// only from the thread that got it, the first one.
func (r Runner) Run(ctx context.Context, args []string) error {
	runtime.LockOSThread() // for good: this thread becomes the runtime
	call, rest := parseArgs(args)
	cfg, cfgErr := r.Hook.LoadConfig()
	path, err := finder{dirs: searchPath[:], self: r.Self}.find(cfg.Runtime.Runtimes)
	var done prepared
	if err == nil && call.Starts {
		done, err = r.prepare(ctx, call, cfg, cfgErr)
	}
	if err != nil || len(done.warnings) > 0 {
		log := logfile.New(cfg.Log).WithFields(logrus.Fields{"command": call.Command, "bundle": call.Bundle})
		for _, w := range done.warnings {
			if err != nil || !done.done { // else the hook says the same again
				log.WithField("warning", w.Code).Warn(w.Message)
			}
		}
		if err != nil {
			log.WithField("code", int(fault.CodeOf(err))).Error(fault.Line(err))
		}
	}
	if err != nil {
		call.report(err, time.Now())
		return err
	}
	if call.Command == "update" {
		args = r.keepRules(args, rest)
	}
	if err := unix.Exec(path, append([]string{path}, args...), os.Environ()); err != nil {
		err := fault.New(fault.Other, "start "+path, err)
		call.report(err, time.Now())
		return err
	}
	return nil
}
