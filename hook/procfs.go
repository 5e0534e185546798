package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/mounts"
)

// Where the driver describes itself. The container sees the same files through
// its own /proc: they belong to the kernel, not to a namespace.
const (
	procDriver = "/proc/driver/nvidia"
	procParams = procDriver + "/params"
	procGPUs   = procDriver + "/gpus"
)

// maxParams bounds params, in bytes; a driver of branch 550 has 1.5 kB.
const maxParams = 64 << 10

// gatherProc prepares the container's view of /proc/driver/nvidia. Where the
// container's /proc has no such directory (no module on a stand-in host, a /proc
// that is mounted later, as crun does for some stages) there is nothing to hide.
func gatherProc(f *Facts, roots *Roots) error {
	if f.Config.Mounts.Proc == config.ProcOff || f.Inventory.Kind != "" {
		return nil
	}
	params, err := roots.Host.ReadFile(procParams, maxParams)
	if errors.Is(err, fs.ErrNotExist) {
		f.Proc = &ProcParams{Mode: string(f.Config.Mounts.Proc), Note: "the driver has no " + procParams + " on the host"}
		return nil
	}
	if err != nil { // The inventory has a warning of it, too: nothing says what the container would see.
		f.Warnings = append(f.Warnings, Warning{"params-unreadable", fmt.Sprintf("the container sees %s as it is: %v", procParams, err)})
		return nil
	}
	h, err := roots.Container.Lookup(procParams)
	if errors.Is(err, fs.ErrNotExist) {
		f.Proc = &ProcParams{Mode: string(f.Config.Mounts.Proc), Note: "the container's /proc has no " + procParams}
		return nil
	}
	if err != nil {
		return pathFault(fault.Mount, "look at the container's /proc", err)
	}
	_ = h.Close()
	f.Proc = &ProcParams{Mode: string(f.Config.Mounts.Proc)}
	if masked, changed := maskParams(params); changed {
		f.Proc.Params = string(masked)
	}
	if f.Config.Mounts.Proc == config.ProcGPUs {
		return f.gatherProcGPUs(roots.Container)
	}
	return nil
}

// maskParams says "ModifyDeviceFiles: 0" where it said anything else: with 1 the
// driver's libraries in the container make the nodes of every GPU. Every other
// byte stays.
func maskParams(params []byte) (masked []byte, changed bool) {
	for line := range bytes.Lines(params) {
		label, value, ok := bytes.Cut(line, []byte(":"))
		if ok && string(bytes.TrimSpace(label)) == "ModifyDeviceFiles" && string(bytes.TrimSpace(value)) != "0" {
			blank := value[:len(value)-len(bytes.TrimLeft(value, " \t"))]
			end := line[len(bytes.TrimRight(line, "\r\n")):]
			line = slices.Concat(label, []byte(":"), blank, []byte("0"), end)
			changed = true
		}
		masked = append(masked, line...)
	}
	return masked, changed
}

// addProc plans the masked file in the tree, from where it is mounted over the
// container's own.
func (l *layout) addProc(p *Plan) {
	p.Proc = l.f.Proc
	if p.Proc == nil || p.Proc.Params == "" {
		return
	}
	p.Texts = append(p.Texts, Text{Path: path.Join(l.textDir(), procParams), Content: p.Proc.Params})
}

// proc makes the container's view of /proc/driver/nvidia.
func (a *applier) proc() error {
	p := a.plan.Proc
	if p == nil || p.Note != "" {
		return nil
	}
	root := a.target.Roots.Container
	if p.Params != "" {
		file, err := mounts.Prepare(mounts.Source{Root: root, Path: path.Join(a.plan.TextDir(), procParams)}, mounts.Calls{})
		if err != nil {
			return err
		}
		defer file.Close()
		if _, _, err := mounts.PlaceFile(root, procParams, file, mounts.Cover); err != nil {
			return err
		}
	}
	return p.hideOthers(root)
}
