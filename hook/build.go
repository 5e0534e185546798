package hook

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/hook/config"
)

// Build makes the plan. It is pure: the same facts give the same plan, and
// nothing is read or changed.
func Build(f Facts) (Plan, error) {
	p := Plan{
		Version:   PlanVersion,
		Action:    Inject,
		Container: f.containerRef(),
		Request:   requestRef(f),
		Driver:    DriverRef{Version: f.Inventory.DriverVersion, CUDA: cudaText(f.Decision.DriverCUDA), Root: f.Host.DriverRoot()},
		GPUs:      []GPURef{},
		Mounts:    []Mount{},
		Symlinks:  []Symlink{},
		Hidden:    f.Hide,
		Warnings:  slices.Clone(f.Warnings),
		Notes:     slices.Concat(f.Files.Notes, f.Notes),
	}
	for _, g := range f.GPUs() {
		p.GPUs = append(p.GPUs, gpuRef(g))
	}
	p.addNodes(f)
	p.addCompat(f)
	lay := newLayout(f)
	if err := lay.checkTree(); err != nil {
		return p.filled(), err
	}
	lay.addLibraries(&p)
	lay.addFiles(&p)
	lay.addEGLProfile(&p)
	lay.addProc(&p)
	lay.addLoader(&p)
	lay.summarise(&p)
	p.sort()
	return p.filled(), nil
}

// containerRef adds the way in. As the owner of the container's files we make
// them only where we are somebody else.
func (f Facts) containerRef() ContainerRef {
	c := f.Container
	c.Entry = f.Standing.Way()
	if c.Entry == EntryUserNamespace {
		c.Owner = f.IDs.Root()
	}
	return c
}

func gpuRef(g devices.GPU) GPURef {
	return GPURef{
		Index: g.Index, Minor: g.Minor, UUID: g.UUID, BusID: g.BusID, Model: g.Model,
		Class: string(g.Class), ComputeCapability: g.ComputeCapability,
	}
}

// cudaText is a CUDA version in the plan; an unknown one is "".
func cudaText(c compat.CUDA) string {
	if !c.Known() {
		return ""
	}
	return c.String()
}

func requestRef(f Facts) RequestRef {
	return RequestRef{
		Source:       f.Request.Source,
		Devices:      slices.Clone(f.Request.Devices),
		Capabilities: slices.Clone(f.Request.Capabilities),
	}
}

// addNodes plans the device nodes and one cgroup rule for each: exact numbers,
// so that a container can reach no GPU but its own (an image may hold nodes for
// others, and may make them itself where it has the right to).
func (p *Plan) addNodes(f Facts) {
	p.DeviceNodes = []DeviceNode{}
	p.DeviceRules = []DeviceRule{}
	for _, n := range f.Nodes {
		p.DeviceNodes = append(p.DeviceNodes, DeviceNode{
			Path: n.Path, Type: "c", Major: n.Major, Minor: n.Minor,
			Mode: fmt.Sprintf("%04o", n.Mode), UID: f.IDs.UID(n.UID), GID: f.IDs.GID(n.GID),
			Method: f.method(), Source: n.Host,
		})
		p.DeviceRules = append(p.DeviceRules, DeviceRule{
			Type: "c", Major: n.Major, Minor: n.Minor, Access: string(f.Config.Cgroups.Access),
		})
	}
	if f.Config.Cgroups.Mode == config.CgroupOff {
		p.DeviceRules = []DeviceRule{}
	}
	if len(p.DeviceRules) > 0 && f.Standing.Ruleless() {
		p.RulesNote = rulelessNote
	}
	if !f.ForeignDev {
		for _, k := range f.DevLinks {
			p.Symlinks = append(p.Symlinks, Symlink{Path: k.Path, Target: k.Target})
		}
	}
	for _, m := range f.MIG {
		p.MIG = append(p.MIG, MIGRef{GPU: m.Parent, GI: m.GI, CI: m.CI, Position: m.Position, UUID: m.UUID})
	}
}

// method is how a node comes into the container. One that is made inside a user
// namespace cannot be opened (the mount is nodev for it); the host's own can
// be, through a bind mount. In a /dev that a user bound into the container
// nothing is made: either the node is there or it stays away.
func (f Facts) method() string {
	switch {
	case f.ForeignDev:
		return MethodKept
	case f.IDs.Mapped() || f.Standing.Binds():
		return MethodBind
	default:
		return MethodMknod
	}
}

func (p *Plan) addCompat(f Facts) {
	d := f.Decision
	p.Compat = Compat{
		Decision:      string(d.Kind),
		DriverCUDA:    cudaText(d.DriverCUDA),
		RuntimeCUDA:   cudaText(d.RuntimeCUDA),
		RuntimeSource: f.Runtime.Source,
		Reason:        d.Reason,
		Notes:         f.Runtime.Notes,
	}
	if d.Overlay != nil {
		p.Compat.Overlay = d.Overlay.Dir
	}
	for _, w := range d.Warnings {
		p.Warnings = append(p.Warnings, Warning(w))
	}
}

// warn adds a warning unless the same one is there already.
func (p *Plan) warn(code, format string, args ...any) {
	w := Warning{Code: code, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(p.Warnings, w) {
		p.Warnings = append(p.Warnings, w)
	}
}

// sort puts every list into its fixed order: by path where there is one, so
// that a directory comes before what lies in it.
func (p *Plan) sort() {
	slices.SortFunc(p.DeviceNodes, func(a, b DeviceNode) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(p.DeviceRules, func(a, b DeviceRule) int {
		return cmp.Or(cmp.Compare(a.Major, b.Major), cmp.Compare(a.Minor, b.Minor), cmp.Compare(a.Type, b.Type))
	})
	p.DeviceRules = slices.Compact(p.DeviceRules)
	slices.SortFunc(p.Mounts, func(a, b Mount) int { return cmp.Compare(a.Target, b.Target) })
	slices.SortFunc(p.Texts, func(a, b Text) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(p.Symlinks, func(a, b Symlink) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(p.Loader.Libraries, func(a, b LoaderLibrary) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Bits, b.Bits))
	})
	slices.Sort(p.Hidden)
	slices.SortStableFunc(p.Warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	p.Warnings = slices.Compact(p.Warnings)
	if p.Warnings == nil {
		p.Warnings = []Warning{}
	}
}
