package hook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/devices"
)

// warnAccess names the group that a container's user lacks to open a node of
// mode 0660, or the node that no group opens.
func (f *Facts) warnAccess(s Subject) {
	user := s.Bundle.Spec.Process.User
	groups := map[uint32][]string{}
	var closed []string
	for _, n := range f.Nodes {
		uid, gid := f.IDs.UID(n.UID), f.IDs.GID(n.GID)
		known := uid != OverflowID && gid != OverflowID
		member := gid == user.GID || slices.Contains(user.AdditionalGids, gid)
		switch {
		case opens(n, 0), opens(n, 6) && uid == user.UID, opens(n, 3) && member:
		case user.UID == 0 && known: // the capability over files reaches as far as the namespace's ids
		case opens(n, 3) && gid != 0 && gid != OverflowID:
			groups[gid] = append(groups[gid], n.Path)
		default:
			closed = append(closed, n.Path)
		}
	}
	for gid, paths := range groups {
		f.Warnings = append(f.Warnings, Warning{"node-permission", fmt.Sprintf(
			"the container's user %d cannot open %s; add the group %d to the container (docker run --group-add %d)",
			user.UID, fewOf(paths), gid, gid)})
	}
	if len(closed) > 0 {
		f.Warnings = append(f.Warnings, Warning{"node-permission", fmt.Sprintf(
			"the container's user %d cannot open %s, and no group of the container can; give the host's nodes mode 0666 or another group "+
				"(NVreg_DeviceFileMode and NVreg_DeviceFileGID of the nvidia module), or map their group into the container", user.UID, fewOf(closed))})
	}
}

// opens reports that a class of users, by the shift of its bits in the mode, may
// open the node as programs do: for reading and writing, or for reading alone
// where nobody may write, as with MIG's capability nodes.
func opens(n devices.Node, shift uint) bool {
	want := uint32(0o6)
	if n.Mode&0o222 == 0 {
		want = 0o4
	}
	return n.Mode>>shift&want == want
}

// fewOf names the first two of a list and counts the rest.
func fewOf(names []string) string {
	if len(names) > 2 {
		return fmt.Sprintf("%s, %s and %d more", names[0], names[1], len(names)-2)
	}
	return strings.Join(names, " and ")
}
