package cdispec

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

// Options say how the specification is made.
type Options struct {
	Hook    hook.Options // what our hook is started with
	Self    string       // the path of our hook on the host
	Kind    string       // "" = [DefaultKind]
	Version string       // "" = the oldest that will do, or [Newest]
}

// Make makes the specification of this host. Warnings say what it lacks.
func Make(ctx context.Context, o Options) (*specs.Spec, []hook.Warning, error) {
	if o.Kind == "" {
		o.Kind = DefaultKind
	}
	if err := checkKind(o.Kind); err != nil {
		return nil, nil, fault.New(fault.Usage, "make a CDI specification", err)
	}
	cfg, err := o.Hook.LoadConfig()
	if err != nil {
		return nil, nil, fault.New(fault.Config, "read the configuration", err)
	}
	m := maker{options: o, config: cfg}
	spec, err := m.spec(ctx)
	if err != nil {
		return nil, m.warnings, err
	}
	if err := setVersion(spec, o.Version); err != nil {
		return nil, m.warnings, fault.New(fault.Usage, "make a CDI specification", err)
	}
	return spec, m.warnings, nil
}

// maker collects devices.
type maker struct {
	options  Options
	config   config.Config
	warnings []hook.Warning
}

func (m *maker) spec(ctx context.Context) (*specs.Spec, error) {
	all, err := m.plan(ctx, "all")
	if err != nil {
		return nil, err
	}
	control, err := m.plan(ctx, "none")
	if err != nil {
		return nil, err
	}
	spec := &specs.Spec{Kind: m.options.Kind}
	// "void" keeps every hook that goes by the image's environment, NVIDIA's
	// and ours, from giving more than the devices that were named.
	spec.ContainerEdits.Env = []string{"NVIDIA_VISIBLE_DEVICES=void"}
	m.add(&spec.ContainerEdits, control.DeviceNodes)
	for _, d := range devicesOf(all) {
		p := all
		if d.argument != "all" {
			if p, err = m.plan(ctx, d.argument); err != nil {
				return nil, err
			}
		}
		nodes := slices.DeleteFunc(slices.Clone(p.DeviceNodes), func(n hook.DeviceNode) bool {
			return slices.ContainsFunc(control.DeviceNodes, func(c hook.DeviceNode) bool { return c.Path == n.Path })
		})
		var edits specs.ContainerEdits
		m.add(&edits, nodes)
		edits.Hooks = []*specs.Hook{m.hook(d.argument)}
		for _, name := range d.names {
			spec.Devices = append(spec.Devices, specs.Device{Name: name, ContainerEdits: edits})
		}
	}
	return spec, nil
}

// plan is what the hook would give a container for one name, with all driver
// capabilities that containers may have.
func (m *maker) plan(ctx context.Context, name string) (hook.Plan, error) {
	o := m.options.Hook
	o.Named, o.NameMIG = []string{name}, true
	bundle := state.Bundle{Spec: state.Spec{Process: state.Process{Env: []string{"NVIDIA_DRIVER_CAPABILITIES=all"}}}}
	p, err := hook.PlanDevices(ctx, o, m.config, nil, bundle)
	if err == nil && p.Action == hook.None {
		err = fault.New(fault.Driver, "make a CDI specification", fmt.Errorf("no device: %s", p.Reason)) //nolint:err113 // a reason in words
	}
	for _, w := range p.Warnings {
		if !slices.Contains(m.warnings, w) {
			m.warnings = append(m.warnings, w)
		}
	}
	return p, err
}

// device is one device with all its names.
type device struct {
	names    []string
	argument string // what the hook is told
}

// devicesOf lists GPUs and MIG devices in order, and "all". The hook is told a
// name that stays right when GPUs are added or removed.
func devicesOf(all hook.Plan) []device {
	var list []device
	for _, g := range all.GPUs {
		d := device{names: []string{strconv.Itoa(g.Index)}, argument: strconv.Itoa(g.Index)}
		if g.UUID != "" {
			d.names = append(d.names, g.UUID)
			d.argument = g.UUID
		}
		list = append(list, d)
		for _, mig := range all.MIG {
			if mig.GPU != g.Index {
				continue
			}
			name := fmt.Sprintf("%d:%d", mig.GPU, mig.Position)
			d := device{names: []string{name}, argument: name}
			if g.UUID != "" {
				// The only name that needs nobody to look it up.
				d.argument = fmt.Sprintf("MIG-%s/%d/%d", g.UUID, mig.GI, mig.CI)
			}
			if mig.UUID != "" {
				d.names = append(d.names, mig.UUID)
			}
			list = append(list, d)
		}
	}
	return append(list, device{names: []string{"all"}, argument: "all"})
}

func (m *maker) hook(argument string) *specs.Hook {
	args := append([]string{"gpu-hook"}, m.options.Hook.Arguments()...)
	return &specs.Hook{
		HookName: "createRuntime", Path: m.options.Self,
		Args: append(args, "createRuntime", "--device", argument), Env: []string{hook.Path},
	}
}
