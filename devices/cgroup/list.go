package cgroup

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/filter"
)

// listEntry is one line of devices.list, such as "c 195:* rw".
type listEntry struct {
	typ          byte  // 'a', 'b' or 'c'.
	major, minor int64 // -1 stands for all.
	bits         uint16
}

// parseList reads devices.list (kernel documentation cgroup-v1/devices.rst).
// Lines of another form grant nothing.
func parseList(b []byte) []listEntry {
	var list []listEntry
	for line := range bytes.Lines(b) {
		fields := strings.Fields(string(line))
		if len(fields) != 3 || len(fields[0]) != 1 || !strings.Contains("abc", fields[0]) {
			continue
		}
		majorText, minorText, ok := strings.Cut(fields[1], ":")
		major, okMajor := number(majorText)
		minor, okMinor := number(minorText)
		bits, err := filter.ParseAccess(fields[2])
		if !ok || !okMajor || !okMinor || err != nil {
			continue
		}
		list = append(list, listEntry{fields[0][0], major, minor, bits})
	}
	return list
}

func number(s string) (int64, bool) {
	if s == "*" {
		return -1, true
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return int64(n), err == nil
}

// grants says whether one line gives all of a rule. The kernel looks for a
// single line with all bits of a request, too.
func grants(list []listEntry, r Rule) bool {
	want, err := filter.ParseAccess(r.Access)
	if err != nil {
		return false
	}
	for _, e := range list {
		if (e.typ == 'a' || e.typ == r.Type) && want&^e.bits == 0 &&
			(e.major < 0 || e.major == int64(r.Major)) && (e.minor < 0 || e.minor == int64(r.Minor)) {
			return true
		}
	}
	return false
}
