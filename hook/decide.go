package hook

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// gatherCompat decides which libcuda the container gets and checks what the
// image requires. Requirements come first: the CUDA version that they are
// compared with is the one the container will really have.
func gatherCompat(s Subject, f *Facts, img image, roots *Roots) error {
	in, err := compatInput(s, f, img, roots)
	if err != nil {
		return err
	}
	f.Overlays, f.Decision = img.overlays, compat.Decide(in)
	disabled := s.Config.DisableRequire || f.Request.DisableRequire
	warnings, err := compat.CheckRequirements(f.Request.Env, compat.Facts{
		CUDA: f.Decision.EffectiveCUDA, Driver: in.Driver, GPUs: in.GPUs,
	}, disabled)
	f.addCompatWarnings(warnings)
	if err != nil {
		return requirementFault(err)
	}
	if !s.wantsCUDA() {
		// Without libcuda in the container there is nothing to be compatible
		// with; say so where the image looks as if it wanted it.
		if in.Runtime.Declared {
			f.Warnings = append(f.Warnings, Warning{"no-compute", fmt.Sprintf(
				"the image holds CUDA %s but the driver capability compute is not asked for, so there is no libcuda; add compute to NVIDIA_DRIVER_CAPABILITIES",
				in.Runtime.Version)})
		}
		f.Decision = compat.Decision{
			Kind: compat.KindHost, DriverCUDA: f.Decision.DriverCUDA, RuntimeCUDA: f.Decision.RuntimeCUDA,
			EffectiveCUDA: f.Decision.DriverCUDA, Reason: "libcuda is not asked for",
		}
		return nil
	}
	warnings, err = f.Decision.Mismatch(in, compat.OnMismatch(s.Config.Compat.OnMismatch), disabled)
	f.addCompatWarnings(warnings)
	if err != nil {
		return fault.New(fault.Incompatible, "", err)
	}
	search, _ := f.Request.Env.Lookup("LD_LIBRARY_PATH")
	f.Hide, warnings = compat.Hide(search, in, f.Decision)
	f.addCompatWarnings(warnings)
	return nil
}

func (f *Facts) addCompatWarnings(warnings []compat.Warning) {
	for _, w := range warnings {
		f.Warnings = append(f.Warnings, Warning(w))
	}
}

// compatInput collects what the decision depends on.
func compatInput(s Subject, f *Facts, img image, roots *Roots) (compat.Input, error) {
	in := compat.Input{Mode: compat.Mode(s.Config.Compat.Mode), Machine: Machine()}
	var err error
	if v := f.Inventory.DriverVersion; v == "" {
		// WSL2 and Jetson: only the driver itself knows, and its version is not
		// comparable with the branches of the table.
	} else if in.Driver, err = compat.ParseDriver(v); err != nil {
		return in, fault.New(fault.Driver, "read the kernel module's version", err)
	}
	if v := s.Config.Driver.CUDAVersion; v != "" {
		if in.DriverCUDA, err = compat.ParseCUDA(v); err != nil {
			return in, fault.New(fault.Config, "read driver.cuda-version", err)
		}
	}
	for _, g := range f.GPUs() {
		in.GPUs = append(in.GPUs, compat.GPU{
			Model: g.Model, Class: string(g.Class), Brand: g.Brand,
			Capability: g.ComputeCapability, ForwardCompat: g.ForwardCompat(),
		})
	}
	in.Runtime, in.Overlays = img.runtime, img.overlays
	if dir := s.Config.Compat.HostDir; dir != "" && s.wantsCUDA() {
		more, warnings := compat.FindHostOverlays(roots.Host.FS(), dir)
		f.addCompatWarnings(warnings)
		in.Overlays = append(in.Overlays, more...)
	}
	return in, nil
}

// requirementFault gives an unmet requirement and an expression that cannot be
// read their codes: the first is about this host, the second about the image.
func requirementFault(err error) error {
	code := fault.Incompatible
	if bad := (*compat.ExpressionError)(nil); errors.As(err, &bad) {
		code = fault.Request
	}
	return fault.New(code, "", err)
}

// has reports that one of the driver capabilities was asked for.
func (f Facts) has(capabilities ...string) bool {
	return slices.ContainsFunc(capabilities, func(c string) bool {
		return slices.Contains(f.Request.Capabilities, c)
	})
}
