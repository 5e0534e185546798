package filter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Device types and access bits as device programs see them, from struct
// bpf_cgroup_dev_ctx in include/uapi/linux/bpf.h.
const (
	Block = 1
	Char  = 2

	Mknod = 1
	Read  = 2
	Write = 4
)

// ErrBadRule is wrapped by errors about a rule that this package does not
// grant: anything but access r, w, m to one exact character device.
var ErrBadRule = errors.New("not an exact character device rule")

// Rule grants access to one device.
type Rule struct {
	Type         byte   // 'c'; block devices are refused.
	Major, Minor uint32 // Exact numbers; there are no wildcards.
	Access       string // Letters of "rwm", each at most once.
}

// String returns the rule in the form of the devices.allow file.
func (r Rule) String() string {
	return fmt.Sprintf("%c %d:%d %s", r.Type, r.Major, r.Minor, r.Access)
}

// Check returns an error that wraps [ErrBadRule] where the rule is not one that
// can be granted.
func (r Rule) Check() error {
	// MKDEV has 12 bits for the major and 20 for the minor number
	// (include/linux/kdev_t.h), so both fit a signed constant.
	if r.Type != 'c' || r.Major >= 1<<12 || r.Minor >= 1<<20 {
		return fmt.Errorf("rule %q: %w", r.String(), ErrBadRule)
	}
	if _, err := r.mask(); err != nil {
		return fmt.Errorf("rule %q: %w", r.String(), err)
	}
	return nil
}

func (r Rule) mask() (uint16, error) { return ParseAccess(r.Access) }

// ParseAccess returns the access bits of a string such as "rw".
func ParseAccess(s string) (uint16, error) {
	var m uint16
	for _, c := range s {
		var bit uint16
		switch c {
		case 'r':
			bit = Read
		case 'w':
			bit = Write
		case 'm':
			bit = Mknod
		}
		if bit == 0 || m&bit != 0 {
			return 0, fmt.Errorf("access %.200q: %w", s, ErrBadRule)
		}
		m |= bit
	}
	if m == 0 {
		return 0, fmt.Errorf("empty access: %w", ErrBadRule)
	}
	return m, nil
}

func accessText(mask uint16) string {
	var b []byte
	for _, a := range []struct {
		bit  uint16
		char byte
	}{{Read, 'r'}, {Write, 'w'}, {Mknod, 'm'}} {
		if mask&a.bit != 0 {
			b = append(b, a.char)
		}
	}
	return string(b)
}

// Merge returns the rules sorted, one per device, with the access of rules for
// the same device put together.
func Merge(rules ...Rule) ([]Rule, error) {
	out := make([]Rule, 0, len(rules))
	for _, r := range rules {
		if err := r.Check(); err != nil {
			return nil, err
		}
		m, _ := r.mask()
		r.Access = accessText(m)
		out = append(out, r)
	}
	slices.SortFunc(out, compareRules)
	merged := out[:0]
	for _, r := range out {
		if n := len(merged); n > 0 && merged[n-1].Major == r.Major && merged[n-1].Minor == r.Minor {
			a, _ := merged[n-1].mask()
			b, _ := r.mask()
			merged[n-1].Access = accessText(a | b)
			continue
		}
		merged = append(merged, r)
	}
	return merged, nil
}

func compareRules(a, b Rule) int {
	return cmp.Or(cmp.Compare(a.Major, b.Major), cmp.Compare(a.Minor, b.Minor), cmp.Compare(a.Access, b.Access))
}
