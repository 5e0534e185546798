package main

import (
	"cmp"
	"context"
	"io"

	"github.com/gpu-hook/gpu-hook/hook"
)

// ps prints the running containers that were given GPUs.
func ps(format string, stdout io.Writer) error {
	c, err := hook.MakeContainers()
	if err != nil {
		return err
	}
	if format == "json" {
		return writeJSON(stdout, c)
	}
	return c.WriteText(stdout)
}

// reapply puts lost device rules back and prints what was missing.
func reapply(o options, stdout io.Writer) error {
	if o.all == (len(o.args) > 0) || len(o.args) > 1 {
		return errUsage{"reapply needs one container id, or --all"}
	}
	opts := hook.ReapplyOptions{All: o.all, Check: o.check, ConfigPath: o.config, HostRoot: o.hostRoot}
	if !o.all {
		opts.ID = o.args[0]
	}
	results, err := hook.Reapply(context.Background(), opts)
	if o.format == "json" {
		return cmp.Or(writeJSON(stdout, results), err)
	}
	return cmp.Or(hook.WriteReapplied(stdout, results), err)
}
