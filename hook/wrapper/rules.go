package wrapper

import (
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook"
)

// granted reports that a list of linux.resources.devices lets a rule's access
// through already: for each letter the last entry that matches decides, and
// what no entry matches is denied.
func granted(list []specs.LinuxDeviceCgroup, r hook.DeviceRule) bool {
	for _, letter := range r.Access {
		allowed := false
		for _, have := range list {
			if matches(have, r) && (have.Access == "" || strings.ContainsRune(have.Access, letter)) {
				allowed = have.Allow
			}
		}
		if !allowed {
			return false
		}
	}
	return true
}

// matches compares type and numbers. No type and "a" are all types; no number
// and -1 are all numbers (runtime specification, "Allowed Device list").
func matches(have specs.LinuxDeviceCgroup, r hook.DeviceRule) bool {
	if have.Type != "" && have.Type != "a" && have.Type != r.Type {
		return false
	}
	return number(have.Major, r.Major) && number(have.Minor, r.Minor)
}

func number(have *int64, want uint32) bool {
	return have == nil || *have == -1 || *have == int64(want)
}

func ociRule(r hook.DeviceRule) specs.LinuxDeviceCgroup {
	major, minor := int64(r.Major), int64(r.Minor)
	return specs.LinuxDeviceCgroup{Allow: true, Type: r.Type, Major: &major, Minor: &minor, Access: r.Access}
}
