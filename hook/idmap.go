package hook

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// OverflowID is what an id without a mapping shows as
// (/proc/sys/kernel/overflowuid, 65534 unless changed).
const OverflowID = 65534

// noID is the id that is none: what /proc/PID/uid_map shows in the place of an
// id that the reader's user namespace has no name for (user_namespaces(7)).
const noID = 1<<32 - 1

// IDMaps are the id mappings of the container's user namespace; both empty
// means that there is none and ids are the host's.
type IDMaps struct{ UIDs, GIDs []specs.LinuxIDMapping }

// Owner is whom the container's own files belong to, in the host's ids: the
// root of its user namespace.
type Owner struct {
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
}

// Mapped reports that the container has a user namespace of its own.
func (m IDMaps) Mapped() bool { return len(m.UIDs) > 0 || len(m.GIDs) > 0 }

// UID is the host's id as the container sees it.
func (m IDMaps) UID(host uint32) uint32 { return toContainer(m.UIDs, host) }

// GID is the host's id as the container sees it.
func (m IDMaps) GID(host uint32) uint32 { return toContainer(m.GIDs, host) }

func toContainer(maps []specs.LinuxIDMapping, host uint32) uint32 {
	if len(maps) == 0 {
		return host
	}
	for _, m := range maps {
		if host >= m.HostID && uint64(host) < uint64(m.HostID)+uint64(m.Size) {
			return m.ContainerID + (host - m.HostID)
		}
	}
	return OverflowID
}

// fromContainer is the host's id of one of the container's.
func fromContainer(maps []specs.LinuxIDMapping, id uint32) uint32 {
	for _, m := range maps {
		if id >= m.ContainerID && uint64(id) < uint64(m.ContainerID)+uint64(m.Size) {
			return m.HostID + (id - m.ContainerID)
		}
	}
	return OverflowID
}

// Root is the container's root in the host's ids, or the lowest id that there
// is where 0 has no mapping; nil where there are no mappings.
func (m IDMaps) Root() *Owner {
	if len(m.UIDs) == 0 || len(m.GIDs) == 0 {
		return nil
	}
	return &Owner{UID: lowest(m.UIDs), GID: lowest(m.GIDs)}
}

// lowest is the host's id of the lowest id of the container's.
func lowest(maps []specs.LinuxIDMapping) uint32 {
	return slices.MinFunc(maps, func(a, b specs.LinuxIDMapping) int { return cmp.Compare(a.ContainerID, b.ContainerID) }).HostID
}

// parseIDMap reads /proc/PID/uid_map or gid_map: lines of the first id inside,
// the same outside as the reader sees it, and how many (user_namespaces(7)).
// Ids that the reader's namespace has no name for are left out.
func parseIDMap(text []byte) ([]specs.LinuxIDMapping, error) {
	var maps []specs.LinuxIDMapping
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("parse id map: line %.100q has %d fields, not 3", line, len(fields))
		}
		var n [3]uint32
		for i, field := range fields {
			v, err := strconv.ParseUint(string(field), 10, 32)
			if err != nil {
				return nil, fmt.Errorf("parse id map: line %.100q: %w", line, err)
			}
			n[i] = uint32(v)
		}
		if n[1] != noID {
			maps = append(maps, specs.LinuxIDMapping{ContainerID: n[0], HostID: n[1], Size: n[2]})
		}
	}
	return maps, nil
}
