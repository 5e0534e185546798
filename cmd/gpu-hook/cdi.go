package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/cdispec"
	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// cdi prints the host's CDI specification; what it lacks stands on stderr.
func cdi(opts hook.Options, o options, stdout, stderr io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return fault.New(fault.Other, "find this program's file", err)
	}
	spec, warnings, err := cdispec.Make(context.Background(), cdispec.Options{
		Hook: opts, Self: self, Kind: o.kind, Version: o.cdiVersion,
	})
	for _, w := range warnings {
		fmt.Fprintf(stderr, "gpu-hook: warning %s: %s\n", w.Code, fault.Escape(w.Message))
	}
	if err != nil {
		return err
	}
	return writeJSON(stdout, spec)
}
