package compat

import "debug/elf"

// Mode is the configuration's compat.mode.
type Mode string

// The modes.
const (
	// ModeAuto uses an overlay where the rules allow it; "" means the same.
	ModeAuto Mode = "auto"
	// ModeOff never uses one.
	ModeOff Mode = "off"
	// ModeForce skips the GPU class and the list of branches in the note,
	// never the rules on versions.
	ModeForce Mode = "force"
)

// Kind is what was decided.
type Kind string

// The decisions.
const (
	// KindHost uses the host's libcuda, which supports the image's CUDA or
	// newer, or nothing is known about the image.
	KindHost Kind = "host"
	// KindForward uses an overlay's libcuda on the host's older kernel driver.
	KindForward Kind = "forward"
	// KindMinor uses the host's libcuda, which is older than the image's CUDA
	// but of the same major version.
	KindMinor Kind = "minor"
	// KindIncompatible means that the image's programs will fail with CUDA
	// error 35, whatever is done.
	KindIncompatible Kind = "incompatible"
)

// GPU is what the decision needs to know of a GPU given to the container.
type GPU struct {
	// Model is the product name, such as "NVIDIA A100-SXM4-80GB".
	Model string
	// Class is "datacenter", "workstation", "geforce", "tegra" or "unknown".
	Class string
	// Brand is a word of requirement expressions, such as "tesla"; "" if it
	// is not known.
	Brand string
	// Capability is the compute capability, such as "8.0"; "" if not known.
	Capability string
	// ForwardCompat says that the model supports forward compatibility.
	ForwardCompat bool
}

// Input is all that the decision depends on.
type Input struct {
	// Driver is the version of the host's kernel driver.
	Driver Driver
	// DriverCUDA overrides the branch table if it is not 0.
	DriverCUDA CUDA
	// Runtime is what the image needs.
	Runtime Runtime
	// Overlays are the sets found, the image's before the host's.
	Overlays []Overlay
	// GPUs are those that the container gets.
	GPUs []GPU
	// Mode is the configuration's.
	Mode Mode
	// Machine is the container's architecture; 0 (EM_NONE) accepts any.
	Machine elf.Machine
}

// Decision is what was decided and why.
type Decision struct {
	Kind Kind
	// DriverCUDA is what the host's libcuda supports, RuntimeCUDA what the
	// image needs (0 if unknown), EffectiveCUDA what the container will have.
	DriverCUDA, RuntimeCUDA, EffectiveCUDA CUDA
	// Overlay is the set to use; nil unless Kind is KindForward.
	Overlay *Overlay
	// Reason is one sentence for people.
	Reason   string
	Warnings []Warning
}
