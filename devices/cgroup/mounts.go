package cgroup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// mountTable is where the hierarchies with device rules are mounted.
type mountTable struct{ devices, v2 []mount }

// readMounts reads this process's own mount table, the one that paths are
// opened in.
func readMounts() (mountTable, error) {
	var t mountTable
	_, err := mountinfo.GetMounts(t.collect)
	if err != nil {
		return mountTable{}, fmt.Errorf("read mount table: %w", err)
	}
	return t, nil
}

// collect is a filter that keeps notes and skips every line. Later mounts come
// first in the notes: they cover earlier ones at the same place.
func (t *mountTable) collect(i *mountinfo.Info) (skip, stop bool) {
	m := mount{at: i.Mountpoint, root: i.Root}
	switch {
	case i.FSType == "cgroup2":
		t.v2 = slices.Insert(t.v2, 0, m)
	case i.FSType == "cgroup" && slices.Contains(strings.Split(i.VFSOptions, ","), "devices"):
		t.devices = slices.Insert(t.devices, 0, m)
	}
	return true, false
}
