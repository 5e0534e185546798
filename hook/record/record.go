package record

import (
	"encoding/json"
	"fmt"
)

// Version is the version of the file format. A file of another version is
// passed over, not removed: a newer gpu-hook may have written it.
const Version = 1

// maxSize is the largest record that is read, in bytes. One of 16 GPUs with 7
// MIG devices each has 25 kB.
const maxSize = 1 << 20

// Record is what one container was given.
type Record struct {
	Version int      `json:"version"`
	ID      string   `json:"id"`
	PID     int      `json:"pid"`
	Start   uint64   `json:"startTime"` // of the process, in clock ticks since boot (proc(5), stat field 22)
	Bundle  string   `json:"bundle"`
	Driver  string   `json:"driver"` // the kernel module's version
	GPUs    []string `json:"gpus"`   // UUIDs, or bus ids where the UUID is unknown
	Access  string   `json:"access"` // of the device rules, "rw"; "" = none were set
	Way     string   `json:"way"`    // how they were set
	Nodes   []Node   `json:"nodes"`
}

// Node is one device node that the container got.
type Node struct {
	Path   string `json:"path"`
	Major  uint32 `json:"major"`
	Minor  uint32 `json:"minor"`
	Mode   string `json:"mode"`
	UID    uint32 `json:"uid"`
	GID    uint32 `json:"gid"`
	Method string `json:"method"`
}

// parse reads a record; on an error it is the zero value.
func parse(data []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("parse record: %w", err)
	}
	if r.Version != Version {
		return Record{}, fmt.Errorf("parse record: version %d, not %d", r.Version, Version)
	}
	if r.PID <= 0 || r.ID == "" {
		return Record{}, fmt.Errorf("parse record: no container id or pid")
	}
	return r, nil
}
