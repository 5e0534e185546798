package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/mounts"
)

// procCapabilities is where the driver shows the rights over MIG devices.
const procCapabilities = procDriver + "/capabilities"

// gatherProcGPUs lists what mounts.proc = "gpus" leaves in sight: the
// directories of the container's GPUs, and the access files of its MIG devices
// unless it has the rights over all. One that the container's /proc lacks is a
// note.
func (f *Facts) gatherProcGPUs(container *mounts.Root) error {
	f.Proc.GPUs = []string{}
	for _, g := range f.GPUs() {
		seen, err := f.seen(container, path.Join(procGPUs, g.BusID))
		if err != nil {
			return err
		}
		if seen {
			f.Proc.GPUs = append(f.Proc.GPUs, g.BusID)
		}
	}
	if f.Request.MIGConfig || f.Request.MIGMonitor {
		return nil
	}
	if seen, err := f.seen(container, procCapabilities); err != nil || !seen {
		return err
	}
	f.Proc.Capabilities = []string{}
	for _, m := range f.MIG {
		for _, file := range m.ProcPaths() {
			seen, err := f.seen(container, path.Join(procDriver, file))
			if err != nil {
				return err
			}
			if seen {
				f.Proc.Capabilities = append(f.Proc.Capabilities, file)
			}
		}
	}
	return nil
}

// seen looks for a file in the container's /proc, and notes that it is missing.
func (f *Facts) seen(container *mounts.Root, name string) (bool, error) {
	h, err := container.Lookup(name)
	if errors.Is(err, fs.ErrNotExist) {
		f.Notes = append(f.Notes, "the container's /proc has no "+name)
		return false, nil
	}
	if err != nil {
		return false, pathFault(fault.Mount, "look at the container's /proc", err)
	}
	return true, h.Close()
}

// hideOthers covers the directories of the driver that list every GPU of the
// machine by read-only ones with the container's own.
func (p *ProcParams) hideOthers(root *mounts.Root) error {
	if p.Mode != string(config.ProcGPUs) {
		return nil
	}
	if err := keepVisible(root, procGPUs, procGPUs, p.GPUs); err != nil || p.Capabilities == nil {
		return err
	}
	return keepVisible(root, procCapabilities, procDriver, p.Capabilities)
}

// keepVisible covers the directory at with one that has only the files and
// directories keep, named from base.
func keepVisible(root *mounts.Root, at, base string, keep []string) error {
	if h, err := root.Lookup(at); err != nil {
		return ignoreMissing(err)
	} else if err := h.Close(); err != nil {
		return err
	}
	tree := mounts.Tree{At: at}
	seen := map[string]bool{}
	for _, name := range keep {
		full := path.Join(base, name)
		rel := full[len(at)+1:]
		if seen[rel] {
			continue // Several compute instances share a GPU instance's file.
		}
		seen[rel] = true
		file, err := mounts.Prepare(mounts.Source{Root: root, Path: full}, mounts.Calls{})
		if err != nil {
			return fmt.Errorf("keep %s visible: %w", full, err)
		}
		defer file.Close()
		tree.Files = append(tree.Files, mounts.TreeFile{Path: rel, From: file})
	}
	_, err := tree.Build(root, mounts.Calls{})
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
