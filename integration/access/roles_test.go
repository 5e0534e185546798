package access

import (
	"fmt"
	"os"
	"path/filepath"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/filter"
)

// What this program is inside of a box, by the variable that is set: its value
// is the cgroup meant.
const (
	denyVar = "GPUHOOK_TEST_DENY" // puts a device program on a cgroup of v2
	lookVar = "GPUHOOK_TEST_LOOK" // prints a cgroup's device rules
)

// role plays the role that the environment names, if any.
func role() (played bool, err error) {
	if dir := os.Getenv(denyVar); dir != "" {
		return true, deny(dir)
	}
	if dir := os.Getenv(lookVar); dir != "" {
		return true, look(dir)
	}
	return false, nil
}

// deny grants what every container has and nothing else.
func deny(dir string) error {
	entries, err := filter.FromSpec([]specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}})
	if err != nil {
		return err
	}
	text, err := filter.Build(entries)
	if err != nil {
		return err
	}
	program, err := bpf.Load("outer", text.Encode())
	if err != nil {
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return bpf.Attach(f, program, bpf.FlagMulti)
}

// look prints the list of v1, or the program ids of v2.
func look(dir string) error {
	if list, err := os.ReadFile(filepath.Join(dir, "devices.list")); err == nil {
		_, err = os.Stdout.Write(list)
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	attached, err := bpf.Query(f)
	fmt.Println(attached.IDs)
	return err
}
