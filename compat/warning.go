package compat

import "fmt"

// Warning is something that does not stop the container but that its owner
// should know.
type Warning struct {
	// Code is a stable word in kebab-case, such as "compat-member-missing".
	Code string
	// Message is one sentence that says what was found and what to do.
	Message string
}

// warnf makes a warning from a format string.
func warnf(code, format string, args ...any) Warning {
	return Warning{Code: code, Message: fmt.Sprintf(format, args...)}
}
