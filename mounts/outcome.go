package mounts

import "fmt"

// Outcome says what a call did. No call returns success for having done
// nothing: that is [Kept] or [Left].
type Outcome int

const (
	// Made means that nothing was there and now ours is.
	Made Outcome = iota + 1
	// Kept means that exactly ours was there already; nothing was changed.
	Kept
	// Replaced means that something else was there and ours took or covered
	// its place.
	Replaced
	// Left means that something is there, or the place is one, that is not ours
	// to change; nothing was changed.
	Left
)

// String returns the word used in logs.
func (o Outcome) String() string {
	switch o {
	case Made:
		return "made"
	case Kept:
		return "kept"
	case Replaced:
		return "replaced"
	case Left:
		return "left"
	}
	return fmt.Sprintf("outcome %d", int(o))
}
