package devices

import (
	"strconv"
	"strings"
)

// gpuMajor is the fixed major of GPUs, nvidiactl and nvidia-modeset
// (NV_MAJOR_DEVICE_NUMBER, and local/experimental use in the kernel's
// Documentation/admin-guide/devices.txt). All other majors are dynamic.
const gpuMajor = 195

// maxMajor is what 12 bits of a dev_t hold (MINORBITS is 20 in the kernel's
// kdev_t.h); the kernel itself hands out majors below 512.
const maxMajor = 1<<12 - 1

// Major is one line of the character devices in /proc/devices.
type Major struct {
	Name   string
	Number uint32
}

// parseMajors reads /proc/devices. Block devices and odd lines are passed over.
func parseMajors(data []byte) []Major {
	var majors []Major
	char := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasSuffix(line, ":") {
			char = strings.HasPrefix(line, "Character")
			continue
		}
		number, name, ok := strings.Cut(line, " ")
		if !char || !ok {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || n > maxMajor {
			continue
		}
		majors = append(majors, Major{Name: cleanValue(name), Number: uint32(n)})
	}
	return majors
}

// Major returns the major that a driver registered under a name.
func (inv Inventory) Major(name string) (uint32, bool) {
	for _, m := range inv.Majors {
		if m.Name == name {
			return m.Number, true
		}
	}
	return 0, false
}
