package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// debianLibs is where Debian keeps libraries of x86-64. Stand-in hosts are of
// this machine's architecture; [HostSpec.Driver] must be, too.
const debianLibs = "usr/lib/x86_64-linux-gnu"

// Layout is a way of laying driver files out on a host.
type Layout int

// The two layouts that real hosts have.
const (
	Plain  Layout = iota // NVIDIA's own installer: beside all other libraries
	Debian               // nvidia/current, reached through /etc/alternatives
)

// GPU is one GPU of a stand-in host.
type GPU struct {
	BusID string // "0000:01:00.0", the name of its directory
	UUID  string // question marks where empty
	Model string
	Minor int
	PCI   string // vendor:device, "10de:20b0"
}

// HostSpec describes a stand-in host. The zero value has no driver at all.
type HostSpec struct {
	Driver  Driver // files; the version is the kernel module's, too
	Version string // the kernel module's version where it differs from the files'
	Layout  Layout
	Open    bool  // the open kernel module, whose version line is another
	GPUs    []GPU // see [GPUs]
	NoCache bool  // no etc/ld.so.cache
	NoNodes bool  // no dev/nvidia*: for callers that may not make nodes
	Uvm     int   // major of nvidia-uvm; 0 = 510
}

// StandIn is a directory that stands in for a host with GPUs.
type StandIn struct {
	Dir     string
	Version string // of the kernel module
	GPUs    []GPU
	UVM     int // major of nvidia-uvm
}

// GPUs makes n GPUs of a model, minors and bus ids in order.
func GPUs(n int, model string) []GPU {
	gpus := make([]GPU, n)
	for i := range gpus {
		gpus[i] = GPU{
			BusID: fmt.Sprintf("%04x:%02x:00.0", (i+1)/16, 0x10*((i+1)%16)),
			UUID:  fmt.Sprintf("GPU-5d0f1e0a-00%02x-4c3b-9d2e-7f6a8b9c0d%02x", i, i),
			Model: model, Minor: i, PCI: "10de:20b0",
		}
	}
	return gpus
}

// A100 is the model that most tests use: a data-centre GPU.
const A100 = "NVIDIA A100-SXM4-80GB"

// Host makes a stand-in host. Driver files are hard links into the cache.
func Host(t T, spec HostSpec) *StandIn {
	t.Helper()
	dir := Temp(t)
	h := &StandIn{Dir: dir, Version: spec.Version, GPUs: spec.GPUs, UVM: spec.Uvm}
	if h.Version == "" {
		h.Version = spec.Driver.Version
	}
	if h.UVM == 0 {
		h.UVM = 510
	}
	mkdir(t, dir, "proc", "sys/bus/pci/devices", "dev", "etc/ld.so.conf.d", "usr/bin", "usr/sbin", debianLibs, "run", "tmp", "var/run")
	for _, l := range []string{"bin", "sbin", "lib", "lib64"} {
		mkdir(t, dir, "usr/"+l)
		Link(t, "usr/"+l, filepath.Join(dir, l))
	}
	Write(t, filepath.Join(dir, "etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\n")
	Write(t, filepath.Join(dir, "etc/ld.so.conf.d/x86_64-linux-gnu.conf"), "/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n")
	if h.Version != "" {
		h.proc(t, spec.Open)
		h.sys(t)
		if !spec.NoNodes {
			h.nodes(t)
		}
	} else {
		Write(t, filepath.Join(dir, "proc/devices"), "Character devices:\n  1 mem\n\nBlock devices:\n  7 loop\n")
	}
	if spec.Driver.Dir != "" {
		h.files(t, spec.Driver, spec.Layout)
	}
	if !spec.NoCache {
		command(t, "", nil, ldconfig(), "-X", "-r", dir)
	}
	return h
}

// ldconfig is not on the PATH of ordinary users.
func ldconfig() string {
	for _, path := range []string{"/sbin/ldconfig", "/usr/sbin/ldconfig"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "ldconfig"
}

// proc writes what the kernel module shows below /proc/driver/nvidia.
func (h *StandIn) proc(t T, open bool) {
	t.Helper()
	version := "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + h.Version + "  Tue Jan 14 17:08:33 UTC 2025\n"
	if open {
		version = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + h.Version + "  Release Build  (dvs-builder)\n"
	}
	driver := filepath.Join(h.Dir, "proc/driver/nvidia")
	Write(t, driver+"/version", version+"GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n")
	Write(t, driver+"/params", "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n")
	mkdir(t, driver, "gpus", "capabilities")
	for i, g := range h.GPUs {
		uuid := g.UUID
		if uuid == "" {
			uuid = "GPU-????????-????-????-????-????????????"
		}
		Write(t, driver+"/gpus/"+g.BusID+"/information", fmt.Sprintf(
			"Model: \t\t %s\nIRQ:   \t\t %d\nGPU UUID: \t %s\nVideo BIOS: \t 92.00.36.00.04\nBus Type: \t PCIe\n"+
				"DMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\nBus Location: \t %s\nDevice Minor: \t %d\nGPU Excluded:\t No\n",
			g.Model, 38+i, uuid, g.BusID, g.Minor,
		))
	}
	Write(t, filepath.Join(h.Dir, "proc/devices"), fmt.Sprintf(
		"Character devices:\n  1 mem\n  5 /dev/tty\n195 nvidia\n195 nvidiactl\n237 nvidia-caps\n%d nvidia-uvm\n\nBlock devices:\n  7 loop\n", h.UVM,
	))
}

// sys writes the PCI devices as sysfs shows them.
func (h *StandIn) sys(t T) {
	t.Helper()
	for _, g := range h.GPUs {
		vendor, device, _ := strings.Cut(g.PCI, ":")
		dir := filepath.Join(h.Dir, "sys/bus/pci/devices", g.BusID)
		Write(t, dir+"/vendor", "0x"+vendor+"\n")
		Write(t, dir+"/device", "0x"+device+"\n")
		Write(t, dir+"/class", "0x030200\n")
	}
}

// files lays the driver's files out.
func (h *StandIn) files(t T, d Driver, layout Layout) {
	t.Helper()
	if layout == Debian {
		h.linkTree(t, filepath.Join(d.Dir, "usr"), filepath.Join(h.Dir, "usr"))
		h.driverLists(t, d)
		h.alternatives(t)
		return
	}
	for _, from := range []string{debianLibs, debianLibs + "/nvidia/current", debianLibs + "/nvidia/tesla-450"} {
		h.linkFiles(t, filepath.Join(d.Dir, from), filepath.Join(h.Dir, debianLibs))
	}
	for _, from := range []string{"usr/bin", "usr/sbin", "usr/lib/nvidia/current"} {
		h.linkFiles(t, filepath.Join(d.Dir, from), filepath.Join(h.Dir, "usr/bin"))
	}
	for _, dir := range []string{"egl", "glvnd", "nvidia", "vulkan"} {
		h.linkTreeIf(t, filepath.Join(d.Dir, "usr/share", dir), filepath.Join(h.Dir, "usr/share", dir))
	}
	h.linkTreeIf(t, filepath.Join(d.Dir, "etc/OpenCL"), filepath.Join(h.Dir, "etc/OpenCL"))
}

// driverLists puts the lists of drivers in place that packages have in /etc, and
// the link that Debian's alternatives make to the X server's.
func (h *StandIn) driverLists(t T, d Driver) {
	t.Helper()
	h.linkTreeIf(t, filepath.Join(d.Dir, "etc/OpenCL"), filepath.Join(h.Dir, "etc/OpenCL"))
	const conf = "etc/nvidia/current/nvidia-drm-outputclass.conf"
	if exists(t, filepath.Join(d.Dir, conf)) {
		h.linkTreeIf(t, filepath.Join(d.Dir, "etc/nvidia"), filepath.Join(h.Dir, "etc/nvidia"))
		const alternative = "etc/alternatives/nvidia--nvidia-drm-outputclass.conf"
		Link(t, "/"+conf, filepath.Join(h.Dir, alternative))
		Link(t, "/"+alternative, filepath.Join(h.Dir, "usr/share/X11/xorg.conf.d/nvidia-drm-outputclass.conf"))
	}
}

// linkTreeIf is linkTree for a tree that not every driver has.
func (h *StandIn) linkTreeIf(t T, from, to string) {
	t.Helper()
	if exists(t, from) {
		h.linkTree(t, from, to)
	}
}

// alternatives makes the links that Debian's alternatives make: every SONAME
// and program name, absolute and in two steps.
func (h *StandIn) alternatives(t T) {
	t.Helper()
	for _, from := range []string{debianLibs + "/nvidia/current", debianLibs + "/nvidia/tesla-450", "usr/lib/nvidia/current"} {
		entries, err := os.ReadDir(filepath.Join(h.Dir, from))
		if err != nil {
			continue // Not every driver has every folder.
		}
		to := debianLibs
		if from == "usr/lib/nvidia/current" {
			to = "usr/bin"
		}
		for _, e := range entries {
			name := e.Name()
			library := e.Type()&os.ModeSymlink != 0 && strings.Contains(name, ".so")
			program := to == "usr/bin" && !strings.Contains(name, ".")
			link := filepath.Join(h.Dir, to, name)
			if !library && !program || exists(t, link) {
				continue
			}
			alternative := "nvidia--" + name
			if library {
				alternative += "-x86_64-linux-gnu"
			}
			Link(t, "/"+from+"/"+name, filepath.Join(h.Dir, "etc/alternatives", alternative))
			Link(t, "/etc/alternatives/"+alternative, link)
		}
	}
}

// linkTree puts a whole tree in place, files as hard links.
func (h *StandIn) linkTree(t T, from, to string) {
	t.Helper()
	mkdir(t, to, ".")
	h.linkFiles(t, from, to)
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains([]string{"doc", "lintian", "bug", "man"}, e.Name()) {
			h.linkTree(t, filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		}
	}
}

// linkFiles puts the files and links of one folder in place; a folder that is
// not there has none.
func (h *StandIn) linkFiles(t T, from, to string) {
	t.Helper()
	if !exists(t, from) {
		return
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if err := linkOrCopy(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			t.Fatalf("%v", err)
		}
	}
}
