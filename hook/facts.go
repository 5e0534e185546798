package hook

import (
	"path"
	"slices"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/request"
	"github.com/gpu-hook/gpu-hook/mounts/driver"
	"github.com/gpu-hook/gpu-hook/mounts/loader"
)

// Facts is everything that a plan is made from. [Gather] fills it from the host
// and the container; a test fills it by hand.
type Facts struct {
	Host      Host
	Config    config.Config
	Container ContainerRef
	IDs       IDMaps   // of the container's user namespace, where it is another than ours
	Standing  Standing // where we stand: the way in
	Request   request.Request
	Inventory devices.Inventory
	Selection devices.Selection
	MIG       []devices.MIGDevice
	Nodes     []devices.Node
	DevLinks  []devices.Link // below /dev
	// ForeignDev says that the container's /dev is a user's volume.
	ForeignDev bool
	Files      driver.Files
	Loader     loader.Facts
	Runtime    compat.Runtime
	Overlays   []compat.Overlay // the image's, used or not
	Decision   compat.Decision
	Outside    map[string]bool // targets whose file lies in the host root, not in the driver root
	Hide       []string        // directories whose libcuda would win and must not
	Places     Places
	Proc       *ProcParams // nil = the container's /proc is left alone
	Warnings   []Warning   // what Gather had to say
	Notes      []string    // what is missing and need not be there
}

// Place is what lies at one of our names in the container before we touch it.
type Place struct {
	Kind   PlaceKind
	Target string // a link's text
	Why    string // what makes an Unusable name unusable
}

// PlaceKind is the kind of thing found at a [Place].
type PlaceKind int

// The kinds that make a difference to what may be done at a name.
const (
	Absent   PlaceKind = iota // nothing, and the directory is the container's own or can be made
	Foreign                   // the directory is on a user's volume: never written to
	ReadOnly                  // nothing can be made there: the file system is read-only
	Link                      // a symbolic link that leads somewhere
	Dangling                  // a symbolic link that leads nowhere, or to a leftover
	Empty                     // a zero-byte regular file, the leftover of another tool
	File                      // a regular file with content
	Dir                       // a directory
	Other                     // a node, a FIFO, a socket
	Unusable                  // a directory above is a loop, a file, or otherwise none
)

// Places holds what lies at each name that a plan may use, by path.
type Places map[string]Place

// Replaceable reports that the name may get our link: it is free, or holds a
// leftover or a link that leads nowhere, or the very link that we would make.
func (p Places) Replaceable(path, target string) bool {
	switch pl := p[path]; pl.Kind {
	case Absent, Dangling, Empty:
		return true
	case Link:
		return pl.Target == target
	default:
		return false
	}
}

// intoOverlay says that a link's text names a library of one of the image's
// cuda-compat sets: in layout "direct" an earlier run of ours left such links.
func (f Facts) intoOverlay(target string) bool {
	return slices.ContainsFunc(f.Overlays, func(o compat.Overlay) bool {
		return path.Dir(target) == o.Dir
	})
}

// hostPath is where a driver file lies on the host.
func (f Facts) hostPath(file driver.File) string {
	if f.Outside[file.Target] {
		return path.Join(f.Host.Root, file.Source)
	}
	return path.Join(f.Host.DriverRoot(), file.Source)
}

// linkNames are name and text of a driver's link in the container. A relative
// path is below the container's own library directory, and leads to a SONAME
// in libDir.
func (f Facts) linkNames(k driver.Link, libDir string) (name, target string) {
	if path.IsAbs(k.Path) {
		return k.Path, k.Target
	}
	if f.Loader.LibDir == "" {
		return "", ""
	}
	return path.Join(f.Loader.LibDir, k.Path), path.Join(libDir, k.Target)
}
