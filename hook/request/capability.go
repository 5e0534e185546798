package request

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

// capabilities reads NVIDIA_DRIVER_CAPABILITIES: sorted, each once. Names are
// lower case. Not set is the default (compute and utility), for a legacy image
// everything; empty is the default for any image; "all" is all that the configuration supports. A
// name that is unknown or not supported is an error, never a partial grant.
func (in Input) capabilities(legacy bool) ([]string, error) {
	supported := in.Config.SupportedDriverCapabilities
	if slices.Contains(supported, allWord) {
		supported = config.Capabilities()
	}
	value, set := in.Env.Lookup(driverCapabilities)
	list := words(value)
	switch {
	case !set && legacy, slices.Contains(list, allWord):
		return sorted(supported), nil
	case len(list) == 0:
		return slices.DeleteFunc([]string{"compute", "utility"}, func(name string) bool { return !slices.Contains(supported, name) }), nil
	}
	for _, name := range list {
		if slices.Contains(supported, name) {
			continue
		}
		invalid := &InvalidError{Source: driverCapabilities, Value: value}
		if slices.Contains(config.Capabilities(), name) {
			invalid.Reason = fmt.Sprintf("%q is switched off on this host", name)
			invalid.Advice = "add it to supported-driver-capabilities, or leave it out (supported here: " + join(supported) + ")"
		} else {
			invalid.Reason = fmt.Sprintf("%.200q is no driver capability", name)
			invalid.Advice = "use some of " + join(supported) + ", or all"
		}
		return nil, invalid
	}
	return sorted(list), nil
}

func sorted(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

func join(list []string) string { return strings.Join(sorted(list), ", ") }
