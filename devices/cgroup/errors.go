package cgroup

import (
	"errors"
	"fmt"
	"strings"
)

// Causes that callers may act on.
var (
	// ErrNoProcess says that the process ended, or that its id now belongs to
	// another one.
	ErrNoProcess = errors.New("process is gone")

	// ErrNoCgroup says that the cgroup vanished, or cannot be reached from the
	// mounts of this process.
	ErrNoCgroup = errors.New("cgroup is not reachable")

	// ErrHidden says that the kernel does not give a device program's text
	// (net.core.bpf_jit_harden=2 with kernel.kptr_restrict=2). [Layout.Missing]
	// then cannot tell; [Layout.Allow] has ways of its own, and may be called.
	ErrHidden = errors.New("the kernel hides a device program")

	// errRaced says that programs changed between looking and replacing.
	errRaced = errors.New("programs changed meanwhile")
)

// RuleError is the error of everything that keeps rules from being granted.
type RuleError struct {
	Op   string // What was being done: "allow", "find cgroup of", ...
	What string // The object: a rule, a process.
	In   string // The cgroup or file, "" where it is not known.
	Fix  string // What the administrator can do, "" where nothing is known.
	Err  error
}

// Error returns one line: operation, object, place and cause.
func (e *RuleError) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.What != "" {
		b.WriteString(" " + e.What)
	}
	if e.In != "" {
		b.WriteString(" in " + e.In)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *RuleError) Unwrap() error { return e.Err }

// Cure returns what to do about it, in one clause.
func (e *RuleError) Cure() string { return e.Fix }

// maxNames is how many rules a message names; 16 GPUs have 20 and more.
const maxNames = 3

// ruleNames returns the rules for a message.
func ruleNames(rules []Rule) string {
	var names []string
	for n, r := range rules {
		if n == maxNames {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(rules)-n)
		}
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}
