package cgroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Missing returns the rules that are not granted in the container's cgroup as
// it is now. It changes nothing and asks no bus. On v2 it runs the very
// programs that are in force, those of all levels, as the kernel ANDs them.
func (l Layout) Missing(req Request) ([]Rule, error) {
	rules, err := l.begin(req)
	if err != nil {
		return nil, err
	}
	var missing []Rule
	switch l.Version {
	case V1:
		missing, err = l.missingV1(rules)
	case V2:
		missing, err = l.missingV2(rules)
	}
	if err != nil {
		fix := ""
		if errors.Is(err, ErrHidden) {
			fix = hiddenFix
		}
		return nil, &RuleError{Op: "look for", What: ruleNames(rules), In: l.Dir, Fix: fix, Err: err}
	}
	return missing, nil
}

func (l Layout) missingV2(rules []Rule) ([]Rule, error) {
	attached, err := l.kernel.effective(l.dir)
	if errors.Is(err, unix.EPERM) && !privileged() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l.denied(attached.IDs, rules)
}

// denied returns the rules that at least one of the programs does not grant.
func (l Layout) denied(ids []uint32, rules []Rule) ([]Rule, error) {
	var missing []Rule
	for _, id := range ids {
		p, err := l.kernel.open(id)
		if errors.Is(err, unix.ENOENT) {
			continue // Gone meanwhile.
		}
		if err != nil {
			return nil, err
		}
		dump := p.Text
		_ = p.Close()
		text, err := cleanText(dump)
		if err != nil {
			return nil, fmt.Errorf("device program %d: %w", id, err)
		}
		for _, r := range rules {
			ok, err := text.Grants([]Rule{r})
			if err != nil {
				return nil, fmt.Errorf("device program %d: %w", id, err)
			}
			if !ok && !slices.Contains(missing, r) {
				missing = append(missing, r)
			}
		}
	}
	slices.SortFunc(missing, func(a, b Rule) int { return strings.Compare(a.String(), b.String()) })
	return missing, nil
}

// warnOuter warns where a cgroup above the container's unit denies a rule: one
// of a slice, a service, or the container this hook runs in. Those are not ours
// to widen.
func (l Layout) warnOuter(inner []level, rules []Rule, res *Result) {
	known := make(map[uint32]bool)
	note := func(lv level) []uint32 {
		attached, err := l.kernel.query(lv.dir)
		if err != nil {
			return nil
		}
		for _, id := range attached.IDs {
			known[id] = true
		}
		return attached.IDs
	}
	for _, lv := range inner {
		note(lv)
	}
	effective, err := l.kernel.effective(l.dir)
	if err != nil || !slices.ContainsFunc(effective.IDs, func(id uint32) bool { return !known[id] }) {
		return // The usual case: nothing further up.
	}
	warn := func(name string, ids []uint32) {
		if denied, err := l.denied(ids, rules); err == nil && len(denied) > 0 {
			res.warnDenied(name, denied)
		}
	}
	levels, _ := l.levels(l.depth)
	defer closeLevels(levels)
	for _, lv := range levels[min(len(inner), len(levels)):] {
		ids := slices.DeleteFunc(note(lv), func(id uint32) bool { return !slices.Contains(effective.IDs, id) })
		warn("the cgroup "+lv.name+" above the container's", ids)
	}
	hidden := slices.DeleteFunc(effective.IDs, func(id uint32) bool { return known[id] })
	warn("a cgroup above "+sysCgroup, hidden)
}

// warnDenied warns of what a cgroup that is not ours to change denies.
func (r *Result) warnDenied(name string, denied []Rule) {
	r.warn("outer-cgroup-denies", fmt.Sprintf("%s denies %s, so the container cannot open it; "+
		"allow the device there (DeviceAllow= of that unit)", name, ruleNames(denied)))
}
