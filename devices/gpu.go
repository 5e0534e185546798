package devices

import "slices"

// NoMinor is the minor of a GPU whose minor is not known.
const NoMinor = -1

// maxMinor is the highest minor that the driver gives to a GPU
// (NV_MINOR_DEVICE_NUMBER_REGULAR_MAX in nv-chardev-numbers.h of the open
// kernel modules). Those above belong to control nodes, and a GPU that claims
// one would open them to a container.
const maxMinor = 247

// GPU is one GPU as the kernel driver shows it.
type GPU struct {
	// Index is the position in PCI bus order, from 0. NVML counts the same way
	// but leaves out GPUs that the driver excludes; here they keep a number.
	Index int
	// Minor is the N of /dev/nvidiaN, or [NoMinor].
	Minor int
	// UUID is "GPU-" and 36 characters, or "" while the driver does not know
	// it: it shows question marks until the GPU is first initialised.
	UUID string
	// BusID is the directory name below /proc/driver/nvidia/gpus as given.
	BusID string
	// Model is the product name, such as "NVIDIA A100-SXM4-80GB", or "".
	Model string
	// Class is the product family as far as forward compatibility cares.
	Class Class
	// Brand is the NVML brand in lower case ("tesla", "nvidiartx"), or "".
	Brand string
	// Chip is the chip's name, such as "GA100", or "" for an unknown device.
	Chip string
	// ComputeCapability is "8.0" and the like, or "" where it is not known.
	ComputeCapability string
	// Fault says why the GPU cannot be given away; "" is a healthy one.
	Fault string
}

// ForwardCompat reports whether NVIDIA supports a cuda-compat overlay on this
// GPU. Source: "Forward Compatibility" in the CUDA compatibility guide.
func (g GPU) ForwardCompat() bool { return g.Class.ForwardCompat() }

// Brands returns every brand word that a requirement on this GPU may name: an
// RTX model of GeForce or TITAN counts as its plain family, too. It is empty
// where the brand is unknown.
func (g GPU) Brands() []string {
	switch {
	case g.Brand == "":
		return nil
	case g.Brand == "geforce" && slices.Contains(modelWords(g.Model), "RTX"):
		return []string{"geforce", "geforcertx"}
	case g.Brand == "titan" && slices.Contains(modelWords(g.Model), "RTX"):
		return []string{"titan", "titanrtx"}
	}
	return []string{g.Brand}
}
