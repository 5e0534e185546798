package filter

import (
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Entry is one line of a device list: later lines win over earlier ones, bit
// by bit of the access.
type Entry struct {
	Allow        bool
	Type         uint16 // Block, Char, or 0 for both.
	Major, Minor int64  // A negative number stands for all.
	Bits         uint16
}

// defaults are what both runc (libcontainer/specconv, AllowedDevices) and crun
// (libcrun/cgroup-resources.c, default_devices) allow every container after
// the list of its configuration. What only one of them allows (/dev/console
// 5:1, /dev/net/tun 10:200) is left out: a rebuilt filter may be narrower than
// the lost one, never wider.
var defaults = [...]Entry{
	{true, Char, -1, -1, Mknod},
	{true, Block, -1, -1, Mknod},
	{true, Char, 1, 3, Mknod | Read | Write},
	{true, Char, 1, 5, Mknod | Read | Write},
	{true, Char, 1, 7, Mknod | Read | Write},
	{true, Char, 1, 8, Mknod | Read | Write},
	{true, Char, 1, 9, Mknod | Read | Write},
	{true, Char, 5, 0, Mknod | Read | Write},
	{true, Char, 5, 2, Mknod | Read | Write},
	{true, Char, 136, -1, Mknod | Read | Write},
}

// FromSpec returns the entries of a configuration's linux.resources.devices
// followed by the runtimes' defaults.
func FromSpec(list []specs.LinuxDeviceCgroup) ([]Entry, error) {
	entries := make([]Entry, 0, len(list)+len(defaults))
	for n, d := range list {
		e := Entry{Allow: d.Allow, Major: -1, Minor: -1}
		switch d.Type {
		case "", "a":
		case "c", "u":
			e.Type = Char
		case "b":
			e.Type = Block
		default:
			return nil, fmt.Errorf("read linux.resources.devices[%d]: type %.200q: %w", n, d.Type, ErrBadRule)
		}
		if d.Major != nil {
			e.Major = *d.Major
		}
		if d.Minor != nil {
			e.Minor = *d.Minor
		}
		if e.Major >= 1<<12 || e.Minor >= 1<<20 {
			return nil, fmt.Errorf("read linux.resources.devices[%d]: %d:%d: %w", n, e.Major, e.Minor, ErrBadRule)
		}
		e.Bits = Mknod | Read | Write
		if d.Access != "" {
			bits, err := ParseAccess(d.Access)
			if err != nil {
				return nil, fmt.Errorf("read linux.resources.devices[%d]: %w", n, err)
			}
			e.Bits = bits
		}
		entries = append(entries, e)
	}
	return append(entries, defaults[:]...), nil
}

// Build returns a filter for the entries that denies whatever none allows. It
// goes through them from the last to the first and takes the bits that each
// one decides off the request: the first denial ends it, and so does the last
// bit allowed.
func Build(entries []Entry) (Program, error) {
	p := Program(header[:len(header):len(header)])
	for n := len(entries) - 1; n >= 0; n-- {
		e := entries[n]
		var skips []int
		skip := func(i Insn) {
			skips = append(skips, len(p))
			p = append(p, i)
		}
		if e.Type != 0 {
			skip(jumpImm(opJNE, 2, int32(e.Type), 0))
		}
		if e.Major >= 0 {
			skip(jumpImm(opJNE, 4, int32(e.Major), 0))
		}
		if e.Minor >= 0 {
			skip(jumpImm(opJNE, 5, int32(e.Minor), 0))
		}
		if e.Allow {
			p = append(p, aluImm(opAnd, 3, int32(^uint32(e.Bits))))
			skip(jumpImm(opJNE, 3, 0, 0))
			p = append(p, movImm(0, 1), exit())
		} else {
			p = append(p, movReg(0, 3), aluImm(opAnd, 0, int32(e.Bits)))
			skip(jumpImm(opJEQ, 0, 0, 0))
			p = append(p, movImm(0, 0), exit())
		}
		for _, s := range skips {
			p[s].Off = int16(len(p) - s - 1)
		}
	}
	p = append(p, movImm(0, 0), exit())
	if len(p) > maxInsns {
		return nil, fmt.Errorf("build filter of %d entries: %w", len(entries), ErrTooLong)
	}
	return p, nil
}
