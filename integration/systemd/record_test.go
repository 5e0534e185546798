package systemd

import (
	"encoding/json"
	"os"

	"github.com/gpu-hook/gpu-hook/devices/cgroup"
)

// count is what the witness saw of one device.
type count struct {
	Opened, Refused int
	// RefusedAfter counts refusals after the device was first open.
	RefusedAfter int
	// Streak is how many refusals there were in a row at the end.
	Streak int
}

// record is what one scenario left behind.
type record struct {
	GPU, Other, Kmsg, Null count
	Other2                 string            // Errors of another kind.
	Hook                   hookRecord        // The hook's.
	Again                  hookRecord        // A second run, from outside of the container's start.
	Programs               map[string]int    // Names of programs at the end.
	Properties             map[string]string // Of the scope, at the end.
}

// hookRecord is what one run of the rules said.
type hookRecord struct {
	Result  cgroup.Result
	Missing int // Rules missing afterwards.
	Micros  int64
	Err     string
}

func save(file string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", b, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func load(file string, v any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
