package cgroup

import "strings"

const scopeSuffix = ".scope"

// scopeOf returns the name of the scope that a cgroup belongs to, and how many
// levels it is above: the cgroup itself is the scope, or it is the one crun
// makes below it (x.scope/container). A scope further up is no unit of this
// container but an outer one, whose rules are not ours to widen.
//
// The init.scope of a systemd that runs inside the container is passed over:
// its name would be the host's init.scope on the host's bus.
func scopeOf(path string) (unit string, above int) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) > 1 && parts[len(parts)-1] == "init.scope" {
		parts, above = parts[:len(parts)-1], 1
	}
	for n := len(parts) - 1; n >= 0 && n >= len(parts)-2; n-- {
		if name := parts[n]; strings.HasSuffix(name, scopeSuffix) && len(name) > len(scopeSuffix) && name != "init.scope" {
			return name, above + len(parts) - 1 - n
		}
	}
	return "", above
}

// underUserManager says whether a user's own systemd made the cgroup. Its
// scopes carry no device program, and the system's bus does not know them.
func underUserManager(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "user@") && strings.HasSuffix(part, ".service") {
			return true
		}
	}
	return false
}

// unitPath returns the path of the cgroup that is so many levels above.
func unitPath(path string, above int) string {
	for range above {
		if n := strings.LastIndexByte(path, '/'); n > 0 {
			path = path[:n]
		} else {
			return "/"
		}
	}
	return path
}
