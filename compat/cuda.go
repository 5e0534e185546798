package compat

import (
	"fmt"
	"strconv"
	"strings"
)

// CUDA is a CUDA version as one integer, major*1000 + minor*10, the form that
// cuDriverGetVersion returns: CUDA 12.4 is 12040. The zero value means that
// the version is not known.
//
// A last digit of 1 means "this version or a newer one". Only [Driver.CUDA]
// makes such a value, for a driver branch that is newer than the table.
type CUDA int

// newerMark is the last digit of a version that is known only as a lower bound.
const newerMark = 1

// Limits of what counts as a version: three digits would run into the next
// part of the integer.
const (
	maxCUDAMajor = 99
	maxCUDAMinor = 99
)

// MakeCUDA returns the version major.minor.
func MakeCUDA(major, minor int) CUDA {
	return CUDA(major*1000 + minor*10)
}

// ParseCUDA reads a CUDA version in the forms that images and packages use:
// "12.4", "12.4.127", "v9.1.2-rc1", "12" (12.0), "12-4" as in package names,
// and the integer form "12040". White space around it is ignored.
func ParseCUDA(text string) (CUDA, error) {
	rest := strings.TrimSpace(text)
	if len(rest) > 1 && (rest[0] == 'v' || rest[0] == 'V') {
		rest = rest[1:]
	}
	major, rest, ok := leadingNumber(rest)
	if !ok {
		return 0, fmt.Errorf("parse CUDA version %.200q: no number at its start", text)
	}
	if rest == "" && major >= 1000 {
		if major%10 != 0 {
			return 0, fmt.Errorf("parse CUDA version %.200q: last digit is not 0", text)
		}
		return checkedCUDA(text, major/1000, major%1000/10)
	}
	minor := 0
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == '-') {
		separator := rest[0]
		var number int
		var after string
		number, after, ok = leadingNumber(rest[1:])
		switch {
		case ok && separator == '.':
			minor, rest = number, after
		case ok && after == "":
			minor, rest = number, ""
		}
	}
	for rest != "" && rest[0] == '.' {
		if _, rest, ok = leadingNumber(rest[1:]); !ok {
			return 0, fmt.Errorf("parse CUDA version %.200q: empty component", text)
		}
	}
	// A pre-release or build suffix, as in semantic versions.
	if rest != "" && (len(rest) == 1 || !strings.ContainsRune("-+~", rune(rest[0]))) {
		return 0, fmt.Errorf("parse CUDA version %.200q: %.20q after the number", text, rest)
	}
	return checkedCUDA(text, major, minor)
}

func checkedCUDA(text string, major, minor int) (CUDA, error) {
	if major < 1 || major > maxCUDAMajor || minor > maxCUDAMinor {
		return 0, fmt.Errorf("parse CUDA version %.200q: out of range", text)
	}
	return MakeCUDA(major, minor), nil
}

// leadingNumber splits text after its leading decimal digits, of which there
// may be nine at most.
func leadingNumber(text string) (number int, rest string, ok bool) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if end == 0 || end > 9 {
		return 0, text, false
	}
	number, err := strconv.Atoi(text[:end])
	return number, text[end:], err == nil
}

// Major returns the first part: 12 for CUDA 12.4.
func (c CUDA) Major() int { return int(c) / 1000 }

// Minor returns the second part: 4 for CUDA 12.4.
func (c CUDA) Minor() int { return int(c) % 1000 / 10 }

// Open says that the version is only a lower bound: a driver newer than the
// table supports this version and an unknown number of newer ones.
func (c CUDA) Open() bool { return int(c)%10 == newerMark }

// Known says that there is a version at all.
func (c CUDA) Known() bool { return c > 0 }

// Runs says that a driver library of version c runs every program of version
// need without relying on minor-version compatibility. An open version does.
func (c CUDA) Runs(need CUDA) bool { return c.Open() || c >= need }

// String returns "12.4", "13.4+" for an open version and "unknown" for none.
func (c CUDA) String() string {
	if !c.Known() {
		return "unknown"
	}
	text := strconv.Itoa(c.Major()) + "." + strconv.Itoa(c.Minor())
	if c.Open() {
		text += "+"
	}
	return text
}
