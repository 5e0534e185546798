package engine

import (
	"errors"
	"strconv"

	"github.com/gpu-hook/gpu-hook/hook/engine/jsondoc"
	"github.com/gpu-hook/gpu-hook/hook/engine/tomldoc"
	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// FileError is a file that is not changed, and why.
type FileError struct {
	Path   string
	Line   int // counted from 1; 0 where no single line is to blame
	Reason string
	Err    error
	Todo   string // one imperative clause
}

// Error is "PATH:LINE: REASON".
func (e *FileError) Error() string {
	at := e.Path
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	return at + ": " + e.Reason
}

// Unwrap gives the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Cure says what to do.
func (e *FileError) Cure() string { return e.Todo }

// invalid is a file of an engine that is broken, or says what we do not know:
// exit code 19.
func invalid(path string, line int, reason, todo string) error {
	return invalidError(&FileError{Path: path, Line: line, Reason: reason, Todo: todo})
}

func invalidError(e *FileError) error {
	if e.Todo == "" {
		e.Todo = "correct that line first"
	}
	return fault.New(fault.Config, "", e)
}

// unparsed is an error of one of the two parsers.
func unparsed(path string, err error) error {
	e := &FileError{Path: path, Reason: err.Error(), Err: err}
	var j *jsondoc.SyntaxError
	var t *tomldoc.SyntaxError
	switch {
	case errors.As(err, &j):
		e.Line, e.Reason = j.Line, j.Reason
	case errors.As(err, &t):
		e.Line, e.Reason = t.Line, t.Reason
	}
	return invalidError(e)
}

// refused is a file that is in order but not ours to change: exit code 1.
func refused(path, reason, todo string) error {
	return &FileError{Path: path, Reason: reason, Todo: todo}
}
