package jsondoc

import (
	"bytes"
	"fmt"
)

// SyntaxError is a file that cannot be edited safely. Line is counted from 1.
type SyntaxError struct {
	Line   int
	Reason string
	Err    error // nil where the text is JSON that we do not touch
}

// Error is the reason; the line is for the caller to put where it belongs.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Unwrap gives what the JSON decoder said.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Line is the line, counted from 1, that the byte at offset stands on.
func (d *Doc) Line(offset int) int { return lineAt(d.data, offset) }

func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}
