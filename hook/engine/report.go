package engine

import (
	"fmt"
	"io"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook/engine/textdiff"
	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// Report is what was done, or what would be.
type Report struct {
	Changes  []Change
	Warnings []Warning
	Todo     []string // what remains for the user, one sentence each
	DryRun   bool
}

// WriteText prints the report. With DryRun it is a unified difference that
// patch reads, and everything else in it begins with "# ".
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	lead := ""
	if r.DryRun {
		lead = "# "
	}
	for _, c := range r.Changes {
		if r.DryRun && !c.Link && !c.Backup {
			b.WriteString(textdiff.Unified(c.Path, c.Old, c.New))
			continue
		}
		fmt.Fprintf(&b, "%s%s\n", lead, fault.Escape(c.text()))
	}
	if len(r.Changes) == 0 {
		fmt.Fprintf(&b, "%snothing to change\n", lead)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "%swarning: %s\n", lead, fault.Escape(warning.Message))
	}
	if len(r.Changes) > 0 {
		for _, todo := range r.Todo {
			fmt.Fprintf(&b, "%s%s\n", lead, fault.Escape(todo))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Change) text() string {
	switch {
	case c.Link && c.New != nil:
		return "link " + c.Path + " -> " + string(c.New)
	case c.Backup && c.New != nil:
		return "keep " + c.Path
	case c.New == nil:
		return "remove " + c.Path
	case c.Old == nil:
		return "make " + c.Path
	default:
		return "change " + c.Path
	}
}
