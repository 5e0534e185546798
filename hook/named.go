package hook

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/hooklist"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

// errNamedBefore is why all entries but the first have nothing to do.
var errNamedBefore = errors.New("an earlier entry of this hook has injected all devices that are named")

// gatherNamed makes one request of all devices that entries of ours name with
// --device. A CDI specification has one entry for each device, and a container
// with two devices gets both: the first one injects them together, since files
// and the choice of libcuda depend on all of a container's GPUs, and the others
// do nothing. The list of hooks is the engine's; no image can write to it.
func (c *call) gatherNamed() error {
	own := c.options.Named
	if len(own) == 0 {
		return nil
	}
	config, err := state.ReadConfig(filepath.Join(c.bundle.Dir, state.ConfigName))
	if err != nil {
		return fault.New(fault.State, "read the bundle", err)
	}
	entries, err := hooklist.Read(config)
	if err != nil {
		return fault.New(fault.State, "read the bundle", err)
	}
	var all []string
	for _, e := range entries {
		named := e.Named()
		if len(named) > 0 && len(all) == 0 && !slices.Equal(named, own) && slices.ContainsFunc(entries, isEntry(own)) {
			c.notRequested = errNamedBefore
			return nil
		}
		all = append(all, named...)
	}
	if len(all) > 0 {
		c.options.Named = append(slices.Clone(own), all...) // the request drops repetitions
	}
	return nil
}

func isEntry(named []string) func(hooklist.Entry) bool {
	return func(e hooklist.Entry) bool { return slices.Equal(e.Named(), named) }
}
