package hook

import (
	"slices"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/mounts/driver"
)

// addFeatureFiles adds what GPUDirect Storage reads beside its nodes. Without a
// node its library does not work, and the files are of no use.
func (f *Facts) addFeatureFiles(roots *Roots) {
	if !slices.ContainsFunc(f.Nodes, func(n devices.Node) bool { return n.Gate == string(devices.GDS) }) {
		return
	}
	found := driver.FindGDS(roots.Driver, roots.Host)
	for _, file := range found.Files {
		f.Outside[file.Target] = file.Root == roots.Host && f.Host.DriverRoot() != f.Host.Root
	}
	f.Files.Files = append(f.Files.Files, found.Files...)
	f.Notes = append(f.Notes, found.Notes...)
	for _, w := range found.Warnings {
		f.Warnings = append(f.Warnings, Warning(w))
	}
}
