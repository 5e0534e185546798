package cgroup

import (
	"errors"
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/filter"
)

// change is one program to be replaced, or taken off where next is nil.
type change struct {
	level      level
	flags      uint32
	old, next  *bpf.Program
	sideBySide bool // The next one was attached beside the old one, as before 5.6.
}

// swap changes the programs of a few cgroups: all, or none.
type swap struct {
	kernel kernel
	rules  []Rule
	spec   []specs.LinuxDeviceCgroup
	scope  *scope
	fix    string // The cure for the error, where one is known.

	changes  []change
	open     []*bpf.Program
	seen     int  // Programs looked at.
	detached bool // Hidden programs were taken off in favour of systemd's.
	rebuilt  bool // A hidden program was built again.
}

// close gives all programs back.
func (s *swap) close() {
	for _, p := range s.open {
		_ = p.Close()
	}
	s.open = nil
}

func (s *swap) keep(p *bpf.Program) *bpf.Program {
	s.open = append(s.open, p)
	return p
}

// run loads all new programs first, then puts them in place. Nothing has been
// changed when it returns an error.
func (s *swap) run(levels []level) error {
	s.close()
	s.changes, s.seen, s.detached, s.rebuilt = nil, 0, false, false
	for _, lv := range levels {
		if err := s.plan(lv); err != nil {
			return err
		}
	}
	if err := s.planHidden(levels); err != nil {
		return err
	}
	for n := range s.changes {
		if err := s.apply(&s.changes[n]); err != nil {
			if undo := s.revert(s.changes[:n]); undo != nil {
				return fmt.Errorf("%w (and going back: %w)", err, undo)
			}
			return err
		}
	}
	return nil
}

// plan looks at the programs of one level and loads what is to replace them.
func (s *swap) plan(lv level) error {
	attached, err := s.kernel.query(lv.dir)
	if err != nil {
		return err
	}
	for _, id := range attached.IDs {
		p, err := s.kernel.open(id)
		if errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("%w: %w", errRaced, err)
		}
		if err != nil {
			return err
		}
		s.keep(p)
		s.seen++
		c := change{level: lv, flags: attached.Flags, old: p}
		text, err := cleanText(p.Text)
		if err == nil {
			var ok bool
			if ok, err = text.Grants(s.rules); ok {
				continue
			}
		}
		if err != nil {
			s.changes = append(s.changes, c) // Without a next: planHidden decides.
			continue
		}
		if c.next, err = s.prepend(text); err != nil {
			return err
		}
		s.changes = append(s.changes, c)
	}
	return nil
}

// prepend loads a copy of a program with the allow prologue in front of it.
func (s *swap) prepend(text filter.Program) (*bpf.Program, error) {
	next, err := filter.Compose(s.rules, text)
	if err != nil {
		return nil, err
	}
	p, err := s.kernel.load(next.Encode())
	if err != nil {
		return nil, err
	}
	return s.keep(p), nil
}

// apply makes one change.
func (s *swap) apply(c *change) error {
	if c.next == nil {
		return raced(s.kernel.detach(c.level.dir, c.old))
	}
	if c.flags&bpf.FlagMulti == 0 {
		// One program at most, and attaching takes its place at once.
		return s.kernel.attach(c.level.dir, c.next, c.flags)
	}
	err := s.kernel.replace(c.level.dir, c.next, c.old)
	if !errors.Is(err, unix.EINVAL) {
		return raced(err)
	}
	// Before 5.6 there is no BPF_F_REPLACE. The new one goes in before the old
	// one leaves: detaching first leaves a moment without a filter
	// (libnvidia-container issue 151).
	if err := s.kernel.attach(c.level.dir, c.next, c.flags); err != nil {
		return err
	}
	c.sideBySide = true
	if err := s.kernel.detach(c.level.dir, c.old); err != nil {
		if undo := s.kernel.detach(c.level.dir, c.next); undo != nil {
			return fmt.Errorf("%w (and going back: %w)", err, undo)
		}
		return raced(err)
	}
	return nil
}

// raced marks the error of a program that is not attached any more.
func raced(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%w: %w", errRaced, err)
	}
	return err
}

// revert undoes changes, the last one first.
func (s *swap) revert(done []change) error {
	var errs []error
	for n := len(done) - 1; n >= 0; n-- {
		c := done[n]
		switch {
		case c.next == nil || c.flags&bpf.FlagMulti == 0:
			errs = append(errs, s.kernel.attach(c.level.dir, c.old, c.flags))
		case c.sideBySide:
			if err := s.kernel.attach(c.level.dir, c.old, c.flags); err != nil {
				errs = append(errs, err)
				continue
			}
			errs = append(errs, s.kernel.detach(c.level.dir, c.next))
		default:
			errs = append(errs, s.kernel.replace(c.level.dir, c.old, c.next))
		}
	}
	return errors.Join(errs...)
}
