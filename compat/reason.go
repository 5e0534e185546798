package compat

import (
	"fmt"
	"strings"
)

// maxShown is how much of a text from an image is shown, in characters.
const maxShown = 200

// shown returns a path from an image for a message: as it is where it is of
// ordinary characters, else quoted, and cut.
func shown(path string) string {
	for i := range len(path) {
		c := path[i]
		ordinary := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("/._+-@", c) >= 0
		if !ordinary {
			return fmt.Sprintf("%.200q", path)
		}
	}
	if len(path) > maxShown {
		return path[:maxShown] + "..."
	}
	return path
}

// quoted returns a text from an image for a message: quoted, and with a mark
// where it is cut.
func quoted(text string) string {
	short := fmt.Sprintf("%.200q", text)
	if len(text) > maxShown && short != fmt.Sprintf("%q", text) {
		return short + "..."
	}
	return short
}

// Where returns the source as a person would name it: the variable, or the
// path.
func (r Runtime) Where() string {
	if name, ok := strings.CutPrefix(r.Source, sourceEnv); ok {
		return name
	}
	return shown(strings.TrimPrefix(r.Source, sourceFile))
}

// situation is the first half of most reasons.
func situation(in Input, d Decision) string {
	need := d.RuntimeCUDA.String()
	if where := in.Runtime.Where(); where != "" {
		need += " (" + where + ")"
	}
	if !d.DriverCUDA.Known() {
		return fmt.Sprintf("the host's driver %s is older than CUDA 7.0 and the image needs CUDA %s", in.Driver, need)
	}
	return fmt.Sprintf("the host's driver %s supports CUDA %s and the image needs CUDA %s", in.Driver, d.DriverCUDA, need)
}

func reasonNoRuntime(in Input, d Decision) string {
	return fmt.Sprintf("no CUDA version was found in the image, so the host's driver library is used (driver %s, CUDA %s)", in.Driver, d.DriverCUDA)
}

func reasonHost(in Input, d Decision) string {
	return situation(in, d) + "; the host's driver library is new enough and is used"
}

func reasonForward(in Input, d Decision) string {
	o := *d.Overlay
	why := "because it is newer than the host's driver"
	switch {
	case in.Mode == ModeForce:
		why = "because compat.mode is force"
	case o.Note != nil:
		why = fmt.Sprintf("because it is made to work with drivers of branch %d", in.Driver.Branch())
	}
	if in.Mode != ModeForce && len(in.GPUs) > 0 {
		why += " and the GPU supports that"
	}
	return fmt.Sprintf("%s; the newer driver library in %s (%s, CUDA %s) is used %s",
		situation(in, d), place(o), o.Driver, o.CUDA, why)
}

func reasonMinor(in Input, d Decision, rejected []rejection) string {
	major := d.RuntimeCUDA.Major()
	minimum, _ := MinimumDriver(major)
	why := ""
	if len(rejected) > 0 {
		why = reject(rejected)
	}
	return fmt.Sprintf("%s; both are CUDA %d, and drivers from %s on run every CUDA %d program that needs no newer feature, so the host's driver library is used%s",
		situation(in, d), major, minimum, major, why)
}

func reasonIncompatible(in Input, d Decision, rejected []rejection) string {
	return fmt.Sprintf("%s, which needs %s%s", situation(in, d), enough(d.RuntimeCUDA), reject(rejected))
}

// enough names the oldest driver that runs programs of a CUDA version.
func enough(need CUDA) string {
	if minimum, ok := MinimumDriver(need.Major()); ok {
		return fmt.Sprintf("driver %s or newer", minimum)
	}
	return driverFor(need)
}

// reject says why the newest of the overlays found is not used, or that there
// is none.
func reject(rejected []rejection) string {
	if len(rejected) == 0 {
		return "; no cuda-compat package (a newer driver library for the container) was found"
	}
	more := ""
	if n := len(rejected) - 1; n == 1 {
		more = ", nor is one more that was found"
	} else if n > 1 {
		more = fmt.Sprintf(", nor are %d more that were found", n)
	}
	first := rejected[0]
	version := ""
	if first.overlay.Driver.Known() {
		version = " (" + first.overlay.Driver.String() + ")"
	}
	return fmt.Sprintf("; the cuda-compat package in %s%s is not used because %s%s", place(first.overlay), version, first.why, more)
}

func place(o Overlay) string {
	if o.Host {
		return shown(o.Dir) + " of the host"
	}
	return shown(o.Dir)
}
