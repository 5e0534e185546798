package devices

import (
	"errors"
	"fmt"
	"strings"
)

// Selection is what a list of names means on this host.
type Selection struct {
	// GPUs are those asked for as a whole, in index order, each once.
	GPUs []GPU
	// MIG are the MIG devices asked for, in the order given, each once.
	MIG []MIGName
	// All says that `all` was asked for, which includes every MIG device.
	All bool
	// Warnings name the faulty GPUs that `all` left out.
	Warnings []Warning
}

// Select finds the GPUs that names mean. Names are read from left to right and
// the first `all` or `none` (in any case) decides alone; empty names are passed
// over. The allow list holds "all", indexes, UUIDs, bus ids, and shell patterns
// on the model; `all` means all that it allows, and an empty list allows none.
//
// Errors are [*UnknownDeviceError], [*NotAllowedError], [*BrokenDeviceError],
// and [ErrNoHealthyGPU] where `all` finds nothing that works.
func (inv Inventory) Select(names, allow []string) (Selection, error) {
	list := allowed{inv, allow}
	var tokens []string
	for _, name := range names {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case strings.EqualFold(name, "all"):
			return inv.selectAll(list)
		case strings.EqualFold(name, "none"):
			return Selection{}, nil
		default:
			tokens = append(tokens, name)
		}
	}
	return inv.selectNamed(tokens, list)
}

func (inv Inventory) selectAll(list allowed) (Selection, error) {
	sel := Selection{All: true}
	barred := 0
	for _, gpu := range inv.GPUs {
		switch {
		case !list.gpu(gpu):
			if gpu.Fault == "" {
				barred++
			}
		case gpu.Fault != "":
			sel.Warnings = append(sel.Warnings, Warning{
				"gpu-faulty",
				fmt.Sprintf("GPU %s is left out: %s", describe(gpu), gpu.Fault),
			})
		default:
			sel.GPUs = append(sel.GPUs, gpu)
		}
	}
	switch {
	case len(sel.GPUs) > 0:
		return sel, nil
	case barred > 0 && len(sel.Warnings) == 0:
		return Selection{}, &NotAllowedError{Name: "all"}
	}
	return Selection{}, inv.noHealthy(sel.Warnings)
}

// noHealthy puts the reasons into the error, since there is no selection to
// carry them as warnings.
func (inv Inventory) noHealthy(warnings []Warning) error {
	if len(warnings) == 0 {
		return fmt.Errorf("use all GPUs: %w (the driver shows none)", ErrNoHealthyGPU)
	}
	more := ""
	if len(warnings) > 1 {
		more = fmt.Sprintf("; and %d more", len(warnings)-1)
	}
	return fmt.Errorf("use all GPUs: %w (%s%s)", ErrNoHealthyGPU, warnings[0].Message, more)
}

func (inv Inventory) selectNamed(tokens []string, list allowed) (Selection, error) {
	var sel Selection
	chosen := make([]bool, len(inv.GPUs))
	for _, token := range tokens {
		mig, parent, isMIG := parseMIGName(token)
		if isMIG && parent == "" {
			sel.addMIG(mig)
			continue
		}
		name := token
		if isMIG {
			name = parent
		}
		gpu, err := inv.lookup(name)
		if err == nil {
			err = usable(gpu, token, list)
		} else if unknown := (*UnknownDeviceError)(nil); errors.As(err, &unknown) {
			unknown.Name = token
		}
		if err != nil {
			return Selection{}, err
		}
		if isMIG {
			mig.Parent = gpu.Index
			sel.addMIG(mig)
			continue
		}
		chosen[gpu.Index] = true
	}
	for i, gpu := range inv.GPUs {
		if chosen[i] {
			sel.GPUs = append(sel.GPUs, gpu)
		}
	}
	return sel, nil
}

// usable reports why a GPU that was found cannot be given away.
func usable(gpu GPU, token string, list allowed) error {
	if !list.gpu(gpu) {
		return &NotAllowedError{Name: token, GPU: &gpu}
	}
	if gpu.Fault != "" {
		return &BrokenDeviceError{Name: token, GPU: gpu}
	}
	return nil
}

func (sel *Selection) addMIG(name MIGName) {
	for _, have := range sel.MIG {
		have.Text = name.Text
		if have == name {
			return
		}
	}
	sel.MIG = append(sel.MIG, name)
}
