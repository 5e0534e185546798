package compat

// Decide chooses the libcuda for a container. It is a pure function; its rules
// are: the host's where it is new enough, else that of the newest usable
// overlay, else the host's by minor-version compatibility, else nothing helps.
func Decide(in Input) Decision {
	decision := Decision{DriverCUDA: in.driverCUDA(), RuntimeCUDA: in.Runtime.Version}
	decision.EffectiveCUDA = decision.DriverCUDA
	switch {
	case !decision.RuntimeCUDA.Known():
		decision.Kind = KindHost
		decision.Reason = reasonNoRuntime(in, decision)
		return decision
	case !decision.DriverCUDA.Known() && !in.Driver.Known():
		decision.Kind = KindHost
		decision.Reason = "the version of the host's driver is not known, so its own driver library is used"
		return decision
	}
	decision.Kind = rate(in.Driver, decision.DriverCUDA, decision.RuntimeCUDA)
	if decision.Kind == KindHost {
		decision.Reason = reasonHost(in, decision)
		decision.Warnings = assumed(in, decision)
		return decision
	}
	overlay, rejected := choose(in)
	switch {
	case overlay != nil:
		decision.Kind = KindForward
		decision.Overlay = overlay
		decision.EffectiveCUDA = overlay.CUDA
		decision.Reason = reasonForward(in, decision)
		decision.Warnings = warnForward(in, *overlay)
	case decision.Kind == KindMinor:
		decision.Reason = reasonMinor(in, decision, rejected)
	default:
		decision.Reason = reasonIncompatible(in, decision, rejected)
	}
	return decision
}

// driverCUDA is the configured version or the branch table's.
func (in Input) driverCUDA() CUDA {
	if in.DriverCUDA.Known() {
		return in.DriverCUDA
	}
	version, _ := in.Driver.CUDA()
	return version
}

// assumed warns where a driver newer than the table is taken to support a CUDA
// version that is not in the table either.
func assumed(in Input, d Decision) []Warning {
	if !d.DriverCUDA.Open() || d.RuntimeCUDA < d.DriverCUDA {
		return nil
	}
	return []Warning{warnf("driver-cuda-assumed",
		"driver %s is newer than this gpu-hook knows and is taken to support CUDA %s; if it does not, set driver.cuda-version in the configuration",
		in.Driver, d.RuntimeCUDA)}
}

func warnForward(in Input, o Overlay) []Warning {
	var warnings []Warning
	for _, name := range o.Missing {
		warnings = append(warnings, warnf("compat-member-missing",
			"%s lacks %s of version %s, which is left out; reinstall the cuda-compat package if programs miss it",
			shown(o.Dir), name, o.Driver))
	}
	if in.Mode != ModeForce {
		return warnings
	}
	check := in
	check.Mode = ModeAuto
	if why := unusable(check, o); why != "" {
		warnings = append(warnings, warnf("compat-forced",
			"%s is used because compat.mode is force, although %s; CUDA may fail with error 803 or 804", shown(o.Dir), why))
	}
	return warnings
}
