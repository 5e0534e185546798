package hook

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

// LoadConfig reads the configuration and lets the command line win over it.
// After an error the configuration is good for finding out whether a container
// asks for a GPU, and for where to log.
func (o Options) LoadConfig() (config.Config, error) {
	path, explicit := config.DefaultPath, false
	if o.ConfigPath != "" {
		path, explicit = o.ConfigPath, true
	}
	cfg, err := config.Load(path, explicit)
	c := call{options: o, config: cfg}
	c.override()
	return c.config, err
}

// PlanDevices is the part of a plan that an OCI runtime can carry out before the
// container exists: its device nodes and rules, as the hook will plan them
// again. The configuration and its error are those of [Options.LoadConfig]. The
// rootfs is not looked at; whether /dev is the container's own is taken from
// its mounts. The plan's action is None for a container that is left alone.
//
// A Jetson's nodes stand in its file lists and are left to the hook.
func PlanDevices(ctx context.Context, o Options, cfg config.Config, configErr error, b state.Bundle) (Plan, error) {
	c := &call{options: o, config: cfg, bundle: b}
	if err := c.ask(configErr); err != nil {
		return Plan{}, err
	}
	if c.notRequested != nil {
		return c.nothing(c.notRequested.Error()), nil //nolint:nilerr // a reason, no failure
	}
	s := c.subject(nil)
	own, err := namespace("self", "user")
	if err != nil {
		return Plan{}, fault.New(fault.State, "find out where the wrapper is", err)
	}
	s.LoadModules = own.ino == firstUserNS // modprobe needs the host's rights
	s.NameMIG = o.NameMIG
	f := Facts{
		Host: s.Host, Config: cfg, Request: c.request, Container: ContainerRef{Bundle: b.Dir},
		IDs:        IDMaps{UIDs: b.Spec.Linux.UIDMappings, GIDs: b.Spec.Linux.GIDMappings},
		ForeignDev: bindsDev(b.Spec),
	}
	err = gatherGPUs(ctx, s, &f)
	if errors.Is(err, devices.ErrNoDriver) && c.startsWithoutDriver() {
		p := c.nothing(noDriverText)
		p.Warnings = append(p.Warnings, Warning{"no-driver", noDriverText})
		return p, nil
	}
	if err == nil && f.Inventory.Kind != devices.Jetson {
		err = listNodes(ctx, s, &f)
	}
	if err != nil {
		return Plan{}, err
	}
	return Build(f)
}

// Path is the whole environment that entries of ours in a list of hooks have.
const Path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"

// Arguments are the options as words of a command line, paths absolute: a hook
// is started in another directory.
func (o Options) Arguments() []string {
	var args []string
	for _, opt := range []struct{ name, value string }{
		{"--config", o.ConfigPath}, {"--host-root", o.HostRoot}, {"--driver-root", o.DriverRoot},
	} {
		if opt.value == "" {
			continue
		}
		if abs, err := filepath.Abs(opt.value); err == nil {
			opt.value = abs
		}
		args = append(args, opt.name, opt.value)
	}
	if o.LogLevel != "" {
		args = append(args, "--log-level", o.LogLevel)
	}
	return args
}

// FromAnnotation reports that annotations asked for the devices.
func FromAnnotation(r RequestRef) bool { return strings.HasPrefix(r.Source, "annotation:") }
