package devices

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoHealthyGPU says that all GPUs were asked for and none of them works.
var ErrNoHealthyGPU = errors.New("no working GPU")

// UnknownDeviceError says that a name matches no GPU of the host. Name is the
// text as given: schedulers put sentences there ("no-gpu-has-10MiB-to-run")
// that tell the user more than we could.
type UnknownDeviceError struct {
	Name string
	Why  string // Why is a reason such as an ambiguous prefix, or "".
	Have []GPU  // Have is what exists.
}

func (e *UnknownDeviceError) Error() string {
	why := "no such GPU"
	if e.Why != "" {
		why = e.Why
	}
	return fmt.Sprintf("find device %.200q: %s (have: %s)", e.Name, why, listGPUs(e.Have))
}

// Cure tells what to ask for instead.
func (e *UnknownDeviceError) Cure() string {
	if len(e.Have) == 0 {
		return "see what the driver finds with: nvidia-smi -L"
	}
	return "name a GPU by its index, UUID or PCI bus id"
}

// NotAllowedError says that a GPU exists but the allow list leaves it out.
type NotAllowedError struct {
	Name string
	GPU  *GPU // GPU is the one meant, nil if Name is "all".
}

func (e *NotAllowedError) Error() string {
	if e.GPU == nil {
		return fmt.Sprintf("use device %.200q: allow-devices leaves out every GPU", e.Name)
	}
	return fmt.Sprintf("use device %.200q: allow-devices leaves out GPU %s", e.Name, describe(*e.GPU))
}

// Cure names the setting.
func (e *NotAllowedError) Cure() string {
	return "add it to allow-devices in the configuration"
}

// BrokenDeviceError says that a GPU asked for by name has a fault.
type BrokenDeviceError struct {
	Name string
	GPU  GPU
}

func (e *BrokenDeviceError) Error() string {
	return fmt.Sprintf("use device %.200q: GPU %s: %s", e.Name, describe(e.GPU), e.GPU.Fault)
}

// Cure says where the driver tells more.
func (e *BrokenDeviceError) Cure() string {
	return "look for NVRM lines with: dmesg; or ask for another GPU"
}

// maxListed bounds the GPUs that one message lists: 16 is two full machines of
// eight, at some 100 bytes each.
const maxListed = 16

func listGPUs(gpus []GPU) string {
	if len(gpus) == 0 {
		return "none"
	}
	var parts []string
	for i, gpu := range gpus {
		if i == maxListed {
			parts = append(parts, fmt.Sprintf("and %d more", len(gpus)-i))
			break
		}
		parts = append(parts, describe(gpu))
	}
	return strings.Join(parts, "; ")
}

// describe gives a GPU in words: index, UUID, bus id and model, as far as known.
func describe(gpu GPU) string {
	text := fmt.Sprint(gpu.Index)
	for _, word := range []string{gpu.UUID, gpu.BusID, gpu.Model} {
		if word != "" {
			text += " " + word
		}
	}
	return text
}
