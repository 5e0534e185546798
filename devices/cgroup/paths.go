package cgroup

import (
	"bytes"
	"slices"
	"strings"
)

// cgroupPaths is what /proc/PID/cgroup says that matters for devices.
type cgroupPaths struct {
	devices, unified       string
	hasDevices, hasUnified bool
}

// parseCgroups reads lines of the form "ID:CONTROLLERS:PATH" (cgroups(7)). The
// devices controller may be mounted together with others, named hierarchies
// are not controllers, and a path may have colons and spaces. Lines of another
// form are passed over.
func parseCgroups(b []byte) cgroupPaths {
	var p cgroupPaths
	for line := range bytes.Lines(b) {
		fields := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		switch {
		case fields[0] == "0" && fields[1] == "":
			p.unified, p.hasUnified = fields[2], true
		case slices.Contains(strings.Split(fields[1], ","), "devices"):
			p.devices, p.hasDevices = fields[2], true
		}
	}
	return p
}

// mount is one place where a hierarchy can be reached.
type mount struct {
	at   string // The mount point.
	root string // The cgroup that is mounted there, seen from our cgroup namespace.
}

// below returns a cgroup's path below the mount point, "/" for the mount's
// root. It does not find cgroups outside of the mount, nor those below a root
// above our namespace ("/.."), since the names between are not to be known.
func (m mount) below(path string) (string, bool) {
	switch {
	case path == m.root:
		return "/", true
	case m.root == "/":
		return path, strings.HasPrefix(path, "/") && path != "/.." && !strings.HasPrefix(path, "/../")
	case strings.HasPrefix(path, m.root+"/"):
		rel := path[len(m.root):]
		return rel, rel != "/.." && !strings.HasPrefix(rel, "/../")
	}
	return "", false
}

// levels counts the components of a path.
func levels(rel string) int {
	if rel == "/" {
		return 0
	}
	return strings.Count(rel, "/")
}
