package cgroup

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/systemd"
)

// busLimit bounds all that is asked of systemd, together. Its answers take 2 to
// 3.5 ms (12 rules, 2 cores); one that is re-executing itself took under 1 s.
const busLimit = 2 * time.Second

// scope is what the bus part of [Layout.Allow] found out and did.
type scope struct {
	told      bool     // Systemd has the rules.
	unchanged bool     // It had them before.
	pins      []string // The unit's pinned device programs: told by pinning ours.
	lost      bool     // Systemd may filter the unit and does not know of the rules.
}

// tellSystemd adds the rules to the scope's DeviceAllow where the scope has a
// device policy. Whatever goes wrong is a warning: the container starts, and
// the message names the risk.
func (l Layout) tellSystemd(ctx context.Context, rules []Rule, res *Result) *scope {
	s := &scope{unchanged: true}
	if !l.Systemd {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, busLimit)
	defer cancel()
	if err := l.askSystemd(ctx, rules, s, res); err != nil {
		s.told, s.lost = false, true
		res.warn("systemd-not-told", fmt.Sprintf("systemd was not told of the device rules of %s (%v): "+
			"a daemon-reload will close the GPUs; run \"gpu-hook reapply\" after it, or make the system bus reachable", l.Unit, err))
	}
	return s
}

func (l Layout) askSystemd(ctx context.Context, rules []Rule, s *scope, res *Result) error {
	bus, err := systemd.Dial(ctx, l.addresses)
	if err != nil {
		return err
	}
	defer func() { _ = bus.Close() }()
	unit, err := bus.Scope(ctx, l.Unit)
	if err != nil {
		return err
	}
	if unit.ControlGroup == "" {
		return nil // Not a unit of this systemd: only a directory with such a name.
	}
	if at := unitPath(l.Path, l.above); unit.ControlGroup != at {
		return fmt.Errorf("its %s has cgroup %.200q, the container is in %.200q", l.Unit, unit.ControlGroup, at)
	}
	if len(unit.Pins) > 0 {
		// crun since 1.21: no policy, and systemd attaches the pinned program
		// again at each reload. DeviceAllow here would add a second, stricter one.
		s.pins = unit.Pins
		return nil
	}
	if !unit.HasPolicy() {
		return nil
	}
	list := make([]systemd.Device, 0, len(rules))
	for _, r := range rules {
		list = append(list, systemd.Device{Path: charPath(r), Access: r.Access})
	}
	if missing := unit.Lacks(list); len(missing) > 0 {
		s.unchanged = false
		if l.Version == V1 {
			err = bus.AllowFirst(ctx, unit, missing)
		} else {
			err = bus.Allow(ctx, l.Unit, missing)
		}
		if err != nil {
			return err
		}
	}
	s.told = true
	if unit.Before249 {
		l.warnLinks(ctx, bus, rules, res)
	}
	return nil
}

// charPath is the name that systemd takes without a look at the file system
// since 240 (pull request 10984); before, the link must be there.
func charPath(r Rule) string { return fmt.Sprintf("/dev/char/%d:%d", r.Major, r.Minor) }

// firstWithoutLinks is the systemd release that needs no /dev/char links.
const firstWithoutLinks = 240

// warnLinks is for systemd before 249 alone: the question for the version costs
// 0.25 ms.
func (l Layout) warnLinks(ctx context.Context, bus *systemd.Bus, rules []Rule, res *Result) {
	var missing []string
	for _, r := range rules {
		if _, err := os.Lstat(charPath(r)); err != nil {
			missing = append(missing, charPath(r))
		}
	}
	if len(missing) == 0 {
		return
	}
	version, err := bus.Version(ctx)
	if n, ok := leadingNumber(version); err != nil || !ok || n >= firstWithoutLinks {
		return
	}
	res.warn("no-dev-char", fmt.Sprintf("systemd %.40s needs the links %s to keep the GPUs open over a daemon-reload; "+
		"make them with: nvidia-ctk system create-dev-char-symlinks --create-all", version, strings.Join(missing, ", ")))
}

func leadingNumber(s string) (int, bool) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	return n, err == nil
}
