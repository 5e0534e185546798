package hook

import (
	"fmt"
	"io"
	"strings"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// List is what "gpu-hook list" shows: the host's driver and GPUs.
type List struct {
	Driver DriverRef   `json:"driver"`
	GPUs   []ListedGPU `json:"gpus"`
}

// ListedGPU is one GPU of the host and whether it can be given to a container.
type ListedGPU struct {
	GPURef
	Fault string `json:"fault,omitempty"`
}

// MakeList reads the host's inventory.
func MakeList(o Options) (List, error) {
	path, explicit := config.DefaultPath, false
	if o.ConfigPath != "" {
		path, explicit = o.ConfigPath, true
	}
	cfg, err := config.Load(path, explicit)
	if err != nil {
		return List{}, fault.New(fault.Config, "read the configuration", err)
	}
	c := call{options: o, config: cfg}
	c.override()
	host := c.subject(nil).Host
	inv, err := inventory(host)
	if err != nil {
		return List{}, noDriver(err)
	}
	l := List{Driver: DriverRef{Version: inv.DriverVersion, Root: host.DriverRoot()}, GPUs: []ListedGPU{}}
	if d, err := compat.ParseDriver(inv.DriverVersion); err == nil {
		cuda, _ := d.CUDA()
		l.Driver.CUDA = cudaText(cuda)
	}
	for _, g := range inv.GPUs {
		l.GPUs = append(l.GPUs, ListedGPU{gpuRef(g), g.Fault})
	}
	return l, nil
}

// WriteText writes the list for a person.
func (l List) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "driver %s (CUDA %s)\n", l.Driver.Version, orUnknown(l.Driver.CUDA))
	if len(l.GPUs) == 0 {
		b.WriteString("no GPU\n")
	}
	for _, g := range l.GPUs {
		fmt.Fprintf(&b, "%-3d %s  %s  %s (%s, compute capability %s)\n", g.Index, g.BusID, orUnknown(g.UUID), orUnknown(g.Model), g.Class, orUnknown(g.ComputeCapability))
		if g.Fault != "" {
			fmt.Fprintf(&b, "    cannot be given to a container: %s\n", g.Fault)
		}
		if g.UUID == "" {
			b.WriteString("    its UUID is known once it has been used: turn on persistence mode, or run nvidia-smi once\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
