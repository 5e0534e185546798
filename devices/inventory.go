package devices

import (
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strconv"
	"strings"

	"github.com/gpu-hook/gpu-hook/devices/pciid"
)

// ErrNoDriver says that no NVIDIA kernel driver is loaded on the host.
var ErrNoDriver = errors.New("no NVIDIA driver loaded")

// Inventory is what a host has.
type Inventory struct {
	Kind          Kind   // Kind is Native where ReadInventory read it.
	DriverVersion string // DriverVersion is the kernel module's, such as "550.163.01".
	Open          bool   // Open says that these are the open kernel modules.
	GPUs          []GPU  // GPUs are all GPUs in index order, faulty ones included.
	Majors        []Major
	Params        Params
	Warnings      []Warning // Warnings tell what could not be read.
}

// ReadInventory reads the host's GPUs. The error matches [ErrNoDriver] where
// there is no driver, and where its version file says nothing usable. Anything
// else that is odd ends in a GPU with a [GPU.Fault] or in a warning.
func ReadInventory(h Host) (Inventory, error) {
	var inv Inventory
	var err error
	if inv.DriverVersion, inv.Open, err = readVersion(h); err != nil {
		return Inventory{}, err
	}
	inv.Params = defaultParams()
	if data, err := readFile(h.driverProc("params")); err == nil {
		inv.Params = parseParams(data)
	} else if !errors.Is(err, fs.ErrNotExist) {
		inv.warnf("params-unreadable", "the driver's default mode and owner are used for device nodes: %v", err)
	}
	if data, err := readFile(h.Proc + "/devices"); err == nil {
		inv.Majors = parseMajors(data)
	} else {
		inv.warnf("majors-unreadable", "device majors are not known: %v", err)
	}
	inv.readGPUs(h)
	return inv, nil
}

// ReadVersion reads the kernel module's version alone. Its error matches
// [ErrNoDriver].
func ReadVersion(h Host) (string, error) {
	version, _, err := readVersion(h)
	return version, err
}

func readVersion(h Host) (version string, open bool, err error) {
	path := h.driverProc("version")
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, ErrNoDriver
	}
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	if version, open, err = parseVersion(data); err != nil {
		return "", false, fmt.Errorf("%w: %w in %s", ErrNoDriver, err, path)
	}
	return version, open, nil
}

func (inv *Inventory) warnf(code, format string, args ...any) {
	inv.Warnings = append(inv.Warnings, Warning{code, fmt.Sprintf(format, args...)})
}

func (inv *Inventory) readGPUs(h Host) {
	dir := h.driverProc("gpus")
	names, err := readNames(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		inv.warnf("gpus-unreadable", "no GPU is known: %v", err)
	}
	type found struct {
		name string
		at   busAddress
	}
	var all []found
	for _, name := range names {
		at, ok := parseBusID(name)
		if !ok {
			inv.warnf("gpu-name-odd", "%s has an entry that is no PCI bus id and is passed over: %.200q", dir, name)
			continue
		}
		all = append(all, found{name, at})
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].at != all[j].at {
			return all[i].at.before(all[j].at)
		}
		return all[i].name < all[j].name
	})
	for i, f := range all {
		gpu := readGPU(h, dir+"/"+f.name, f.at)
		gpu.Index, gpu.BusID = i, f.name
		inv.GPUs = append(inv.GPUs, gpu)
	}
	markSharedMinors(inv.GPUs)
}

// readGPU reads one GPU's directory. The vendor needs no reading: the NVIDIA
// driver itself made the directory.
func readGPU(h Host, dir string, at busAddress) GPU {
	gpu := GPU{Minor: NoMinor, Class: Unknown}
	data, err := readFile(dir + "/information")
	if err != nil {
		gpu.Fault = fmt.Sprintf("its information cannot be read: %v", err)
	} else {
		info := parseInformation(data)
		gpu.Minor, gpu.UUID, gpu.Model = info.minor, info.uuid, info.model
		switch {
		case info.excluded:
			gpu.Fault = "the driver excludes it (GPU Excluded: Yes)"
		case info.minor == NoMinor:
			gpu.Fault = fmt.Sprintf("%s/information names no device minor from 0 to %d", dir, maxMinor)
		}
	}
	if id, ok := deviceID(h, at); ok {
		gpu.Chip = pciid.Chip(id)
		gpu.ComputeCapability = pciid.ComputeCapability(gpu.Chip)
	}
	gpu.Class, gpu.Brand = classify(gpu.Model, gpu.Chip)
	return gpu
}

// deviceID reads the PCI device id, "0x20b2" and a line feed in sysfs.
func deviceID(h Host, at busAddress) (uint16, bool) {
	data, err := readFile(h.Sys + "/bus/pci/devices/" + at.sysfs() + "/device")
	if err != nil {
		return 0, false
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(data)), 0, 16)
	return uint16(id), err == nil
}

// markSharedMinors faults GPUs that claim the same minor: whoever asks for one
// of them might get the other.
func markSharedMinors(gpus []GPU) {
	var owner [maxMinor + 1]int
	for i, gpu := range gpus {
		if gpu.Minor == NoMinor {
			continue
		}
		if first := owner[gpu.Minor]; first != 0 {
			for _, k := range []int{first - 1, i} {
				if gpus[k].Fault == "" {
					gpus[k].Fault = fmt.Sprintf("GPUs %d and %d both claim device minor %d", first-1, i, gpu.Minor)
				}
			}
			continue
		}
		owner[gpu.Minor] = i + 1
	}
}
