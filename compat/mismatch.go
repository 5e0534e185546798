package compat

import (
	"fmt"
	"strings"
)

// OnMismatch is the configuration's compat.on-mismatch.
type OnMismatch string

// What to do about [KindIncompatible].
const (
	// MismatchAuto fails where the image's environment declared the need and
	// warns where it was only detected from files; "" means the same.
	MismatchAuto OnMismatch = "auto"
	// MismatchFail always fails.
	MismatchFail OnMismatch = "fail"
	// MismatchWarn never does.
	MismatchWarn OnMismatch = "warn"
)

// IncompatibleError means that CUDA programs of the image cannot run on the
// host's driver (they would report CUDA error 35). It ends with exit code 14.
type IncompatibleError struct {
	// Driver is the host's, and DriverCUDA what it supports.
	Driver     Driver
	DriverCUDA CUDA
	// RuntimeCUDA is what the image needs.
	RuntimeCUDA CUDA
	// Reason is the decision's.
	Reason string
	// Package says what a cuda-compat package could do about it.
	Package PackageHelp
}

// PackageHelp is what a cuda-compat package could do about a mismatch.
type PackageHelp int

const (
	// PackageNone means that one would not help: the GPU cannot use it, or the
	// one that is there is not usable either.
	PackageNone PackageHelp = iota
	// PackageMissing means that one would help.
	PackageMissing
	// PackageOff means that one is there and compat.mode is off.
	PackageOff
)

// Error says what does not fit together and why no overlay helps.
func (e *IncompatibleError) Error() string {
	return fmt.Sprintf("run CUDA %s programs: %s", e.RuntimeCUDA, e.Reason)
}

// Cure says what the user can do.
func (e *IncompatibleError) Cure() string {
	return strings.Join(append(e.ways(), "start the container all the same with NVIDIA_DISABLE_REQUIRE=true in its environment (its CUDA programs then fail with error 35)"), ", or ")
}

// ways are what would make the programs run.
func (e *IncompatibleError) ways() []string {
	ways := []string{"update the host to " + enough(e.RuntimeCUDA)}
	if e.DriverCUDA.Known() {
		ways = append(ways, fmt.Sprintf("take an image for CUDA %s or older", e.DriverCUDA))
	}
	switch e.Package {
	case PackageMissing:
		ways = append(ways, fmt.Sprintf("add the package cuda-compat-%d-%d to the image", e.RuntimeCUDA.Major(), e.RuntimeCUDA.Minor()))
	case PackageOff:
		ways = append(ways, "set compat.mode to auto in the configuration")
	}
	return ways
}

// packageHelp finds out what a cuda-compat package could do for a container
// that is [KindIncompatible]. Without a GPU nobody knows what it could use.
func packageHelp(in Input) PackageHelp {
	if in.Mode == ModeOff {
		in.Mode = ModeAuto
		if best, _ := choose(in); best != nil {
			return PackageOff
		}
		return PackageNone
	}
	if _, unfit := unsupported(in.GPUs); unfit && in.Mode != ModeForce {
		return PackageNone
	}
	for _, o := range in.Overlays {
		if o.Problem == "" && o.CUDA.Runs(in.Runtime.Version) {
			return PackageNone
		}
	}
	return PackageMissing
}

// Mismatch applies the configuration to a decision: an [IncompatibleError], a
// warning that says the same, or nothing unless the decision is
// [KindIncompatible]. Where requirements are disabled it never fails.
func (d Decision) Mismatch(in Input, policy OnMismatch, disabled bool) ([]Warning, error) {
	if d.Kind != KindIncompatible {
		return nil, nil
	}
	err := &IncompatibleError{Driver: in.Driver, DriverCUDA: d.DriverCUDA, RuntimeCUDA: d.RuntimeCUDA, Reason: d.Reason, Package: packageHelp(in)}
	fail := policy == MismatchFail || policy != MismatchWarn && in.Runtime.Declared
	if fail && !disabled {
		return nil, err
	}
	return []Warning{warnf("cuda-incompatible", "CUDA programs will fail with error 35: %s; %s", d.Reason, strings.Join(err.ways(), ", or "))}, nil
}
