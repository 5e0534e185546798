package cdispec

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/gpu-hook/gpu-hook/hook"
)

// gpuMajor is the one major of the driver that never changes
// (Documentation/admin-guide/devices.txt of the kernel).
const gpuMajor = 195

// add lists nodes, and the groups that those need which not everybody may open.
//
// Majors other than the GPUs' own are given out when a module is loaded: such a
// node gets no numbers, and the engine reads them from the host's node when a
// container starts. Owner and mode always stand there: an engine would make the
// container's user the owner where they are missing.
func (m *maker) add(edits *specs.ContainerEdits, nodes []hook.DeviceNode) {
	for _, n := range nodes {
		node := &specs.DeviceNode{Path: n.Path, Permissions: string(m.config.Cgroups.Access), UID: &n.UID, GID: &n.GID}
		if n.Source != "" && n.Source != n.Path {
			node.HostPath = n.Source
		}
		mode, err := strconv.ParseUint(n.Mode, 8, 32)
		if err != nil {
			continue
		}
		permissions := os.FileMode(mode)
		node.FileMode = &permissions
		switch {
		case n.Major == gpuMajor:
			node.Type, node.Major, node.Minor = n.Type, int64(n.Major), int64(n.Minor)
		case n.Source == "":
			m.warn("node-not-listed", "the host has no %s, so the specification leaves it to the hook; make it with nvidia-modprobe", n.Path)
			continue
		}
		edits.DeviceNodes = append(edits.DeviceNodes, node)
		if mode&0o006 != 0o006 && mode&0o060 == 0o060 && n.GID != 0 && !slices.Contains(edits.AdditionalGIDs, n.GID) {
			edits.AdditionalGIDs = append(edits.AdditionalGIDs, n.GID)
		}
	}
}

func (m *maker) warn(code, format string, args ...any) {
	w := hook.Warning{Code: code, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(m.warnings, w) {
		m.warnings = append(m.warnings, w)
	}
}
