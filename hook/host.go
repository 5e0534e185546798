package hook

import (
	"debug/elf"
	"path/filepath"
	"runtime"

	"github.com/gpu-hook/gpu-hook/devices"
)

// Host says where a host's facts are read. A directory can stand in for a host:
// Root changes where NVIDIA facts and driver files are found, while /proc/PID,
// mounts and cgroups are always the running kernel's.
type Host struct {
	// Root holds proc, sys, dev and, below Driver, the driver's files. "/" is
	// the real host.
	Root string
	// Driver is the driver root below Root: "/" or, for a driver container,
	// "/run/nvidia/driver".
	Driver string
}

// DriverRoot is the host path in which driver files are looked for.
func (h Host) DriverRoot() string { return filepath.Join(h.Root, h.Driver) }

// Devices is the part of the host that package devices reads.
func (h Host) Devices() devices.Host {
	return devices.Host{
		Proc: filepath.Join(h.Root, "proc"),
		Sys:  filepath.Join(h.Root, "sys"),
		Dev:  filepath.Join(h.Root, "dev"),
	}
}

// Machine is the ELF machine of this binary, and so of the host's driver files:
// the hook is built for one architecture and runs on no other.
func Machine() elf.Machine {
	switch runtime.GOARCH {
	case "amd64":
		return elf.EM_X86_64
	case "arm64":
		return elf.EM_AARCH64
	default:
		return elf.EM_NONE
	}
}
