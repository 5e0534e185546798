package fault

import "errors"

// Error is a failure with its exit code. What is a verb and its object ("read
// state"), Err the reason, Cure one imperative clause ("load it with: modprobe
// nvidia"). An empty Cure is taken from the chain below Err.
type Error struct {
	Code Code
	What string
	Err  error
	Cure string
}

// New returns an [Error] without a cure of its own.
func New(code Code, what string, err error) *Error {
	return &Error{Code: code, What: what, Err: err}
}

// Error is "WHAT: WHY; WHAT TO DO" as it stands, neither escaped nor cut; [Line]
// does both.
func (e *Error) Error() string {
	text := e.why()
	if cure := CureOf(e); cure != "" {
		text += "; " + cure
	}
	return text
}

// Unwrap gives the reason to [errors.Is] and [errors.As].
func (e *Error) Unwrap() error { return e.Err }

// why is the text without the cure. An [Error] inside the chain puts its own
// cure into its text, so it is asked for its part without one.
func (e *Error) why() string {
	if e.Err == nil {
		return e.What
	}
	reason := e.Err.Error()
	if inner, ok := e.Err.(*Error); ok { //nolint:errorlint // only the direct child's text is ours to take apart
		reason = inner.why()
	}
	if e.What == "" {
		return reason
	}
	return e.What + ": " + reason
}

// CureOf finds the outermost cure in err's chain, "" where nobody knows one.
func CureOf(err error) string {
	for err != nil {
		if f, ok := err.(*Error); ok && f.Cure != "" { //nolint:errorlint // this walks the chain itself
			return f.Cure
		}
		if c, ok := err.(interface{ Cure() string }); ok {
			if cure := c.Cure(); cure != "" {
				return cure
			}
		}
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, branch := range many.Unwrap() {
				if cure := CureOf(branch); cure != "" {
					return cure
				}
			}
			return ""
		}
		err = errors.Unwrap(err)
	}
	return ""
}
