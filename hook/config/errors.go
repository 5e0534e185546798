package config

import "strconv"

// InvalidError is a configuration file that cannot be used.
type InvalidError struct {
	Path   string
	Line   int // counted from 1; 0 where no single line is to blame
	Reason string
	Err    error // nil where the file was read and a value is wrong
}

// Error is "PATH:LINE: REASON".
func (e *InvalidError) Error() string {
	if e.Line > 0 {
		return e.Path + ":" + strconv.Itoa(e.Line) + ": " + e.Reason
	}
	return e.Path + ": " + e.Reason
}

// Unwrap gives the cause, so that a missing file can be told.
func (e *InvalidError) Unwrap() error { return e.Err }

// Cure says what to do with the file.
func (e *InvalidError) Cure() string {
	if e.Line > 0 {
		return "correct that line or remove it"
	}
	return "correct the file or remove it"
}
