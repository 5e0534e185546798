package devices

import (
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"
)

// MIGDevice is one MIG device of this host: a compute instance in a GPU
// instance of a GPU.
type MIGDevice struct {
	Parent   int // Parent is the index of its GPU.
	Minor    int // Minor is its GPU's minor: the N of gpuN in the tree.
	Position int // Position is its number on the GPU in the order of nvidia-smi -L.
	GI, CI   int
	UUID     string // UUID is filled in if it was asked for by UUID.
}

// ProcPaths are the capability files that a container needs to see, below
// /proc/driver/nvidia.
func (d MIGDevice) ProcPaths() []string {
	gi := d.tree()
	return []string{"capabilities/" + gi + "/access", fmt.Sprintf("capabilities/%s/ci%d/access", gi, d.CI)}
}

func (d MIGDevice) tree() string { return fmt.Sprintf("gpu%d/mig/gi%d", d.Minor, d.GI) }

func (d MIGDevice) String() string {
	return fmt.Sprintf("%d:%d (gi %d, ci %d)", d.Parent, d.Position, d.GI, d.CI)
}

// MIGDevices lists a GPU's MIG devices in the order of nvidia-smi -L, which is
// by GPU instance, then compute instance. A GPU without MIG has none.
func (inv Inventory) MIGDevices(h Host, gpu GPU) ([]MIGDevice, error) {
	if gpu.Minor == NoMinor {
		return nil, nil
	}
	root := h.driverProc(fmt.Sprintf("capabilities/gpu%d/mig", gpu.Minor))
	gis, err := instances(root, "gi")
	if err != nil {
		return nil, fmt.Errorf("list MIG devices of GPU %d: %w", gpu.Index, err)
	}
	var all []MIGDevice
	for _, gi := range gis {
		cis, err := instances(fmt.Sprintf("%s/gi%d", root, gi), "ci")
		if err != nil {
			return nil, fmt.Errorf("list MIG devices of GPU %d: %w", gpu.Index, err)
		}
		for _, ci := range cis {
			all = append(all, MIGDevice{Parent: gpu.Index, Minor: gpu.Minor, Position: len(all), GI: gi, CI: ci})
		}
	}
	return all, nil
}

// instances lists the numbers of the entries PREFIXn of a directory, sorted.
func instances(dir, prefix string) ([]int, error) {
	names, err := readNames(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			if id, ok := instanceID(rest); ok {
				ids = append(ids, id)
			}
		}
	}
	sort.Ints(ids)
	return ids, nil
}

// MIGNodes returns the nodes that give access to MIG devices: one for each GPU
// instance and one for each compute instance, each once. The parents' own nodes
// come from [Inventory.Nodes]. A capability that cannot be found is an error: a
// MIG device without it is of no use.
func (inv Inventory) MIGNodes(h Host, devices []MIGDevice) ([]Node, []Warning, error) {
	p := planner{inv: inv, host: h}
	for _, d := range devices {
		gi := fmt.Sprintf("gpu%d/gi%d", d.Minor, d.GI)
		for _, c := range []struct{ path, name string }{
			{d.tree() + "/access", gi + "/access"},
			{fmt.Sprintf("%s/ci%d/access", d.tree(), d.CI), fmt.Sprintf("%s/ci%d/access", gi, d.CI)},
		} {
			if err := p.addCapability(c.path, c.name, "mig"); err != nil {
				return nil, nil, fmt.Errorf("find nodes of MIG device %v: %w", d, err)
			}
		}
	}
	return p.nodes, p.warnings, nil
}

// MIGControl says which rights over MIG itself are asked for.
type MIGControl struct{ Config, Monitor bool }

// MIGControlNodes returns the nodes for the rights to configure and to monitor
// MIG, and those of every MIG device of the GPUs, which both rights include.
func (inv Inventory) MIGControlNodes(h Host, gpus []GPU, c MIGControl) ([]Node, []Warning, error) {
	p := planner{inv: inv, host: h}
	if c.Config {
		if err := p.addCapability("mig/config", "config", "mig-config"); err != nil {
			return nil, nil, fmt.Errorf("find node of MIG configuration: %w", err)
		}
	}
	if c.Monitor {
		if err := p.addCapability("mig/monitor", "monitor", "mig-monitor"); err != nil {
			return nil, nil, fmt.Errorf("find node of MIG monitoring: %w", err)
		}
	}
	if !c.Config && !c.Monitor {
		return nil, nil, nil
	}
	var all []MIGDevice
	for _, gpu := range gpus {
		devices, err := inv.MIGDevices(h, gpu)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, devices...)
	}
	nodes, warnings, err := inv.MIGNodes(h, all)
	if err != nil {
		return nil, nil, err
	}
	return append(p.nodes, nodes...), append(p.warnings, warnings...), nil
}

// addCapability plans /dev/nvidia-caps/nvidia-capM once.
func (p *planner) addCapability(path, name, gate string) error {
	major, ok := p.inv.Major("nvidia-caps")
	if !ok {
		return &ModuleError{Module: "nvidia-caps"}
	}
	c, err := readCapability(p.host, path, name)
	if err != nil {
		return err
	}
	if !p.has(major, c.minor) {
		p.addMode(fmt.Sprintf("nvidia-caps/nvidia-cap%d", c.minor), major, c.minor, c.mode, gate)
	}
	return nil
}
