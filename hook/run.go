package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/logfile"
	"github.com/gpu-hook/gpu-hook/hook/request"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

// Options are what the command line and the way of starting say.
type Options struct {
	ConfigPath     string // "" = the default path
	HostRoot       string // overrides host-root of the configuration
	DriverRoot     string // overrides driver.root
	LogLevel       string // overrides log.level
	CalledForGPU   bool   // started under the name by which engines ask for GPUs
	Stage          state.Stage
	BundleOverride string   // "gpu-hook plan --bundle": no state is read
	Named          []string // devices that a CDI specification names on the command line
	NameMIG        bool     // the plan has to name MIG devices by UUID, too
	Annotations    bool     // annotations may ask for GPUs: the runtime wrapper has registered us
	Args           []string // of the command line, for starting ourselves again
	Entered        string   // the mount namespace that nsenter has brought us into
}

// Hook is the whole run of the hook: state in, container changed. The error is
// what the process ends with; what does not stop the container is in the log.
func Hook(ctx context.Context, o Options, stdin io.Reader) error {
	phases := NewPhases()
	c, err := o.receive(stdin)
	phases.Mark("input")
	log := logfile.New(c.config.Log).WithFields(logrus.Fields{
		"container": c.state.ID, "pid": c.state.Pid, "stage": string(o.Stage),
	})
	for _, w := range c.warnings {
		log.WithField("warning", w.Code).Warn(w.Message)
	}
	if err == nil && c.notRequested == nil {
		err = c.inject(ctx, log, phases)
	}
	if err != nil {
		// Runtimes drop a hook's standard error (crun, CRI-O); the log keeps it.
		log.WithField("code", int(fault.CodeOf(err))).Error(fault.Line(err))
	}
	return err
}

// call is one container with what was read of it.
type call struct {
	options      Options
	state        state.State
	bundle       state.Bundle
	config       config.Config
	request      request.Request
	warnings     []Warning
	notRequested error // why the container is left alone
}

// receive reads state, bundle and configuration and finds the request. A
// container that asks for no GPU is found out even where the configuration is
// broken: it must start. The call is never nil: what was read until an error
// says where and about which container it is logged.
func (o Options) receive(stdin io.Reader) (*call, error) {
	c := &call{options: o}
	var configErr, err error
	c.config, configErr = o.LoadConfig()
	if o.BundleOverride != "" {
		c.bundle, err = state.OpenBundle(o.BundleOverride)
	} else {
		if c.state, err = state.Read(stdin); err != nil {
			return c, fault.New(fault.State, "read the OCI state on standard input", err)
		}
		c.bundle, err = c.state.OpenBundle()
	}
	if err != nil {
		return c, fault.New(fault.State, "read the bundle", err)
	}
	if err := c.gatherNamed(); err != nil || c.notRequested != nil {
		return c, err
	}
	return c, c.ask(configErr)
}

// ask finds out what the bundle's container asks for.
func (c *call) ask(configErr error) error {
	spec, o := c.bundle.Spec, c.options
	in := request.Input{
		Env: spec.Process.Env, Mounts: spec.Mounts, Privileged: spec.Privileged(),
		Named: o.Named, CalledForGPU: o.CalledForGPU, Config: c.config,
	}
	if o.Annotations {
		in.Annotations = spec.Annotations
	}
	var warnings []request.Warning
	var err error
	c.request, warnings, err = request.Parse(in)
	for _, w := range warnings {
		c.warnings = append(c.warnings, Warning(w))
	}
	if errors.Is(err, request.ErrNotRequested) {
		c.notRequested = err
		return nil
	}
	if configErr != nil {
		return fault.New(fault.Config, "read the configuration", configErr)
	}
	if err != nil {
		return fault.New(fault.Request, "read the request", err)
	}
	return nil
}

// override lets the command line win over the configuration.
func (c *call) override() {
	if c.options.HostRoot != "" {
		c.config.HostRoot = c.options.HostRoot
	}
	if c.options.DriverRoot != "" {
		c.config.Driver.Root = c.options.DriverRoot
	}
	if c.options.LogLevel != "" {
		c.config.Log.Level = config.LogLevel(c.options.LogLevel)
	}
}

func (c *call) subject(p *Phases) Subject {
	return Subject{
		Host:   Host{Root: c.config.HostRoot, Driver: c.config.Driver.Root},
		Config: c.config, State: c.state, Bundle: c.bundle, Request: c.request, Phases: p,
	}
}

// inject plans and applies.
func (c *call) inject(ctx context.Context, log *logrus.Entry, phases *Phases) error {
	if err := c.state.Check(c.options.Stage); err != nil {
		return fault.New(fault.State, "use the OCI state", err)
	}
	standing, err := c.stand()
	if err != nil {
		return err
	}
	if standing.Enters() {
		return c.enter(standing, nsenterPaths())
	}
	subject := c.subject(phases)
	subject.Standing, subject.State = standing, c.state
	subject.LoadModules = !standing.Nested // modprobe needs the host's rights
	facts, roots, err := Gather(ctx, subject)
	defer roots.Close()
	if errors.Is(err, devices.ErrNoDriver) && c.startsWithoutDriver() {
		log.WithField("warning", "no-driver").Warn(noDriverText)
		return nil
	}
	if err != nil {
		return err
	}
	plan, err := Build(facts)
	if err != nil {
		return err
	}
	plan.warnShadowed(facts, roots)
	phases.Mark("plan")
	if err := c.checkOutside(standing); err != nil {
		return err
	}
	var rules string
	recorded := make(chan error, 1) // written while the image's files are
	left, err := plan.Apply(ctx, Target{
		Roots: roots, Loader: facts.Loader, Spec: c.bundle.Spec.Linux.Resources.Devices,
		Label: c.bundle.Spec.Linux.MountLabel, Phases: phases,
		Granted: func(way string) {
			rules = way
			go func() { recorded <- remember(plan, way, standing.runDir()) }()
		},
	})
	for _, w := range append(plan.Warnings, left...) {
		log.WithField("warning", w.Code).Warn(w.Message)
	}
	if err != nil {
		return err
	}
	if err := <-recorded; err != nil {
		log.WithField("warning", "no-record").Warn(err.Error())
	}
	phases.Mark("record")
	done := log.WithFields(logrus.Fields{
		"gpus": plan.nodesOfGPUs(), "source": plan.Request.Source, "driver": plan.Driver.Version, "compat": plan.Compat.Decision,
		"entry": string(plan.Container.Entry), "rules": rules,
	})
	if len(plan.GPUs) > 0 && plan.nodesOfGPUs() == 0 {
		done.WithField("warning", "no-gpu-node").Warn("container got the driver's files but no GPU: see the warnings before")
	} else {
		done.Info("container got its GPUs")
	}
	phases.log(log)
	return nil
}

const noDriverText = "the host has no NVIDIA driver; the container starts without GPUs"

// startsWithoutDriver is the on-missing-driver policy.
func (c *call) startsWithoutDriver() bool {
	switch c.config.OnMissingDriver {
	case config.Warn:
		return true
	case config.Fail:
		return false
	default:
		return !c.request.UserAsked
	}
}

// MakePlan is "gpu-hook plan": the same path as [Hook] up to the point where
// something would be changed. The error is the one that the hook would end
// with; it is in the plan, too, beside what was found out until then. Only
// where the input itself cannot be read is there no plan (Version is 0).
func MakePlan(ctx context.Context, o Options, stdin io.Reader) (Plan, error) {
	c, err := o.receive(stdin)
	if err != nil {
		return Plan{}, err
	}
	if c.notRequested != nil {
		return c.nothing(c.notRequested.Error()), nil
	}
	subject := c.subject(nil)
	if subject.Standing, err = c.stand(); err != nil {
		return Plan{}, err
	}
	facts, roots, err := Gather(ctx, subject)
	defer roots.Close()
	if errors.Is(err, devices.ErrNoDriver) && c.startsWithoutDriver() {
		p := c.nothing(noDriverText)
		p.Warnings = append(p.Warnings, Warning{"no-driver", noDriverText})
		return p, nil
	}
	plan, buildErr := Build(facts)
	plan.Warnings = append(c.warnings, plan.Warnings...)
	if err = cmp.Or(err, buildErr); err != nil {
		plan.Exit = &Exit{Code: int(fault.CodeOf(err)), Line: fault.Line(err), Cure: fault.Escape(fault.CureOf(err))}
		return plan, err
	}
	plan.warnShadowed(facts, roots)
	plan.Exit = &Exit{}
	return plan, nil
}

// nothing is the plan of a container that is left alone.
func (c *call) nothing(why string) Plan {
	return Plan{
		Version: PlanVersion, Action: None, Reason: why,
		Container: ContainerRef{ID: c.state.ID, PID: c.state.Pid, Bundle: c.bundle.Dir},
		Warnings:  c.warnings,
		Exit:      &Exit{},
	}.filled()
}

func (p *Phases) log(log *logrus.Entry) {
	if p == nil || !log.Logger.IsLevelEnabled(logrus.DebugLevel) {
		return
	}
	fields := logrus.Fields{}
	for i, name := range p.Names {
		fields[name] = fmt.Sprint(p.Took[i].Microseconds(), "us")
	}
	log.WithFields(fields).Debug("where the time went")
}
