package compat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxDriverParts is the number of components a driver version may have;
// NVIDIA's have two or three.
const maxDriverParts = 4

// Driver is the version of an NVIDIA driver, such as 550.163.01. The zero
// value means that the version is not known.
type Driver struct {
	text  string
	parts [maxDriverParts]int
}

// ParseDriver reads a driver version: one to four decimal numbers with dots.
func ParseDriver(text string) (Driver, error) {
	trimmed := strings.TrimSpace(text)
	driver := Driver{text: trimmed}
	rest := trimmed
	for i := 0; ; i++ {
		number, after, ok := leadingNumber(rest)
		if !ok || number > 99999 {
			return Driver{}, fmt.Errorf("parse driver version %.200q: component %d is not a number", text, i+1)
		}
		driver.parts[i] = number
		if after == "" {
			break
		}
		if after[0] != '.' {
			return Driver{}, fmt.Errorf("parse driver version %.200q: %.20q after component %d", text, after, i+1)
		}
		if i == maxDriverParts-1 {
			return Driver{}, fmt.Errorf("parse driver version %.200q: more than %d components", text, maxDriverParts)
		}
		rest = after[1:]
	}
	if driver.parts[0] == 0 {
		return Driver{}, fmt.Errorf("parse driver version %.200q: branch is 0", text)
	}
	return driver, nil
}

// Branch returns the driver branch, the first component: 550.
func (d Driver) Branch() int { return d.parts[0] }

// Known says that there is a version at all.
func (d Driver) Known() bool { return d.parts[0] > 0 }

// Compare returns -1, 0 or 1 as d is older than, the same as or newer than
// other. Components are compared as numbers and missing ones are 0, so
// 440.64 and 440.64.00 are the same, and so are 535.54.03 and 535.54.3.
func (d Driver) Compare(other Driver) int {
	return slices.CompareFunc(d.parts[:], other.parts[:], cmp.Compare[int])
}

// Equal says that both are the same version, however it is written.
func (d Driver) Equal(other Driver) bool { return d.Compare(other) == 0 }

// String returns the version as it was written, or "unknown".
func (d Driver) String() string {
	if !d.Known() {
		return "unknown"
	}
	return d.text
}
