package pciid

import "sort"

// entry says that a device id has a chip, an index into chips.
type entry struct {
	device uint16
	chip   chip
}

// Chip returns the name of the chip behind a PCI device id of NVIDIA
// (vendor 10de), such as "GA100" for 0x20b2, or "" if the id is not known.
func Chip(device uint16) string {
	i := sort.Search(len(table), func(i int) bool { return table[i].device >= device })
	if i == len(table) || table[i].device != device {
		return ""
	}
	return chips[table[i].chip].name
}

// ComputeCapability returns the compute capability of a chip, such as "8.0" for
// "GA100", or "" if the chip or its capability is not known.
func ComputeCapability(name string) string {
	for _, c := range chips {
		if c.name == name {
			return c.capability
		}
	}
	return ""
}
