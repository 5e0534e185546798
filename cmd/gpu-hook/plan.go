package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/gpu-hook/gpu-hook/hook"
)

// plan prints what the hook would do, and ends as the hook would end.
func plan(o hook.Options, format string, stdin *os.File, stdout io.Writer) error {
	p, err := hook.MakePlan(context.Background(), o, stdin)
	if p.Version == 0 {
		return err
	}
	if format == "text" {
		return cmp.Or(p.WriteText(stdout), err)
	}
	return cmp.Or(writeJSON(stdout, p), err)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
