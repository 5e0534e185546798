package devices

import (
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"
)

// Feature is a group of nodes that an NVIDIA_<FEATURE>=enabled variable asks
// for.
type Feature string

// The features.
const (
	GDS      Feature = "gds"      // GDS: GPUDirect storage.
	MOFED    Feature = "mofed"    // MOFED: InfiniBand verbs.
	GDRCopy  Feature = "gdrcopy"  // GDRCopy: GPU memory mapped by the CPU.
	NVSwitch Feature = "nvswitch" // NVSwitch: the switches' control nodes.
)

// featureNodes lists the nodes of each feature: a directory below /dev, a name,
// and whether anything may follow it.
var featureNodes = [...]struct {
	feature   Feature
	dir, name string
	prefix    bool
}{
	{GDS, "", "nvidia-fs", true},
	{MOFED, "infiniband", "uverbs", true},
	{MOFED, "infiniband", "rdma_cm", false},
	{GDRCopy, "", "gdrdrv", false},
	{NVSwitch, "", "nvidia-nvswitchctl", false},
	{NVSwitch, "", "nvidia-nvswitch", true},
}

// FeatureNodes returns the nodes of a feature that the host has, looked for in
// its /dev and then in more directories (the real /dev where the driver lives
// in a container of its own). None at all is a warning. The numbers are those of
// the host's nodes: these drivers have no other record of their minors.
func FeatureNodes(h Host, feature Feature, more ...string) ([]Node, []Warning) {
	var nodes []Node
	var warnings []Warning
	seen := map[string]bool{}
	var missing []string
	for _, row := range featureNodes {
		if row.feature != feature {
			continue
		}
		before := len(nodes)
		for _, dev := range append([]string{h.Dev}, more...) {
			found, err := featureDir(dev, row.dir, row.name, row.prefix)
			if err != nil {
				warnings = append(warnings, Warning{"no-" + string(feature), fmt.Sprintf("some nodes may be missing: %v", err)})
			}
			for _, n := range found {
				if !seen[n.Path] {
					seen[n.Path] = true
					n.Gate = string(feature)
					nodes = append(nodes, n)
				}
			}
		}
		if len(nodes) == before && !row.prefix {
			missing = append(missing, strings.TrimPrefix(row.dir+"/"+row.name, "/"))
		}
	}
	if len(nodes) > 0 && len(missing) > 0 {
		warnings = append(warnings, Warning{"no-" + string(feature), fmt.Sprintf(
			"the host has no usable %s, which %s needs; load its kernel module", strings.Join(missing, ", "), feature)})
	}
	if len(nodes) == 0 && len(warnings) == 0 {
		warnings = append(warnings, Warning{"no-" + string(feature), fmt.Sprintf("the container asks for %s but the host has no such device node; load its kernel module", feature)})
	}
	return nodes, warnings
}

func featureDir(dev, dir, name string, prefix bool) ([]Node, error) {
	at, path := dev, "/dev/"
	if dir != "" {
		at, path = dev+"/"+dir, "/dev/"+dir+"/"
	}
	names := []string{name}
	if prefix {
		all, err := readNames(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		names = names[:0]
		for _, entry := range all {
			if rest, ok := strings.CutPrefix(entry, name); ok && (rest == "" || digits(rest)) {
				names = append(names, entry)
			}
		}
		sort.Slice(names, func(i, j int) bool {
			if len(names[i]) != len(names[j]) {
				return len(names[i]) < len(names[j])
			}
			return names[i] < names[j]
		})
	}
	var nodes []Node
	var odd error
	for _, entry := range names {
		n, err := hostNode(at + "/" + entry)
		switch {
		case err == nil:
			n.Path = path + entry
			nodes = append(nodes, n)
		case !errors.Is(err, fs.ErrNotExist) || prefix:
			odd = err // it is in the directory, and no node
		}
	}
	return nodes, odd
}
