package compat

import (
	"path"
	"slices"
	"strings"
)

// Hide returns the directories of the image that must be covered because the
// image's LD_LIBRARY_PATH forces a driver library in them that fails here: one
// older than the host's driver (CUDA error 803), or a newer one for a GPU
// without forward compatibility (error 804). It is a pure function.
//
// A directory that is to be used, or that holds it, is never returned, nor is
// any other that would only be unneeded: covering one breaks the package
// manager there. In compat.mode off nothing is covered.
func Hide(ldLibraryPath string, in Input, d Decision) ([]string, []Warning) {
	var dirs []string
	var warnings []Warning
	for unsafePath := range strings.FieldsFuncSeq(ldLibraryPath, func(r rune) bool { return r == ':' || r == ';' }) {
		overlay, ok := forced(unsafePath, in.Overlays)
		if !ok || slices.Contains(dirs, overlay.Dir) || inUse(overlay.Dir, d.Overlay) {
			continue
		}
		why, cover := wrong(in, overlay)
		switch {
		case why == "":
			continue
		case !cover:
			warnings = append(warnings, warnf("compat-forced-by-image",
				"the image's LD_LIBRARY_PATH forces the driver library %s in %s, although %s; CUDA may fail with error 803: take the directory out of LD_LIBRARY_PATH",
				overlay.Driver, shown(overlay.Dir), why))
			continue
		}
		dirs = append(dirs, overlay.Dir)
		warnings = append(warnings, warnf("compat-hidden",
			"%s is covered, because the image's LD_LIBRARY_PATH forces the driver library %s in it and %s; take the directory out of LD_LIBRARY_PATH to have it back",
			shown(overlay.Dir), overlay.Driver, why))
	}
	return dirs, warnings
}

// forced returns the set that programs find in a directory of LD_LIBRARY_PATH.
func forced(unsafePath string, overlays []Overlay) (Overlay, bool) {
	clean := path.Clean(unsafePath)
	for _, overlay := range overlays {
		if !overlay.Host && overlay.Linked && slices.Contains(overlay.Names, clean) {
			return overlay, true
		}
	}
	return Overlay{}, false
}

// inUse says that the links of the decision point into dir.
func inUse(dir string, used *Overlay) bool {
	return used != nil && !used.Host && (used.Dir == dir || strings.HasPrefix(used.Dir, strings.TrimSuffix(dir, "/")+"/"))
}

// wrong says why a forced library fails here, and whether that is certain
// enough to cover it.
func wrong(in Input, o Overlay) (why string, cover bool) {
	if !in.Driver.Known() || !o.Driver.Known() {
		return "", false
	}
	order := o.Driver.Compare(in.Driver)
	gpu, unfit := unsupported(in.GPUs)
	switch {
	case order == 0:
		return "", false
	case order < 0:
		why, cover = tooOld(in.Driver, o), true
	case unfit && in.Mode != ModeForce:
		why, cover = gpu, true
	case o.Note != nil && in.Mode != ModeForce && !slices.Contains(o.Note.Drivers, in.Driver.Branch()):
		why = notListed(in.Driver, o.Note)
	}
	return why, cover && in.Mode != ModeOff && coverable(o.Dir)
}

// coverable says that a directory holds nothing but a cuda-compat package.
func coverable(dir string) bool {
	if base := path.Base(dir); base == "lib.real" || base == "lib" {
		dir = path.Dir(dir)
	}
	return strings.HasPrefix(path.Base(dir), "compat")
}
