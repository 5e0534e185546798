package devices

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// capability is one entry of the driver's capability tree: opening its node is
// what gives a process the right.
type capability struct{ minor, mode uint32 }

// maxMinors bounds the mig-minors file. It lists every combination the driver
// could have (32 GPUs, 15 GPU instances, 8 compute instances: 4,320 lines of up
// to 27 bytes, 115 KiB), which is why the small access files are read first.
const maxMinors = 512 << 10

// maxDevMinor is the highest minor that a dev_t can hold (20 bits, MINORBITS in
// the kernel's kdev_t.h).
const maxDevMinor = 1<<20 - 1

// accessMode is the mode of a MIG capability's node if nothing else names one:
// anybody may read it, and the directory or cgroup decides who gets there.
const accessMode = 0o444

var errNoCapability = errors.New("no capability minor")

// parseCapability reads an access file: DeviceFileMinor and DeviceFileMode, in
// decimal. Without a minor it reports false.
func parseCapability(data []byte) (capability, bool) {
	c := capability{mode: accessMode}
	found := false
	for label, value := range fields(data) {
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			continue
		}
		switch {
		case label == "DeviceFileMinor" && n <= maxDevMinor:
			c.minor, found = uint32(n), true
		case label == "DeviceFileMode" && n <= 0o777:
			c.mode = uint32(n)
		}
	}
	return c, found
}

// parseMinor finds one line of mig-minors, such as "gpu0/gi1/ci0/access 13".
func parseMinor(data []byte, name string) (uint32, bool) {
	for line := range strings.Lines(string(data)) {
		rest, ok := strings.CutPrefix(line, name+" ")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(rest), 10, 32)
		return uint32(n), err == nil && n <= maxDevMinor
	}
	return 0, false
}

// readCapability reads the access file at a path below the capability tree, and
// mig-minors under another name if that does not help.
func readCapability(h Host, path, name string) (capability, error) {
	file := h.driverProc("capabilities/" + path)
	data, fileErr := readFile(file)
	if fileErr == nil {
		if c, ok := parseCapability(data); ok {
			return c, nil
		}
		fileErr = fmt.Errorf("%w in %s", errNoCapability, file)
	}
	data, err := readUpTo(h.Proc+"/driver/nvidia-caps/mig-minors", maxMinors)
	if err != nil {
		return capability{}, fmt.Errorf("%w, %w", fileErr, err)
	}
	if minor, ok := parseMinor(data, name); ok {
		return capability{minor, accessMode}, nil
	}
	return capability{}, fmt.Errorf("%w, and none for %s in mig-minors", fileErr, name)
}
