package cgroup

import (
	"context"
	"fmt"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/filter"
)

// Allow grants the rules. Either all are granted, or an error that is a
// [*RuleError] comes back and the filters are as they were. A second call with
// the same rules changes nothing.
//
// The context ends what is asked of systemd, which also has 2 s at most; the
// rest are system calls that do not wait.
func (l Layout) Allow(ctx context.Context, req Request) (Result, error) {
	rules, err := l.begin(req)
	if err != nil {
		return Result{}, err
	}
	res := Result{Way: WayNone, Unchanged: true}
	switch {
	case len(rules) == 0:
		res.Reason = "no rules were asked for"
		return res, nil
	case l.Version == None:
		res.Reason = "no cgroup hierarchy with device rules is to be seen"
		if !privileged() {
			res.Way = WayUnprivileged
		}
		return res, nil
	case l.Version == V1:
		err = l.allowV1(l.tellSystemd(ctx, rules, &res), rules, &res)
	default:
		err = l.allowV2(ctx, rules, req.Spec, &res)
	}
	if err != nil {
		return Result{}, err
	}
	return res, nil
}

// begin checks the request and that the process is still there.
func (l Layout) begin(req Request) ([]Rule, error) {
	rules, err := filter.Merge(req.Rules...)
	if err != nil {
		return nil, &RuleError{Op: "check rules", Err: err}
	}
	if req.PID != l.PID {
		return nil, &RuleError{Op: "allow rules for", What: processName(req.PID), Err: fmt.Errorf("layout is that of process %d", l.PID)}
	}
	if err := l.alive(); err != nil {
		return nil, &RuleError{Op: "allow", What: ruleNames(rules), In: l.Dir, Err: err}
	}
	return rules, nil
}
