package hook

import (
	"context"
	"os"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/devices/cgroup"
	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// ruled is what setting the device rules came to.
type ruled struct {
	warnings []Warning
	way      string
	err      error
}

// startRules sets the device rules while the mounts are made: on a thread that
// stays in the host's namespaces, where the cgroups are.
func (p Plan) startRules(ctx context.Context, spec []specs.LinuxDeviceCgroup) <-chan ruled {
	done := make(chan ruled, 1)
	if len(p.DeviceRules) == 0 {
		done <- ruled{}
		return done
	}
	go func() {
		res, err := p.allow(ctx, spec)
		r := ruled{way: res.Way}
		for _, w := range res.Warnings {
			r.warnings = append(r.warnings, Warning(w))
		}
		if err != nil {
			r.err = fault.New(fault.Cgroup, "open the GPUs in the container's cgroup", err)
		}
		done <- r
	}()
	return done
}

func (p Plan) allow(ctx context.Context, spec []specs.LinuxDeviceCgroup) (cgroup.Result, error) {
	rules := make([]cgroup.Rule, 0, len(p.DeviceRules))
	for _, r := range p.DeviceRules {
		rules = append(rules, cgroup.Rule{Type: r.Type[0], Major: r.Major, Minor: r.Minor, Access: r.Access})
	}
	pid := p.Container.PID
	if p.Container.Entry == EntryInside {
		pid = os.Getpid() // a createContainer hook is in its container's cgroup
	}
	l, err := cgroup.Detect(pid)
	if err != nil {
		return cgroup.Result{}, err
	}
	defer l.Close()
	return l.Allow(ctx, cgroup.Request{PID: pid, Rules: rules, Spec: spec})
}
