package devices

import (
	"bytes"
	"errors"
	"strings"
)

var errNoVersion = errors.New("no driver version")

// parseVersion finds the driver's version in /proc/driver/nvidia/version and
// whether the open kernel modules wrote it. The two flavours word their line
// differently, so the version is known by its shape ("535.309.01") and not by
// its place.
func parseVersion(data []byte) (version string, open bool, err error) {
	for line := range bytes.Lines(data) {
		text, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "NVRM version:")
		if !ok {
			continue
		}
		for word := range strings.FieldsSeq(text) {
			if versionShape(word) {
				return word, strings.Contains(text, "Open Kernel Module"), nil
			}
		}
	}
	return "", false, errNoVersion
}

// versionShape reports whether a word is two to four groups of digits with dots
// between, the first of two to four digits.
func versionShape(word string) bool {
	groups := strings.Split(word, ".")
	if len(groups) < 2 || len(groups) > 4 || len(groups[0]) < 2 || len(groups[0]) > 4 {
		return false
	}
	for _, group := range groups {
		if len(group) > 4 || !digits(group) {
			return false
		}
	}
	return true
}
