package cgroup

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
)

var errPin = errors.New("path is not on a BPF file system")

// repin makes the unit's pinned programs name what is attached now, so that
// systemd attaches ours again at a reload, and not the runtime's. A pin of a
// program that grants the rules already is left alone.
func (s *swap) repin(unit level, pins []string) error {
	for _, path := range pins {
		// The path is the bus's word: only a device program on a BPF file
		// system is ever replaced.
		var fs unix.Statfs_t
		if err := unix.Statfs(path, &fs); err != nil || fs.Type != unix.BPF_FS_MAGIC {
			return fmt.Errorf("pinned program %.200q: %w", path, errors.Join(errPin, err))
		}
		pinned, err := bpf.OpenPinned(path)
		if err != nil {
			return err
		}
		s.keep(pinned)
		if text, err := cleanText(pinned.Text); err == nil {
			if ok, err := text.Grants(s.rules); ok && err == nil {
				continue
			}
		}
		next, err := s.successor(unit, pinned)
		if err != nil {
			return err
		}
		if next == pinned {
			continue
		}
		if err := next.Repin(path); err != nil {
			return err
		}
	}
	return nil
}

// successor returns what took the place of a pinned program: the one it was
// replaced by in this run, itself where it is attached still (a hidden program
// that an earlier run built), or else a copy of it with the prologue.
func (s *swap) successor(unit level, pinned *bpf.Program) (*bpf.Program, error) {
	for _, c := range s.changes {
		if c.old.ID == pinned.ID && c.next != nil {
			return c.next, nil
		}
	}
	attached, err := s.kernel.query(unit.dir)
	if err != nil {
		return nil, err
	}
	for _, id := range attached.IDs {
		if id == pinned.ID {
			return pinned, nil
		}
	}
	text, err := cleanText(pinned.Text)
	if err != nil {
		return nil, err
	}
	return s.prepend(text)
}
