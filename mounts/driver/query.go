package driver

import (
	"debug/elf"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// Query says which driver files are wanted.
type Query struct {
	// Version is the kernel module's, as /proc/driver/nvidia/version spells it ("535.309.01").
	Version string
	// Capabilities are the words of NVIDIA_DRIVER_CAPABILITIES; video brings compute's libraries along, display those of graphics.
	Capabilities []string
	// Machine is the container's; a library of another one is never chosen.
	Machine elf.Machine
	// LibraryDirs are searched before everything else.
	LibraryDirs []string
	// Include and Exclude are shell patterns (see [path.Match]). A pattern without a slash is held against base names, one
	// with a slash against whole paths. Exclude wins.
	Include, Exclude []string
	// Compat32 asks for the 32-bit libraries, too. Set it only where the container has a 32-bit loader.
	Compat32 bool

	// KernelRelease is that of uname -r, a part of two firmware search paths; empty leaves those two out.
	KernelRelease string
	// MPSDir is the pipe directory of the host's MPS daemon; empty means /tmp/nvidia-mps, the daemon's default.
	MPSDir string
	// RootPath is the driver root as the configuration spells it, for messages.
	RootPath string
	// Elsewhere, where not nil, is the host's own root beside a driver root: sockets are looked for there as well, and a driver
	// that is there and not in the driver root is named in the error's cure.
	Elsewhere *mounts.Root
}

// Library is one shared object of the driver.
type Library struct {
	Path       string    // the real file inside the driver root
	Name       string    // its base name
	SONAME     string    // the name the loader knows it by; the base name where the file has none
	Links      []string  // further names for it, such as libcuda.so
	Class      elf.Class // 32 or 64 bit
	Capability string    // the capability it was chosen for
	Listed     bool      // a row of the table names it
	Direct     bool      // programs open it themselves: its SONAME deserves a link beside the container's libc
}

// Kind sorts the files that are not libraries.
type Kind string

// The kinds of [File].
const (
	Binary    Kind = "binary"    // goes to /usr/bin
	Data      Kind = "data"      // configuration or data at a fixed place
	Firmware  Kind = "firmware"  // GSP firmware
	Socket    Kind = "socket"    // of a host daemon; never read-only
	Directory Kind = "directory" // a whole directory: the MPS pipes, or a dir line of a Tegra list
	Device    Kind = "device"    // a dev line of a Tegra list
)

// File is anything that is not a library: it appears in the container at Target.
type File struct {
	Source, Target string
	Capability     string
	Kind           Kind
	Optional       bool         // a place in the container that cannot take it is a note, no more
	Writable       bool         // programs write there: the pipes of a daemon
	Text           string       // what the container sees instead of the host's content; empty = that content
	Root           *mounts.Root // the root Source lies in: the driver root, or [Query.Elsewhere] for sockets
}

// Link is a symbolic link that belongs to the driver and is not beside its library.
type Link struct {
	// Path is where it goes: absolute, or relative to the container's own library directory ("gbm/nvidia-drm_gbm.so").
	Path string
	// Target is the SONAME of one of the libraries found, or, for an absolute Path, the link's text.
	Target     string
	Capability string
	// IfAbsent leaves a file of that name alone, whatever it is (Mesa has a libGLX_indirect.so.0, too).
	IfAbsent bool
}

// Files is what was found. Lists are sorted and stable.
type Files struct {
	Libraries []Library
	Files     []File
	Links     []Link
	Warnings  []mounts.Warning
	Notes     []string // what is missing and need not be there, one sentence each
}
