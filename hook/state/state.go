package state

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// State is the OCI state that a hook gets on standard input.
type State struct {
	specs.State
	// Root is crun's additional key: root.path as config.json has it. runc
	// sends none.
	Root string
}

// wire is the state as it is sent. Docker before 17.06 wrote bundlePath.
type wire struct {
	specs.State
	Root       string `json:"root"`
	BundlePath string `json:"bundlePath"`
}

// Read reads the state from r: to its end in every case, but at most 16 MiB
// and for at most 10 s. The version is not looked at: runc 1.1 says
// "1.0.2-dev", crun 1.8 "1.0", and all versions agree in what is used here.
func Read(r io.Reader) (State, error) {
	return limits{maxState, stateWait}.state(r)
}

func (l limits) state(r io.Reader) (State, error) {
	data, err := l.read(r)
	if err != nil {
		return State{}, err
	}
	return Parse(data)
}

// Parse is [Read] for a state that is in memory.
func Parse(data []byte) (State, error) {
	if len(data) == 0 {
		return State{}, emptyError{}
	}
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return State{}, fmt.Errorf("parse state of %d bytes: %w", len(data), err)
	}
	s := State{State: w.State, Root: w.Root}
	if s.Bundle == "" {
		s.Bundle = w.BundlePath
	}
	if s.Bundle == "" {
		return State{}, fmt.Errorf("parse state of %d bytes: it names no bundle", len(data))
	}
	// A runtime starts hooks with the bundle or the rootfs as working
	// directory and gives an absolute path; only a person writes another.
	if !filepath.IsAbs(s.Bundle) {
		dir, err := filepath.Abs(s.Bundle)
		if err != nil {
			return State{}, fmt.Errorf("find bundle %.200q: %w", s.Bundle, err)
		}
		s.Bundle = dir
	}
	return s, nil
}

// emptyError is what somebody gets who starts the hook by hand.
type emptyError struct{}

func (emptyError) Error() string {
	return "standard input is empty: a runtime writes the container's state there"
}

func (emptyError) Cure() string {
	return `let the runtime start the hook, or look at a bundle with: gpu-hook plan --bundle DIR`
}
