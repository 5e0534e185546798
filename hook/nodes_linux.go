package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/mounts"
)

// How a device node comes into the container.
const (
	MethodMknod = "mknod" // made in the container's own /dev
	MethodBind  = "bind"  // the host's node, bind-mounted
	MethodKept  = "kept"  // it is there already, in a /dev that is not ours to change
)

// nodes makes the device nodes in the container's own /dev. That /dev is a
// mount of its own, so it is written through a root of its own; a host's /dev
// that a user bound into the container never gets here (its nodes are "kept").
func (a *applier) nodes() error {
	if len(a.plan.DeviceNodes) == 0 {
		return nil
	}
	dev, err := a.target.Roots.Container.Sub("/dev")
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = a.target.Roots.Container.MkdirAll("/dev"); err == nil {
			dev, err = a.target.Roots.Container.Sub("/dev")
		}
	}
	if err != nil {
		return fmt.Errorf("open /dev: %w", err)
	}
	defer dev.Close()
	for _, n := range a.plan.DeviceNodes {
		switch n.Method {
		case MethodMknod:
			err = a.mknod(dev, n)
		case MethodBind:
			err = a.bindNode(dev, n, a.files.files[n.Path])
		case MethodKept:
		default:
			err = fmt.Errorf("make %s: unknown method %q", n.Path, n.Method)
		}
		if err != nil {
			return err
		}
	}
	a.warnClosed(dev)
	return a.devLinks(dev)
}

// warnClosed looks whether the device cgroup lets the nodes be opened, where no
// rules can be set and this process is in the container's cgroup. access(2)
// asks the cgroup as open(2) does (inode_permission in fs/namei.c) and leaves
// the driver alone.
func (a *applier) warnClosed(dev *mounts.Root) {
	if a.plan.RulesNote == "" || a.plan.Container.Entry != EntryInside {
		return
	}
	for _, n := range a.plan.DeviceNodes {
		node, err := dev.Lookup(strings.TrimPrefix(n.Path, "/dev"))
		if err != nil {
			continue // left out, and said so
		}
		err = unix.Access("/proc/thread-self/fd/"+strconv.Itoa(int(node.Fd())), unix.R_OK|unix.W_OK)
		_ = node.Close()
		if errors.Is(err, unix.EPERM) {
			a.warn("cgroup-denies", "the container's cgroup, or one above it, denies %s, and rules cannot be set from here; "+
				`register "gpu-hook createRuntime" for the stage "createRuntime" where root starts the container`, n.Path)
			return // one is enough: they are denied together
		}
	}
}

// devLinks makes the links below /dev, such as dri/by-path.
func (a *applier) devLinks(dev *mounts.Root) error {
	for _, l := range a.plan.Symlinks {
		rel, in := strings.CutPrefix(l.Path, "/dev/")
		if !in {
			continue
		}
		if _, _, err := mounts.PlaceLink(dev, mounts.Link{Path: "/" + rel, Target: l.Target}); err != nil {
			return err
		}
	}
	return nil
}

// mknod makes a node, or binds the host's where none can be made (a seccomp
// filter, no CAP_MKNOD, a /dev mounted nodev).
func (a *applier) mknod(dev *mounts.Root, n DeviceNode) error {
	rel := strings.TrimPrefix(n.Path, "/dev")
	dir, err := dev.MkdirAll(path.Dir(rel))
	if err != nil {
		return err
	}
	mode, err := strconv.ParseUint(n.Mode, 8, 32)
	if err != nil {
		return fmt.Errorf("parse mode of %s: %w", n.Path, err)
	}
	outcome, err := devices.Create(dir, path.Base(rel), devices.Node{
		Path: n.Path, Major: n.Major, Minor: n.Minor, Mode: uint32(mode), UID: n.UID, GID: n.GID,
	})
	if errors.Is(err, devices.ErrNoMknod) && n.Source != "" {
		return a.bindInstead(dev, n, err)
	}
	if outcome == devices.Replaced {
		a.warn("node-replaced", "the image had something else at %.200q; it was replaced by the GPU's node", n.Path)
	}
	if err != nil {
		return err
	}
	return dev.Label(dir, path.Base(rel))
}

// noNodeError is a node that can only be bound, on a host that has none.
type noNodeError struct{ path string }

func (e *noNodeError) Error() string {
	return "no node can be made in a user namespace, and the host has none to bind"
}

// Cure names the driver's tool that makes them.
func (e *noNodeError) Cure() string {
	if strings.HasPrefix(e.path, "/dev/nvidia-uvm") {
		return "make it on the host with: nvidia-modprobe -u -c 0"
	}
	return "make it on the host with: nvidia-modprobe -c 0, or start nvidia-persistenced there"
}

// prepare takes hold of the host's node, which must have the right numbers.
func (n DeviceNode) prepare(r *Roots) (*mounts.Prepared, error) {
	if n.Source == "" {
		return nil, &noNodeError{n.Path}
	}
	return mounts.Prepare(mounts.Source{
		Root: r.Host, Path: r.below(n.Source), Device: true, Rdev: unix.Mkdev(n.Major, n.Minor),
	}, mounts.Calls{})
}

// bindInstead takes hold of the host's node on another thread, one that is
// still in the host's namespace, and binds it.
func (a *applier) bindInstead(dev *mounts.Root, n DeviceNode, why error) error {
	type result struct {
		file *mounts.Prepared
		err  error
	}
	done := make(chan result)
	go func() {
		file, err := n.prepare(a.target.Roots)
		done <- result{file, err}
	}()
	res := <-done
	if res.err != nil {
		return fmt.Errorf("%w; bind the host's node instead: %w", why, res.err)
	}
	defer res.file.Close()
	a.warn("node-bound", "%s is the host's node, bind-mounted: %v", n.Path, why)
	return a.bindNode(dev, n, res.file)
}

func (a *applier) bindNode(dev *mounts.Root, n DeviceNode, file *mounts.Prepared) error {
	outcome, why, err := mounts.PlaceFile(dev, strings.TrimPrefix(n.Path, "/dev"), file, mounts.Cover)
	if err == nil && outcome == mounts.Left {
		a.warn("left-out", "%.200q is left out: %s", n.Path, why)
	}
	return err
}
