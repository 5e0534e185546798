package hook

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/driver"
	"github.com/gpu-hook/gpu-hook/mounts/loader"
)

// image is what the container's file system says, as its own process sees it
// where there is one: only there are its volumes and its /dev mounted.
type image struct {
	rootfs   string
	root     *mounts.Root
	loader   loader.Facts
	runtime  compat.Runtime
	overlays []compat.Overlay
	warnings []compat.Warning
	err      error
}

var errNotDirectory = errors.New("it is no directory")

// readImage reads the image's half of the facts.
func readImage(s Subject) image {
	var i image
	i.err = i.read(s)
	return i
}

func (i *image) read(s Subject) error {
	var err error
	if i.rootfs, err = s.Bundle.Rootfs(); err != nil {
		return fault.New(fault.State, "find the rootfs", err)
	}
	if s.State.Pid > 0 && !s.Standing.Inside() {
		i.root, err = mounts.OpenRootIn(s.State.Pid, i.rootfs, mounts.Calls{})
	} else {
		i.root, err = mounts.OpenRoot(i.rootfs, mounts.Calls{})
	}
	if err != nil {
		return fault.New(fault.State, fmt.Sprintf("open rootfs %.200q", i.rootfs), err)
	}
	if err := s.Standing.checkRoot(i.root, i.rootfs); err != nil {
		return err
	}
	i.root.SetLabel(s.Bundle.Spec.Linux.MountLabel)
	if i.loader, err = loader.Inspect(i.root, Machine()); err != nil {
		return pathFault(fault.Mount, "look at the container's loader", err)
	}
	if i.loader.Etc == loader.EtcNotDirectory {
		return notDirectory("/etc")
	}
	for _, dir := range systemDirs {
		if err := checkDir(i.root, dir); err != nil {
			return err
		}
	}
	var dirs []string
	if i.loader.LibDir != "" {
		dirs = append(dirs, i.loader.LibDir)
	}
	files := i.root.FS()
	i.runtime, i.warnings = compat.DetectRuntime(files, s.Request.Env.Lookup, dirs)
	if s.wantsCUDA() {
		var warnings []compat.Warning
		i.overlays, warnings = compat.FindOverlays(files)
		i.warnings = append(i.warnings, warnings...)
	}
	return nil
}

// systemDirs are those without which nothing can be given to an image that has
// them as something else. One that is missing is no fault: an image of one
// static program has none.
var systemDirs = [...]string{"/usr", "/usr/lib", "/usr/bin"}

func checkDir(r *mounts.Root, dir string) error {
	_, err := r.Dir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := r.Readlink(dir); err != nil {
			return nil //nolint:nilerr // no link either: it is missing
		}
		return notDirectory(dir)
	}
	if errors.Is(err, mounts.ErrUnsafePath) {
		return notDirectory(dir)
	}
	if err != nil {
		return pathFault(fault.Mount, "look at the container's "+dir, err)
	}
	return nil
}

func notDirectory(dir string) error {
	return &fault.Error{
		Code: fault.Path, What: "look at the container's " + dir, Err: errNotDirectory,
		Cure: "repair the image: " + dir + " must be a directory, or a link to one inside it",
	}
}

// addImage joins the image's half to the host's: what the container cannot use
// of the driver's files is left out.
func (f *Facts) addImage(i image) {
	f.Container.Rootfs = i.rootfs
	f.Loader = i.loader
	f.Runtime = i.runtime
	f.addCompatWarnings(i.warnings)
	foreign := i.loader.Machine != Machine()
	if foreign {
		f.Warnings = append(f.Warnings, Warning{"foreign-architecture", fmt.Sprintf(
			"the image is built for %s and the host's driver for %s; the container gets its devices and no driver files",
			i.loader.Machine, Machine())})
		f.Files = driver.Files{}
	}
	no32 := i.loader.LibDir32 == ""
	if no32 {
		f.Files.Libraries = slices.DeleteFunc(f.Files.Libraries, func(l driver.Library) bool { return l.Class == elf.ELFCLASS32 })
	}
	for _, w := range f.Files.Warnings {
		if !no32 || w.Code != "no-compat32" {
			f.Warnings = append(f.Warnings, Warning(w))
		}
	}
}

// wantsCUDA reports that the container gets libcuda: video brings it along.
func (s Subject) wantsCUDA() bool {
	return slices.Contains(s.Request.Capabilities, "compute") || slices.Contains(s.Request.Capabilities, "video")
}
