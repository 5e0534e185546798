package cgroup

import (
	"fmt"
	"slices"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/filter"
)

const hiddenFix = "set kernel.kptr_restrict=1 or net.core.bpf_jit_harden=1, or give the devices to the runtime (--device)"

// planHidden decides on the programs whose text cannot be read: on a hardened
// kernel (net.core.bpf_jit_harden=2), or because they call helpers.
//
// Where systemd has the rules and its own program is attached at the unit, that
// one says all that the runtime's did, since the runtime gave systemd the same
// list; the others are taken off, which needs no text. Elsewhere a single
// hidden program is the runtime's, and is built again from the configuration.
// Of two, one may be anybody's: building that again could widen it.
func (s *swap) planHidden(levels []level) error {
	var hidden, rest []change
	systemd := false
	for _, c := range s.changes {
		if c.next != nil {
			rest = append(rest, c)
			continue
		}
		if s.scope.told && c.old.Name == systemdProgram {
			systemd = systemd || c.level == levels[len(levels)-1]
			continue
		}
		hidden = append(hidden, c)
	}
	s.changes = rest
	switch {
	case len(hidden) == 0:
		return nil
	case systemd && allMulti(hidden):
		s.detached = true
		s.changes = append(s.changes, hidden...)
		return nil
	case len(s.spec) == 0:
		return s.cannot(hidden)
	}
	next, err := s.rebuild()
	if err != nil {
		return err
	}
	s.rebuilt = true
	// Equal text, equal tag: built by an earlier run.
	foreign := slices.DeleteFunc(slices.Clone(hidden), func(c change) bool { return c.old.Tag == next.Tag })
	switch {
	case len(foreign) == 0:
		return nil
	case len(foreign) > 1 || foreign[0].old.Name == systemdProgram,
		len(foreign) < len(hidden) && !s.isPinned(foreign[0].old):
		return s.cannot(foreign)
	}
	foreign[0].next = next
	s.changes = append(s.changes, foreign[0])
	return nil
}

func (s *swap) cannot(hidden []change) error {
	s.fix = hiddenFix
	return fmt.Errorf("%d of %d programs cannot be copied: %w", len(hidden), s.seen, ErrHidden)
}

// isPinned says whether the unit's BPFProgram names the program: then it is the
// runtime's, which systemd has attached again beside the one built before.
func (s *swap) isPinned(program *bpf.Program) bool {
	for _, path := range s.scope.pins {
		if p, err := bpf.OpenPinned(path); err == nil {
			s.keep(p)
			if p.ID == program.ID {
				return true
			}
		}
	}
	return false
}

func allMulti(list []change) bool {
	for _, c := range list {
		if c.flags&bpf.FlagMulti == 0 {
			return false
		}
	}
	return true
}

// rebuild loads a filter made from linux.resources.devices, the runtimes'
// defaults and the rules.
func (s *swap) rebuild() (*bpf.Program, error) {
	entries, err := filter.FromSpec(s.spec)
	if err != nil {
		return nil, err
	}
	text, err := filter.Build(entries)
	if err != nil {
		return nil, err
	}
	return s.prepend(text)
}

// report says in the result which way was taken.
func (s *swap) report(sc *scope, res *Result) {
	res.Unchanged = len(s.changes) == 0 && sc.unchanged
	switch {
	case s.seen == 0:
		res.Way, res.Reason = WayNone, "no device program is attached"
		return
	case s.detached:
		res.Way = WayV2Detached
	case len(sc.pins) > 0:
		res.Way = WayV2Pinned
	case sc.told:
		res.Way = WayV2Systemd
	case s.rebuilt:
		res.Way = WayV2Rebuilt
	default:
		res.Way = WayV2
	}
	if s.rebuilt {
		res.warn("filter-rebuilt", "the kernel hides the container's device program (net.core.bpf_jit_harden=2), so it was built "+
			"again from the configuration: devices the runtime had added on its own are closed; set kernel.kptr_restrict=1 to have it copied")
	}
}
