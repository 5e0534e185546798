package devices

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// Want is what a request's capabilities mean for device nodes.
type Want struct {
	Compute  bool // Compute needs the unified memory nodes.
	Video    bool // Video uses them, too, but works in part without.
	Graphics bool // Graphics needs the mode-setting node.
	Display  bool // Display needs it as well.
}

// minors of the control nodes (nv-chardev-numbers.h, uvm_linux_ioctl.h and the
// nvidia-modprobe sources give the same).
const (
	minorControl  = 255
	minorModeset  = 254
	minorUVM      = 0
	minorUVMTools = 1
)

// Nodes returns the nodes for GPUs and capabilities: nvidiactl always, then the
// GPUs in the order given, then what w asks for. Numbers come from the driver
// (195 is fixed, the rest is in /proc/devices), mode and owner from the host's
// node, or from the driver's parameters where the host has none of the same
// numbers.
//
// Compute on a GPU without the nvidia-uvm module is a [*ModuleError]. Whatever
// else is missing is a warning.
func (inv Inventory) Nodes(h Host, gpus []GPU, w Want) ([]Node, []Warning, error) {
	p := planner{inv: inv, host: h}
	p.add("nvidiactl", gpuMajor, minorControl, "control")
	for _, gpu := range gpus {
		if gpu.Minor < 0 || gpu.Minor > maxMinor {
			return nil, nil, &BrokenDeviceError{Name: strconv.Itoa(gpu.Index), GPU: gpu}
		}
		p.add("nvidia"+strconv.Itoa(gpu.Minor), gpuMajor, uint32(gpu.Minor), "gpu")
	}
	if w.Compute || w.Video {
		if err := p.addUVM(w.Compute && len(gpus) > 0); err != nil {
			return nil, nil, err
		}
	}
	if w.Display || w.Graphics {
		p.addModeset(w)
	}
	return p.nodes, p.warnings, nil
}

// planner collects nodes and what there is to say about them.
type planner struct {
	inv      Inventory
	host     Host
	nodes    []Node
	warnings []Warning
}

func (p *planner) warnf(code, format string, args ...any) {
	p.warnings = append(p.warnings, Warning{code, fmt.Sprintf(format, args...)})
}

func (p *planner) has(major, minor uint32) bool {
	for _, n := range p.nodes {
		if n.Major == major && n.Minor == minor {
			return true
		}
	}
	return false
}

// add plans /dev/NAME with numbers that are known to be right.
func (p *planner) add(name string, major, minor uint32, gate string) {
	p.addMode(name, major, minor, p.inv.Params.Mode, gate)
}

// addMode is add with a mode of its own where the host has no node.
func (p *planner) addMode(name string, major, minor, mode uint32, gate string) {
	want := Node{
		Path: "/dev/" + name, Major: major, Minor: minor, Gate: gate,
		Mode: mode, UID: p.inv.Params.UID, GID: p.inv.Params.GID,
	}
	have, err := hostNode(p.host.Dev + "/" + name)
	switch {
	case err == nil && have.Major == major && have.Minor == minor:
		want.Host, want.Mode, want.UID, want.GID = have.Host, have.Mode, have.UID, have.GID
	case err == nil:
		p.warnf("node-mismatch", "the host's %s is c %d:%d but the driver has c %d:%d, which is used; remove the stale node and run nvidia-modprobe",
			p.host.Dev+"/"+name, have.Major, have.Minor, major, minor)
	case !errors.Is(err, fs.ErrNotExist):
		p.warnf("node-mismatch", "the host's %s cannot be used as a pattern: %v; the driver's c %d:%d is used",
			p.host.Dev+"/"+name, err, major, minor)
	}
	p.nodes = append(p.nodes, want)
}

func (p *planner) addUVM(required bool) error {
	major, ok := p.inv.Major("nvidia-uvm")
	if !ok {
		missing := &ModuleError{Module: "nvidia-uvm"}
		if required {
			return missing
		}
		p.warnf("no-uvm", "%v; %s", missing, missing.Cure())
		return nil
	}
	p.add("nvidia-uvm", major, minorUVM, "compute")
	p.add("nvidia-uvm-tools", major, minorUVMTools, "compute")
	return nil
}

// addModeset plans nvidia-modeset if its module is there. Drivers before branch
// 550 register one name for the whole major, so the host's node or the module's
// directory has to tell.
func (p *planner) addModeset(w Want) {
	gate := "graphics"
	if w.Display {
		gate = "display"
	}
	_, listed := p.inv.Major("nvidia-modeset")
	if !listed {
		_, err := hostNode(p.host.Dev + "/nvidia-modeset")
		if err != nil && !exists(p.host.Sys+"/module/nvidia_modeset") {
			missing := &ModuleError{Module: "nvidia-modeset"}
			p.warnf("no-modeset", "%v; %s", missing, missing.Cure())
			return
		}
	}
	p.add("nvidia-modeset", gpuMajor, minorModeset, gate)
}
