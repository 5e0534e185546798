package hook

import (
	"cmp"
	"context"
	"errors"
	"path"

	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/request"
	"github.com/gpu-hook/gpu-hook/hook/state"
	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/driver"
)

// Subject is what [Gather] looks at: one container that asked for GPUs, and the
// host that has them.
type Subject struct {
	Host    Host
	Config  config.Config
	State   state.State
	Bundle  state.Bundle
	Request request.Request
	// LoadModules lets Gather ask the host to load nvidia-uvm; "gpu-hook plan"
	// leaves it false, since it changes nothing.
	LoadModules bool
	// Standing is where this process stands; its zero value is root on the host.
	Standing Standing
	// NameMIG asks for the UUIDs of all MIG devices where `all` is requested.
	NameMIG bool
	// MPSDir is the pipe directory of the host's MPS daemon, "" for its default.
	MPSDir string
	Phases *Phases
}

// Roots are the open directory handles that a plan's paths belong to.
type Roots struct {
	Container *mounts.Root
	Driver    *mounts.Root // the driver root
	Host      *mounts.Root // the host root, for what lies outside the driver root
	HostPath  string       // the host root's path
}

// Close closes what is open.
func (r *Roots) Close() {
	for _, root := range []*mounts.Root{r.Container, r.Driver, r.Host} {
		if root != nil {
			_ = root.Close()
		}
	}
}

// Gather reads every fact that a plan needs and changes nothing in the
// container. Errors are [fault.Error]s; one that matches [devices.ErrNoDriver]
// is for the caller's on-missing-driver policy. The roots are open after an
// error, too: the caller closes them.
//
// The host's half and the image's half know nothing of each other and are read
// at the same time. An error of the host comes first: it is the one that an
// administrator can do something about.
func Gather(ctx context.Context, s Subject) (Facts, *Roots, error) {
	roots := &Roots{HostPath: s.Host.Root}
	f := Facts{
		Host: s.Host, Config: s.Config, Request: s.Request,
		Container: ContainerRef{ID: s.State.ID, PID: s.State.Pid, Bundle: s.Bundle.Dir},
		IDs:       s.Standing.Maps, Standing: s.Standing,
	}
	half := make(chan image, 1)
	go func() { half <- readImage(s) }()
	err := gatherHost(ctx, s, &f, roots)
	s.Phases.Mark("host")
	img := <-half
	roots.Container = img.root
	s.Phases.Mark("image")
	if err = cmp.Or(err, img.err); err != nil {
		return f, roots, err
	}
	f.addImage(img)
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"compat", func() error { return gatherCompat(s, &f, img, roots) }},
		{"nodes", func() error { return gatherNodes(ctx, s, &f, roots) }},
		{"proc", func() error { return gatherProc(&f, roots) }},
		{"places", func() error { return gatherPlaces(&f, roots) }},
	} {
		err := step.do()
		s.Phases.Mark(step.name)
		if err != nil {
			return f, roots, err
		}
	}
	return f, roots, nil
}

// gatherPlaces looks at every name that the plan may use.
func gatherPlaces(f *Facts, roots *Roots) error {
	names := []string{f.Config.Mounts.Dir, FallbackTree}
	optional := map[string]bool{eglProfile: true}
	if f.has("graphics", "display") {
		names = append(names, eglProfile)
	}
	for _, lib := range f.Files.Libraries {
		names = append(names, libraryNames(*f, lib)...)
	}
	if o := f.Decision.Overlay; o != nil && f.Config.Mounts.Layout == config.LayoutDirect && f.Loader.LibDir != "" {
		for _, m := range o.Members {
			names = append(names, path.Join(f.Loader.LibDir, m.SONAME))
		}
	}
	for _, file := range f.Files.Files {
		names = append(names, file.Target)
		optional[file.Target] = file.Optional
	}
	for _, k := range f.Files.Links {
		if name, _ := f.linkNames(k, ""); name != "" {
			names = append(names, name)
		}
	}
	var err error
	if f.Places, err = readPlaces(roots.Container, names, optional); err != nil {
		return pathFault(fault.Mount, "look at the container's directories", err)
	}
	return nil
}

// libraryNames are the names that one library may get outside the tree.
func libraryNames(f Facts, lib driver.Library) []string {
	l := layout{f: f}
	own := l.ownLibDir(lib.Class)
	if own == "" {
		return nil
	}
	var names []string
	if f.Config.Mounts.Layout == config.LayoutDirect {
		names = append(names, path.Join(own, lib.Name))
	} else if !lib.Direct {
		return nil
	}
	if lib.SONAME != "" {
		names = append(names, path.Join(own, lib.SONAME))
	}
	for _, k := range lib.Links {
		names = append(names, path.Join(own, k))
	}
	return names
}

// pathFault gives an error about the rootfs its code: a path that is a loop, of
// the wrong kind, or that changed has a code of its own.
func pathFault(code fault.Code, what string, err error) error {
	if errors.Is(err, mounts.ErrUnsafePath) {
		code = fault.Path
	}
	return fault.New(code, what, err)
}
