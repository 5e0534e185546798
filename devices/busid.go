package devices

import (
	"fmt"
	"strconv"
	"strings"
)

// busAddress is a PCI address as numbers. Domains have 32 bits: NVIDIA's tools
// print eight digits, the kernel four and more (%04x in pci_setup_device).
type busAddress struct{ domain, bus, device, function uint32 }

// parseBusID reads "00000000:01:00.0", "0000:01:00.0", "01:00.0" and "1:0.0".
// The function is required: without it "0:1" would be a bus id as well as a
// MIG device.
func parseBusID(text string) (busAddress, bool) {
	var a busAddress
	head, function, ok := strings.Cut(text, ".")
	if !ok || !hexField(function, 1, 7, &a.function) {
		return busAddress{}, false
	}
	fields := strings.Split(head, ":")
	if len(fields) == 3 {
		if !hexField(fields[0], 8, 0xffffffff, &a.domain) {
			return busAddress{}, false
		}
		fields = fields[1:]
	}
	if len(fields) != 2 || !hexField(fields[0], 2, 0xff, &a.bus) || !hexField(fields[1], 2, 0x1f, &a.device) {
		return busAddress{}, false
	}
	return a, true
}

func hexField(text string, width int, limit uint64, into *uint32) bool {
	if text == "" || len(text) > width || text[0] == '+' || text[0] == '-' || text[0] == '_' {
		return false
	}
	n, err := strconv.ParseUint(text, 16, 32)
	if err != nil || n > limit {
		return false
	}
	*into = uint32(n)
	return true
}

// before orders addresses numerically, which is NVML's index order.
func (a busAddress) before(b busAddress) bool {
	switch {
	case a.domain != b.domain:
		return a.domain < b.domain
	case a.bus != b.bus:
		return a.bus < b.bus
	case a.device != b.device:
		return a.device < b.device
	}
	return a.function < b.function
}

// sysfs returns the name below /sys/bus/pci/devices.
func (a busAddress) sysfs() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", a.domain, a.bus, a.device, a.function)
}
