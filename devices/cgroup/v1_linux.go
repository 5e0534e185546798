package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// allowV1 grants rules on cgroup v1. On a scope that systemd filters, its
// DeviceAllow alone opens the devices: systemd writes devices.allow itself.
func (l Layout) allowV1(scope *scope, rules []Rule, res *Result) error {
	res.Way = WayV1
	if scope.told {
		res.Way = WayV1Systemd
		res.Unchanged = scope.unchanged
	}
	missing, listErr := l.missingV1(rules)
	if listErr == nil && len(missing) == 0 {
		res.Unchanged = res.Unchanged || !scope.told
		return nil
	}
	if listErr != nil {
		missing = rules
	}
	if !privileged() {
		// Writing wants CAP_SYS_ADMIN in the first user namespace
		// (devcgroup_update_access in security/device_cgroup.c).
		res.Way, res.Reason = WayUnprivileged, unprivilegedReason
		if listErr == nil {
			res.warn("outer-cgroup-denies", fmt.Sprintf("the cgroup %s denies %s, and an ordinary user cannot change that, so the container "+
				"cannot open it; allow the device to the user's session", l.Dir, ruleNames(missing)))
		}
		return nil
	}
	res.Unchanged = false
	var refused, written []Rule
	for _, r := range missing {
		err := l.writeV1("devices.allow", r.String())
		switch {
		case err == nil:
			written = append(written, r)
		case errors.Is(err, unix.EPERM) && l.outerV1(r) != "":
			refused = append(refused, r)
		default:
			return &RuleError{
				Op: "allow", What: r.String(), In: l.Dir, Err: err,
				Fix: "run the hook in the host's namespaces, with CAP_SYS_ADMIN and a cgroup file system that can be written",
			}
		}
	}
	l.warnOuterV1(refused, res)
	if scope.told && len(written) > 0 {
		res.warn("systemd-lied", fmt.Sprintf("systemd accepted the device rules of %s but the cgroup does not have "+
			"them, so they were written there too; run \"gpu-hook reapply\" if a daemon-reload closes the GPUs", l.Unit))
	}
	return nil
}

// outerV1 returns the topmost cgroup above the container's that denies a rule,
// "" where none does. The kernel answers EPERM for a rule that the cgroup
// above lacks (parent_has_perm in security/device_cgroup.c).
func (l Layout) outerV1(r Rule) string {
	levels, _ := l.levels(l.depth)
	defer closeLevels(levels)
	denies := ""
	for _, lv := range levels[1:] {
		list, err := readAt(lv.dir, "devices.list")
		if err != nil || grants(parseList(list), r) {
			break
		}
		denies = lv.name
	}
	return denies
}

// warnOuterV1 warns of rules that cgroups above deny. Those are a slice's, a
// service's or an outer container's, and not ours to widen.
func (l Layout) warnOuterV1(refused []Rule, res *Result) {
	byLevel := map[string][]Rule{}
	for _, r := range refused {
		name := l.outerV1(r)
		byLevel[name] = append(byLevel[name], r)
	}
	for _, name := range slices.Sorted(maps.Keys(byLevel)) {
		res.warnDenied("the cgroup "+name+" above the container's", byLevel[name])
	}
}

// writeV1 writes one line. The kernel takes one rule per write.
func (l Layout) writeV1(name, line string) error {
	fd, err := openat(l.dir, name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(line)); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

// missingV1 returns the rules that devices.list does not grant. A cgroup never
// has more than those above it (security/device_cgroup.c), so it alone decides.
func (l Layout) missingV1(rules []Rule) ([]Rule, error) {
	list, err := readAt(l.dir, "devices.list")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrNoCgroup, err)
	}
	if err != nil {
		return nil, err
	}
	entries := parseList(list)
	var missing []Rule
	for _, r := range rules {
		if !grants(entries, r) {
			missing = append(missing, r)
		}
	}
	return missing, nil
}
