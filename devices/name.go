package devices

import (
	"strconv"
	"strings"
)

// minPrefix is the shortest part of a UUID that names a GPU, in hexadecimal
// digits. 32 bits keep a prefix unique among the GPUs of a cluster.
const minPrefix = 8

// find returns the GPUs that a name means: an index, a UUID or a prefix of one,
// or a PCI bus id. More than one is an ambiguous prefix.
func (inv Inventory) find(name string) []int {
	if digits(name) {
		index, err := strconv.Atoi(name)
		if err != nil || index >= len(inv.GPUs) {
			return nil
		}
		return []int{index}
	}
	var hits []int
	if at, ok := parseBusID(name); ok {
		for i, gpu := range inv.GPUs {
			if its, ok := parseBusID(gpu.BusID); ok && its == at {
				hits = append(hits, i)
			}
		}
		return hits
	}
	if len(name) < 4 || !strings.EqualFold(name[:4], "GPU-") || uuidPrefix(name[4:]) < minPrefix {
		return nil
	}
	for i, gpu := range inv.GPUs {
		if len(name) <= len(gpu.UUID) && strings.EqualFold(gpu.UUID[:len(name)], name) {
			hits = append(hits, i)
		}
	}
	return hits
}

// lookup returns the one GPU that a name means.
func (inv Inventory) lookup(name string) (GPU, error) {
	switch hits := inv.find(name); len(hits) {
	case 1:
		return inv.GPUs[hits[0]], nil
	case 0:
		return GPU{}, &UnknownDeviceError{Name: name, Why: inv.whyUnknown(name), Have: inv.GPUs}
	default:
		why := "ambiguous, it is the beginning of the UUIDs of " + strconv.Itoa(len(hits)) + " GPUs"
		return GPU{}, &UnknownDeviceError{Name: name, Why: why, Have: inv.GPUs}
	}
}

// whyUnknown says more about names that look like a UUID.
func (inv Inventory) whyUnknown(name string) string {
	if len(name) < 4 || !strings.EqualFold(name[:4], "GPU-") {
		return ""
	}
	if n := uuidPrefix(name[4:]); n >= 0 && n < minPrefix {
		return "a shortened UUID needs at least 8 hexadecimal digits"
	}
	for _, gpu := range inv.GPUs {
		if gpu.UUID == "" && gpu.Fault == "" {
			return "no such UUID, and not all are known before a GPU's first use: run nvidia-smi once, or turn persistence mode on"
		}
	}
	return ""
}
