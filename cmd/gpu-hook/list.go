package main

import (
	"io"

	"github.com/gpu-hook/gpu-hook/hook"
)

// list prints the host's driver and GPUs.
func list(o hook.Options, format string, stdout io.Writer) error {
	l, err := hook.MakeList(o)
	if err != nil {
		return err
	}
	if format == "json" {
		return writeJSON(stdout, l)
	}
	return l.WriteText(stdout)
}
