package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/filter"
)

// swapTries bounds how often a swap starts again because a program changed
// between looking and replacing. A container that starts during a loop of
// daemon-reloads needed 1 (36 of 36 seen).
const swapTries = 8

// level is one cgroup on the way up.
type level struct {
	dir  *os.File
	name string // Its path, for messages.
}

// allowV2 tells systemd, then changes every program that does not grant the
// rules, from the container's cgroup up to its unit. Programs that grant them
// are left alone: our own of an earlier run, and the one systemd has just
// renewed. Replacing that one would leave a copy behind for the scope's life.
func (l Layout) allowV2(ctx context.Context, rules []Rule, spec []specs.LinuxDeviceCgroup, res *Result) error {
	fail := func(err error, fix string) error {
		var rule *RuleError
		if errors.As(err, &rule) {
			return err
		}
		return &RuleError{Op: "allow", What: ruleNames(rules), In: l.Dir, Err: err, Fix: fix}
	}
	levels, err := l.levels(l.above)
	defer closeLevels(levels)
	if err != nil {
		return fail(err, "")
	}
	// Looked at before systemd is asked: where nothing may be read, nothing
	// is to be told either.
	if _, err := l.kernel.query(levels[0].dir); err != nil {
		if errors.Is(err, unix.EPERM) && !privileged() {
			res.Way, res.Reason = WayUnprivileged, unprivilegedReason
			return nil
		}
		return fail(err, "run the hook with CAP_SYS_ADMIN in the host's user namespace")
	}
	s := l.tellSystemd(ctx, rules, res)
	sw := &swap{kernel: l.kernel, rules: rules, spec: spec, scope: s}
	for try := 1; ; try++ {
		err = sw.run(levels)
		if err == nil || !errors.Is(err, errRaced) || try == swapTries {
			break
		}
	}
	defer sw.close()
	if err != nil {
		return fail(err, sw.fix)
	}
	if len(s.pins) > 0 {
		if err := sw.repin(levels[len(levels)-1], s.pins); err != nil {
			res.warn("pin-not-replaced", fmt.Sprintf("the pinned device program of %s was not replaced (%v): a daemon-reload "+
				"will close the GPUs; run \"gpu-hook reapply\" after it", l.Unit, err))
		}
	}
	sw.report(s, res)
	l.warnOuter(levels, rules, res)
	return nil
}

// privileged says whether the process is root in the first user namespace,
// whose uid map is the identity.
func privileged() bool {
	if os.Geteuid() != 0 {
		return false
	}
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(b)), " ") == "0 0 4294967295"
}

// levels opens the container's cgroup and so many above it.
func (l Layout) levels(above int) ([]level, error) {
	list := []level{{dir: l.dir, name: l.Dir}}
	for range min(above, l.depth) {
		last := list[len(list)-1]
		// A directory of a cgroup hierarchy has no links and cannot be moved
		// to another parent, so ".." is the cgroup above.
		fd, err := openat(last.dir, "..", unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return list, fmt.Errorf("%w: %w", ErrNoCgroup, err)
		}
		name := last.name[:max(1, strings.LastIndexByte(last.name, '/'))]
		list = append(list, level{dir: os.NewFile(uintptr(fd), name), name: name})
	}
	return list, nil
}

// closeLevels closes all but the first, which belongs to the layout.
func closeLevels(list []level) {
	for _, l := range list[1:] {
		_ = l.dir.Close()
	}
}

// cleanText returns a program's instructions as they were loaded.
func cleanText(dump []byte) (filter.Program, error) {
	if dump == nil {
		return nil, ErrHidden
	}
	p, err := filter.Decode(dump)
	if err == nil {
		p, err = filter.Clean(p)
	}
	if errors.Is(err, filter.ErrHidden) {
		return nil, ErrHidden
	}
	return p, err
}
