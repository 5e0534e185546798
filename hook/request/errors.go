package request

import (
	"errors"
	"fmt"
)

// ErrNotRequested is matched by errors that say why there is no request.
var ErrNotRequested = errors.New("no GPU asked for")

// notRequested is such a reason.
type notRequested struct{ reason string }

func (e notRequested) Error() string        { return e.reason }
func (e notRequested) Is(target error) bool { return target == ErrNotRequested }

// InvalidError is a request that cannot be meant, or that this container may
// not make.
type InvalidError struct {
	Source string // variable, or where else the value stands
	Value  string // as given
	Reason string
	Advice string // what to do, "" where the reason says it
}

// Error quotes the value and cuts it at 200 characters: it is the image's or a
// user's.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s=%.200q: %s", e.Source, e.Value, e.Reason)
}

// Cure is the advice.
func (e *InvalidError) Cure() string { return e.Advice }
