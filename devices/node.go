package devices

import (
	"errors"
	"fmt"
)

// Node is one character device that a container gets.
type Node struct {
	// Path is where the container sees it, such as /dev/nvidia0.
	Path string
	// Host is the host's own node of the same numbers, for binding where none
	// can be made; "" where the host has none.
	Host string
	// Major and Minor are its numbers.
	Major, Minor uint32
	// Mode (permission bits), UID and GID are those of the host's node.
	Mode, UID, GID uint32
	// Gate says what asked for it: "control", "gpu", "compute", "display",
	// "graphics", "mig", "mig-config", "mig-monitor", "imex", or a [Feature].
	Gate string
}

func (n Node) String() string { return fmt.Sprintf("%s (c %d:%d)", n.Path, n.Major, n.Minor) }

// Outcome says what [Create] did.
type Outcome int

// The outcomes. Done without a change is never silent.
const (
	Made     Outcome = iota + 1 // Made: there was nothing, now there is the node.
	Kept                        // Kept: the same device was there.
	Replaced                    // Replaced: something else was there.
)

func (o Outcome) String() string {
	switch o {
	case Made:
		return "made"
	case Kept:
		return "kept"
	case Replaced:
		return "replaced"
	}
	return fmt.Sprintf("Outcome(%d)", int(o))
}

// Decisions that a caller takes on a [*NodeError].
var (
	// ErrNoMknod says that device nodes cannot be made there: the caller has
	// no right to (EPERM), its ids are not mapped (EOVERFLOW), or the mount is
	// nodev. The host's node can still be bound.
	ErrNoMknod = errors.New("device nodes cannot be made here")
	// ErrNodeChanged says that what was just made is not there any more:
	// somebody in the container swaps names under us.
	ErrNodeChanged = errors.New("changed under us")
)

// NodeError says which step failed for which node.
type NodeError struct {
	Op   string
	Node Node
	Err  error
}

func (e *NodeError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Node, e.Err) }

// Unwrap gives the cause, an errno in most cases.
func (e *NodeError) Unwrap() error { return e.Err }

// ModuleError says that a kernel module which a request needs is not loaded.
type ModuleError struct{ Module string }

func (e *ModuleError) Error() string {
	return fmt.Sprintf("find device major of %s: kernel module not loaded", e.Module)
}

// Cure is the command that loads it. What registers nvidia-caps is the driver
// itself.
func (e *ModuleError) Cure() string {
	if e.Module == "nvidia-caps" {
		return "use a driver of branch 450 or later, and MIG mode on the GPU"
	}
	return "load it with: modprobe " + e.Module
}
