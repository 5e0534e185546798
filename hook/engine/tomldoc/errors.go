package tomldoc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// SyntaxError is a file that cannot be edited. Line is counted from 1.
type SyntaxError struct {
	Line   int
	Reason string
	Err    error // nil where the text is TOML that we do not touch
}

// Error is the line and the reason.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Unwrap gives what the TOML decoder said.
func (e *SyntaxError) Unwrap() error { return e.Err }

// decodeError puts what go-toml says into a [SyntaxError].
func decodeError(data []byte, err error) *SyntaxError {
	e := &SyntaxError{Line: 1, Reason: strings.TrimPrefix(err.Error(), "toml: "), Err: err}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		e.Line, _ = bad.Position()
	}
	if lines := bytes.Split(data, []byte("\n")); e.Line <= len(lines) && bytes.Contains(lines[e.Line-1], []byte("{{")) {
		e.Reason = "is a line of a template, not TOML"
	}
	return e
}
