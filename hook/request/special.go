package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// migRights reads one of the two variables that ask for rights over MIG
// devices: "all" or nothing, and only for privileged containers.
func (in Input) migRights(name string) (bool, error) {
	value := strings.TrimSpace(in.Env.Get(name))
	switch {
	case value == "":
		return false, nil
	case !in.Privileged:
		return false, &InvalidError{
			Source: name, Value: value, Reason: "only a container with CAP_SYS_ADMIN may have these rights",
			Advice: "add the capability or unset the variable",
		}
	case !strings.EqualFold(value, allWord):
		return false, &InvalidError{
			Source: name, Value: value, Reason: "these rights are given for all devices or none",
			Advice: "write all or unset the variable",
		}
	}
	return true, nil
}

// maxIMEX is the first number that is no IMEX channel: minors have 20 bits.
const maxIMEX = 1 << 20

// imex reads the IMEX channels: those of volume mounts or annotations, else
// NVIDIA_IMEX_CHANNELS. There "all" is nothing: images must not inherit it.
func (in Input) imex(mounts []string) ([]uint32, []Warning, error) {
	if len(mounts) > 0 {
		channels, err := channels("imex mounts", mounts)
		return channels, nil, err
	}
	value := in.Env.Get(imexChannels)
	what, list := choose(words(value))
	switch {
	case what != named:
		return nil, nil, nil
	case !in.envAccepted():
		return nil, []Warning{{
			Code:    "imex-not-accepted",
			Message: fmt.Sprintf("%s=%.200q is not looked at: accept-env is %q", imexChannels, value, in.Config.AcceptEnv),
		}}, nil
	case list[0] == allWord:
		return nil, []Warning{{
			Code:    "imex-all-ignored",
			Message: imexChannels + "=all gives no channel; name the channels",
		}}, nil
	}
	channels, err := channels(imexChannels, list)
	return channels, nil, err
}

// channels turns words into channel numbers, ascending, each once.
func channels(source string, list []string) ([]uint32, error) {
	var out []uint32
	for _, w := range list {
		// ParseUint takes no sign and no prefix in base 10.
		n, err := strconv.ParseUint(w, 10, 32)
		if err != nil || n >= maxIMEX {
			return nil, &InvalidError{
				Source: source, Value: strings.Join(list, ","), Reason: fmt.Sprintf("%.200q is no IMEX channel", w),
				Advice: fmt.Sprintf("write decimal numbers below %d", maxIMEX),
			}
		}
		out = append(out, uint32(n))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
