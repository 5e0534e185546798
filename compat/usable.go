package compat

import (
	"debug/elf"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rejection is an overlay that cannot be used and why, as the end of a
// sentence that began with the overlay's directory.
type rejection struct {
	overlay Overlay
	why     string
}

// choose returns the newest usable overlay, the image's before the host's of
// the same version, or nil, and the ones rejected, newest first.
func choose(in Input) (*Overlay, []rejection) {
	var best *Overlay
	var rejected []rejection
	for _, overlay := range in.Overlays {
		if why := unusable(in, overlay); why != "" {
			rejected = append(rejected, rejection{overlay, why})
			continue
		}
		if best == nil || overlay.Driver.Compare(best.Driver) > 0 {
			best = &overlay
		}
	}
	slices.SortStableFunc(rejected, func(a, b rejection) int {
		return b.overlay.Driver.Compare(a.overlay.Driver)
	})
	return best, rejected
}

// unusable says why an overlay cannot be used; "" means that it can.
func unusable(in Input, o Overlay) string {
	force := in.Mode == ModeForce
	switch {
	case in.Mode == ModeOff:
		return "compat.mode is off"
	case o.Problem != "":
		return o.Problem
	case in.Machine != elf.EM_NONE && o.Machine != elf.EM_NONE && o.Machine != in.Machine:
		return fmt.Sprintf("it is made for another processor (%s)", strings.TrimPrefix(o.Machine.String(), "EM_"))
	case !in.Driver.Known():
		return "the version of the host's driver is not known"
	}
	if why := tooOld(in.Driver, o); why != "" {
		return why
	}
	if o.Note != nil && !force && !slices.Contains(o.Note.Drivers, in.Driver.Branch()) {
		return notListed(in.Driver, o.Note)
	}
	if kind := rate(o.Driver, o.CUDA, in.Runtime.Version); kind == KindIncompatible {
		return fmt.Sprintf("its own CUDA %s does not run %s either", o.CUDA, in.Runtime.Version)
	}
	if gpu, ok := unsupported(in.GPUs); ok && !force {
		return gpu
	}
	return ""
}

// tooOld is the version rule, which no mode skips: newer than the host's
// driver, and without a note of a newer branch.
func tooOld(host Driver, o Overlay) string {
	switch {
	case o.Driver.Compare(host) < 0:
		return fmt.Sprintf("its %s is older than the host's driver", o.Driver)
	case o.Driver.Compare(host) == 0:
		return "it is the host's own driver version"
	case o.Note == nil && o.Driver.Branch() == host.Branch():
		return fmt.Sprintf("it is of the host's own driver branch %d", host.Branch())
	}
	return ""
}

func notListed(host Driver, note *Note) string {
	if len(note.Drivers) == 0 {
		return "it is made for Jetson boards (its note names no driver branch)"
	}
	names := make([]string, 0, len(note.Drivers))
	for _, branch := range note.Drivers {
		names = append(names, strconv.Itoa(branch))
	}
	const shown = 12
	if len(names) > shown {
		names = append(names[:shown], "...")
	}
	return fmt.Sprintf("it is made for the driver branches %s and the host has %d", strings.Join(names, ", "), host.Branch())
}

// unsupported names a GPU that a newer driver library would refuse to start
// on, with CUDA error 804.
func unsupported(gpus []GPU) (string, bool) {
	for _, gpu := range gpus {
		if gpu.ForwardCompat {
			continue
		}
		model := gpu.Model
		if model == "" {
			model = "of unknown model"
		}
		return fmt.Sprintf("GPU %.200s does not support forward compatibility, a driver library newer than the host's driver (only data-centre and professional RTX GPUs do)", model), true
	}
	return "", false
}

// rate applies the table of host against runtime where there is no overlay.
func rate(driver Driver, supports, need CUDA) Kind {
	switch {
	case supports.Runs(need):
		return KindHost
	case runsMinor(driver, supports, need):
		return KindMinor
	}
	return KindIncompatible
}

// runsMinor is minor-version compatibility: one major version, at least 11,
// and a driver that is not older than the minimum of that major version.
func runsMinor(driver Driver, supports, need CUDA) bool {
	minimum, ok := MinimumDriver(need.Major())
	return ok && supports.Major() == need.Major() && (!driver.Known() || driver.Compare(minimum) >= 0)
}
