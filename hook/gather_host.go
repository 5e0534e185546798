package hook

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/request"
	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/driver"
)

// gatherHost reads the host's half: its GPUs and its driver's files. The files
// depend on nothing but the version of the kernel module, so that both are
// looked for at the same time.
func gatherHost(ctx context.Context, s Subject, f *Facts, roots *Roots) error {
	early := make(chan search, 1)
	version, noVersion := devices.ReadVersion(s.Host.Devices())
	if noVersion == nil {
		go func() { early <- findDriver(s, version, devices.Native, roots) }()
	}
	err := gatherGPUs(ctx, s, f)
	s.Phases.Mark("inventory")
	var got search
	if noVersion == nil {
		got = <-early // also after an error: it opens roots
	}
	if err != nil {
		return err
	}
	if noVersion != nil || f.Inventory.Kind != devices.Native {
		got = findDriver(s, f.Inventory.DriverVersion, f.Inventory.Kind, roots)
	}
	f.Files, f.Outside = got.files, got.outside
	return got.err
}

// search is what looking for the driver's files came to.
type search struct {
	files   driver.Files
	outside map[string]bool
	err     error
}

// gatherGPUs reads the host's driver and chooses the GPUs asked for.
func gatherGPUs(ctx context.Context, s Subject, f *Facts) error {
	inv, err := inventory(s.Host)
	if err != nil {
		return noDriver(err)
	}
	f.Inventory = inv
	f.addDeviceWarnings(inv.Warnings)
	names := s.Request.Devices
	if s.Request.None {
		names = nil
	}
	f.Selection, err = inv.Select(names, s.Config.AllowDevices)
	f.addDeviceWarnings(f.Selection.Warnings)
	if errors.Is(err, devices.ErrNoHealthyGPU) {
		return fault.New(fault.Driver, "choose GPUs", err)
	}
	if err != nil {
		return fault.New(fault.Request, "choose GPUs", err)
	}
	return gatherMIG(ctx, s, f)
}

// noDriver is the error of a host without a driver.
func noDriver(err error) error {
	return &fault.Error{
		Code: fault.Driver, What: "find the NVIDIA driver", Err: err,
		Cure: "load it with: modprobe nvidia, or install it on the host",
	}
}

// inventory is the host's, whatever kind of host it is.
func inventory(h Host) (devices.Inventory, error) {
	inv, err := devices.ReadInventory(h.Devices())
	if err == nil && len(inv.GPUs) > 0 {
		return inv, nil
	}
	if other, ok := devices.ReadJetson(h.Devices()); ok {
		return other, nil
	}
	if err == nil {
		return inv, nil
	}
	if other, ok := devices.ReadWSL(h.Devices()); ok {
		return other, nil
	}
	return inv, err
}

// openHost opens the host's roots, once.
func (r *Roots) openHost(h Host) (err error) {
	if r.Driver != nil {
		return nil
	}
	if r.Host, err = mounts.OpenRoot(h.Root, mounts.Calls{}); err != nil {
		return fault.New(fault.Driver, "open host root", err)
	}
	if r.Driver, err = mounts.OpenRoot(h.DriverRoot(), mounts.Calls{}); err != nil {
		return &fault.Error{
			Code: fault.Driver, What: fmt.Sprintf("open driver root %.200q", h.DriverRoot()), Err: err,
			Cure: "set driver.root to where the driver is installed",
		}
	}
	return nil
}

// findDriver finds the driver's files on the host.
func findDriver(s Subject, version string, kind devices.Kind, roots *Roots) (found search) {
	if found.err = roots.openHost(s.Host); found.err != nil {
		return found
	}
	var elsewhere *mounts.Root
	if s.Host.DriverRoot() != s.Host.Root {
		elsewhere = roots.Host
	}
	query := driver.Query{
		RootPath:     s.Config.Driver.Root,
		Version:      version,
		Capabilities: s.Request.Capabilities,
		Machine:      Machine(),
		LibraryDirs:  s.Config.Driver.LibraryDirs,
		Include:      s.Config.Mounts.Include,
		Exclude:      s.Config.Mounts.Exclude,
		Compat32:     true, // whether the container can use them turns out in addImage

		KernelRelease: kernelRelease(),
		MPSDir:        s.MPSDir,
		Elsewhere:     elsewhere,
	}
	var err error
	switch kind {
	case devices.WSL:
		found.files, err = driver.FindWSL(roots.Driver, query)
	case devices.Jetson:
		found.files, err = driver.FindTegra(roots.Driver, query, allLists(s.Request))
	default:
		found.files, err = driver.Find(roots.Driver, query)
	}
	if mismatch := (*driver.MismatchError)(nil); errors.As(err, &mismatch) {
		found.err = fault.New(fault.Mismatch, "match the driver's files with the kernel module", err)
	} else if err != nil {
		found.err = fault.New(fault.Driver, "find the driver's files", err)
	}
	roots.Driver.Forget() // some 25 descriptors that nothing needs from here on
	found.outside = map[string]bool{}
	for _, file := range found.files.Files {
		if elsewhere != nil && file.Root == elsewhere {
			found.outside[file.Target] = true
		}
	}
	return found
}

// allLists reports that a Jetson container asks for every file list of the
// host, not only for the base ones (NVIDIA_REQUIRE_JETPACK=csv-mounts=all).
func allLists(r request.Request) bool {
	value, _ := r.Env.Lookup("NVIDIA_REQUIRE_JETPACK")
	return value == "csv-mounts=all"
}
