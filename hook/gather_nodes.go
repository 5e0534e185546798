package hook

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/mounts/driver"
)

// errMIGRights says that two requests exclude each other, as they do in
// libnvidia-container: the rights are those over every MIG device of a GPU.
var errMIGRights = errors.New("the rights to configure or monitor MIG are asked for together with single MIG devices")

// gatherMIG finds the MIG devices that names mean. `all` means those of every
// GPU given, too.
func gatherMIG(ctx context.Context, s Subject, f *Facts) error {
	host := s.Host.Devices()
	if f.Selection.All {
		if _, ok := f.Inventory.Major("nvidia-caps"); !ok {
			return nil
		}
		for _, g := range f.Selection.GPUs {
			list, err := f.Inventory.MIGDevices(host, g)
			if err != nil {
				return migFault(err)
			}
			f.MIG = append(f.MIG, list...)
		}
		if s.NameMIG {
			var warnings []devices.Warning
			f.MIG, warnings = f.Inventory.NameMIG(ctx, host, f.MIG, s.migSource())
			f.addDeviceWarnings(warnings)
		}
		return nil
	}
	if len(f.Selection.MIG) == 0 {
		return nil
	}
	if s.Request.MIGConfig || s.Request.MIGMonitor {
		return &fault.Error{
			Code: fault.Request, What: "choose MIG devices", Err: errMIGRights,
			Cure: "ask for all devices or whole GPUs, or leave NVIDIA_MIG_CONFIG_DEVICES and NVIDIA_MIG_MONITOR_DEVICES out",
		}
	}
	list, warnings, err := f.Inventory.ResolveMIG(ctx, host, f.Selection.MIG, s.Config.AllowDevices, s.migSource())
	f.addDeviceWarnings(warnings)
	if err != nil {
		return migFault(err)
	}
	f.MIG = list
	return nil
}

// migFault is an error in the choice of MIG devices. One without a cure of its
// own is about the driver's capability tree.
func migFault(err error) error {
	f := fault.New(fault.Request, "choose MIG devices", err)
	if fault.CureOf(err) == "" {
		f.Cure = "look at /proc/driver/nvidia/capabilities on the host, or ask for whole GPUs by index"
	}
	return f
}

// migSource is where UUIDs of MIG devices are learnt.
func (s Subject) migSource() devices.MIGSource {
	return devices.MIGSource{SMI: devices.HostSMI(s.Host.DriverRoot()), CacheDir: s.Standing.runDir()}
}

// GPUs are the GPUs whose nodes the container gets: those asked for as a whole
// and the parents of MIG devices, in index order.
func (f Facts) GPUs() []devices.GPU {
	gpus := slices.Clone(f.Selection.GPUs)
	for _, m := range f.MIG {
		if !slices.ContainsFunc(gpus, func(g devices.GPU) bool { return g.Index == m.Parent }) {
			gpus = append(gpus, f.Inventory.GPUs[m.Parent])
		}
	}
	slices.SortFunc(gpus, func(a, b devices.GPU) int { return a.Index - b.Index })
	return gpus
}

// gatherNodes lists the device nodes that the container gets.
func gatherNodes(ctx context.Context, s Subject, f *Facts, roots *Roots) error {
	if err := listNodes(ctx, s, f); err != nil {
		return err
	}
	f.addFeatureFiles(roots)
	var err error
	if f.ForeignDev, err = foreignDev(s.Bundle.Spec, roots.Container); err != nil {
		return pathFault(fault.Node, "look at the container's /dev", err)
	}
	if f.ForeignDev {
		keepPresent(f, roots.Container)
	}
	f.warnAccess(s)
	return nil
}

// listNodes finds the nodes on the host; the container is not looked at.
func listNodes(ctx context.Context, s Subject, f *Facts) error {
	list := nodeList{facts: f, host: s.Host.Devices()}
	var steps []func(context.Context, Subject) error
	switch f.Inventory.Kind {
	case devices.WSL:
		steps = append(steps, list.addWSL)
	case devices.Jetson:
		steps = append(steps, list.addListed)
	default:
		steps = append(steps, list.addGPUs, list.addMIG, list.addIMEX, list.addFeatures, list.addDRI)
	}
	for _, step := range steps {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// nodeList collects nodes from the groups that a request can name.
type nodeList struct {
	facts *Facts
	host  devices.Host
}

func (l *nodeList) add(nodes []devices.Node, warnings []devices.Warning) {
	for _, n := range nodes {
		if !slices.ContainsFunc(l.facts.Nodes, func(have devices.Node) bool { return have.Path == n.Path }) {
			l.facts.Nodes = append(l.facts.Nodes, n)
		}
	}
	l.facts.addDeviceWarnings(warnings)
}

func (f *Facts) addDeviceWarnings(warnings []devices.Warning) {
	for _, w := range warnings {
		f.Warnings = append(f.Warnings, Warning(w))
	}
}

// addGPUs adds the control nodes and the GPUs. A missing nvidia-uvm module is
// loaded where that is allowed: a machine that has booted and run no CUDA
// program yet does not have it.
func (l *nodeList) addGPUs(ctx context.Context, s Subject) error {
	f := l.facts
	want := devices.Want{
		Compute: f.has("compute"), Video: f.has("video"), Graphics: f.has("graphics"), Display: f.has("display"),
	}
	nodes, warnings, err := f.Inventory.Nodes(l.host, f.GPUs(), want)
	if module := (*devices.ModuleError)(nil); errors.As(err, &module) && s.LoadModules && s.Config.LoadKernelModules {
		if err := devices.LoadModules(ctx, s.Host.Root, module.Module); err != nil {
			return fault.New(fault.Node, "find the device nodes", err)
		}
		fresh, err := devices.ReadInventory(l.host)
		if err != nil {
			return fault.New(fault.Driver, "find the NVIDIA driver", err)
		}
		f.Inventory.Majors = fresh.Majors
		nodes, warnings, err = f.Inventory.Nodes(l.host, f.GPUs(), want)
		if err != nil {
			return fault.New(fault.Node, "find the device nodes", err)
		}
		l.add(nodes, warnings)
		return nil
	}
	if err != nil {
		return fault.New(fault.Node, "find the device nodes", err)
	}
	l.add(nodes, warnings)
	return nil
}

// addMIG adds the capability nodes of MIG devices and of the rights over MIG.
func (l *nodeList) addMIG(context.Context, Subject) error {
	f := l.facts
	nodes, warnings, err := f.Inventory.MIGNodes(l.host, f.MIG)
	if err != nil {
		return fault.New(fault.Node, "find the MIG capability nodes", err)
	}
	l.add(nodes, warnings)
	nodes, warnings, err = f.Inventory.MIGControlNodes(l.host, f.GPUs(), devices.MIGControl{
		Config: f.Request.MIGConfig, Monitor: f.Request.MIGMonitor,
	})
	if err != nil {
		return fault.New(fault.Node, "find the MIG capability nodes", err)
	}
	l.add(nodes, warnings)
	return nil
}

func (l *nodeList) addIMEX(context.Context, Subject) error {
	channels := make([]string, 0, len(l.facts.Request.IMEX))
	for _, n := range l.facts.Request.IMEX {
		channels = append(channels, strconv.FormatUint(uint64(n), 10))
	}
	nodes, warnings, err := l.facts.Inventory.IMEXNodes(l.host, channels)
	if err != nil {
		return fault.New(fault.Request, "find the IMEX channels", err)
	}
	l.add(nodes, warnings)
	return nil
}

// addFeatures adds the nodes that NVIDIA_GDS=enabled and its like ask for. They
// belong to drivers of their own, which may live in the driver's container or
// on the host itself.
func (l *nodeList) addFeatures(_ context.Context, s Subject) error {
	var more []string
	if dev := filepath.Join(s.Host.DriverRoot(), "dev"); dev != l.host.Dev {
		more = append(more, dev)
	}
	r := l.facts.Request
	for _, feature := range []struct {
		on   bool
		name devices.Feature
	}{{r.GDS, devices.GDS}, {r.MOFED, devices.MOFED}, {r.GDRCopy, devices.GDRCopy}, {r.NVSwitch, devices.NVSwitch}} {
		if feature.on {
			l.add(devices.FeatureNodes(l.host, feature.name, more...))
		}
	}
	return nil
}

// addDRI adds the card and render nodes of the selected GPUs.
func (l *nodeList) addDRI(context.Context, Subject) error {
	if !l.facts.has("graphics", "display") {
		return nil
	}
	nodes, links, warnings := devices.DRINodes(l.host, l.facts.GPUs())
	l.add(nodes, warnings)
	l.facts.DevLinks = links
	return nil
}

func (l *nodeList) addWSL(context.Context, Subject) error {
	nodes, err := devices.WSLNodes(l.host)
	if err != nil {
		return fault.New(fault.Node, "find the device nodes", err)
	}
	l.add(nodes, nil)
	return nil
}

// addListed turns the device lines of a Jetson's file lists into nodes. One
// that this board does not have is a note: lists serve many boards.
func (l *nodeList) addListed(context.Context, Subject) error {
	f := l.facts
	f.Files.Files = slices.DeleteFunc(f.Files.Files, func(file driver.File) bool {
		if file.Kind != driver.Device {
			return false
		}
		n, err := devices.HostNode(l.host, file.Target)
		if err != nil {
			f.Warnings = append(f.Warnings, Warning{"missing-list-entry", fmt.Sprintf("%s is left out: %v", file.Target, err)})
			return true
		}
		l.add([]devices.Node{n}, nil)
		return true
	})
	return nil
}
