package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/devices/cgroup"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/record"
	"github.com/gpu-hook/gpu-hook/hook/state"
	"github.com/gpu-hook/gpu-hook/mounts"
)

// Reapplied is what was found, and done, for one container.
type Reapplied struct {
	ID      string   `json:"id"`
	PID     int      `json:"pid"`
	Missing []string `json:"missing"` // rules that were not in force
	Moved   []string `json:"moved"`   // nodes whose numbers have changed on the host
	Done    bool     `json:"done"`    // both are put right; false with Check, or with nothing to do
	Reason  string   `json:"reason,omitempty"`

	// Warnings say why something may be lost again, or is not there.
	Warnings []string `json:"warnings,omitempty"`
}

// ReapplyOptions choose containers: one by id, or all.
type ReapplyOptions struct {
	ID         string
	All        bool
	Check      bool   // only say what is missing
	ConfigPath string // for host-root; "" = the default path
	HostRoot   string // overrides host-root of the configuration
}

// Reapply puts back the device rules that a container has lost: crun drops them
// when an engine updates a container, an old systemd at a reload, and a kernel
// module that is loaded again may get another major number.
func Reapply(ctx context.Context, o ReapplyOptions) ([]Reapplied, error) {
	dir, records, err := readRecords()
	if err != nil {
		return nil, fault.New(fault.Other, "read the records", err)
	}
	cfg, err := Options{ConfigPath: o.ConfigPath, HostRoot: o.HostRoot}.LoadConfig()
	if err != nil {
		return nil, fault.New(fault.Config, "read the configuration", err)
	}
	inv, err := devices.ReadInventory(Host{Root: cfg.HostRoot}.Devices())
	if err != nil && !errors.Is(err, devices.ErrNoDriver) {
		return nil, fault.New(fault.Driver, "find the NVIDIA driver", err)
	}
	results := []Reapplied{}
	var failed error
	for _, r := range records {
		if !o.All && r.ID != o.ID {
			continue
		}
		res, err := reapply(ctx, r, inv, o.Check, dir)
		results = append(results, res)
		if err != nil {
			failed = errors.Join(failed, fault.New(fault.Cgroup, fmt.Sprintf("put rules back for %.200q", r.ID), err))
		}
	}
	if !o.All && len(results) == 0 {
		return results, &fault.Error{
			Code: fault.Other, What: fmt.Sprintf("find container %.200q", o.ID),
			Err: errors.New("no running container of that name was given GPUs"), Cure: "see: gpu-hook ps",
		}
	}
	return results, failed
}

func reapply(ctx context.Context, r record.Record, inv devices.Inventory, check bool, dir string) (Reapplied, error) {
	res := Reapplied{ID: r.ID, PID: r.PID, Missing: []string{}, Moved: []string{}}
	nodes, moved := current(r.Nodes, inv)
	for _, n := range moved {
		res.Moved = append(res.Moved, n.Path)
	}
	if r.Access == "" && len(moved) == 0 {
		res.Reason = "no rules were set for it"
		return res, nil
	}
	l, err := cgroup.Detect(r.PID)
	if err != nil {
		return res, err
	}
	defer l.Close()
	if !r.Alive() { // Looked at last: the layout holds on to the process it found.
		return res, record.ErrGone
	}
	req := cgroup.Request{PID: r.PID}
	if b, err := state.OpenBundle(r.Bundle); err == nil {
		req.Spec = b.Spec.Linux.Resources.Devices
	}
	for _, n := range nodes {
		if r.Access != "" {
			req.Rules = append(req.Rules, cgroup.Rule{Type: 'c', Major: n.Major, Minor: n.Minor, Access: r.Access})
		}
	}
	missing, err := l.Missing(req)
	if errors.Is(err, cgroup.ErrHidden) && !check {
		// What is in force cannot be seen (bpf_jit_harden and kptr_restrict of
		// 2): granting all of it again is right whatever it is.
		missing, err = req.Rules, nil
	}
	if err != nil {
		return res, err
	}
	for _, rule := range missing {
		res.Missing = append(res.Missing, rule.String())
	}
	if check || len(missing)+len(moved) == 0 {
		return res, nil
	}
	if len(missing) > 0 {
		granted, err := l.Allow(ctx, req)
		if err != nil {
			return res, err
		}
		for _, w := range granted.Warnings {
			res.Warnings = append(res.Warnings, w.Message)
		}
	}
	if err := renumber(r.PID, moved); err != nil {
		return res, err
	}
	left, err := l.Missing(req)
	res.Done = len(left) == 0 && (err == nil || errors.Is(err, cgroup.ErrHidden))
	r.Nodes = nodes
	return res, record.Store{Dir: dir}.Put(r)
}

// current gives nodes their numbers of now. Only nvidia-uvm and the capability
// nodes have a major that may change: 195 is fixed.
func current(nodes []record.Node, inv devices.Inventory) (now, moved []record.Node) {
	for _, n := range nodes {
		if major, ok := inv.Major(majorName(n.Path)); ok && major != n.Major {
			n.Major = major
			moved = append(moved, n)
		}
		now = append(now, n)
	}
	return now, moved
}

func majorName(node string) string {
	switch {
	case strings.HasPrefix(node, "/dev/nvidia-uvm"):
		return "nvidia-uvm"
	case strings.HasPrefix(node, "/dev/nvidia-caps-imex-channels/"):
		return "nvidia-caps-imex-channels"
	case strings.HasPrefix(node, "/dev/nvidia-caps/"):
		return "nvidia-caps"
	default:
		return ""
	}
}

// renumber replaces nodes in a running container, through its own root.
func renumber(pid int, nodes []record.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	dev, err := mounts.OpenRootIn(pid, "/dev", mounts.Calls{})
	if err != nil {
		return err
	}
	defer dev.Close()
	for _, n := range nodes {
		if n.Method != MethodMknod {
			return fmt.Errorf("replace %s: it is bound from the host; restart the container", n.Path)
		}
		rel := strings.TrimPrefix(n.Path, "/dev")
		dir, err := dev.Dir(path.Dir(rel))
		if err != nil {
			return err
		}
		mode, err := strconv.ParseUint(n.Mode, 8, 32)
		if err != nil {
			return fmt.Errorf("parse mode of %s: %w", n.Path, err)
		}
		if _, err := devices.Create(dir, path.Base(rel), devices.Node{
			Path: n.Path, Major: n.Major, Minor: n.Minor, Mode: uint32(mode), UID: n.UID, GID: n.GID,
		}); err != nil {
			return err
		}
	}
	return nil
}

// WriteReapplied writes the results for a person.
func WriteReapplied(w io.Writer, results []Reapplied) error {
	for _, r := range results {
		what := "nothing is missing"
		switch {
		case r.Reason != "":
			what = r.Reason
		case len(r.Missing)+len(r.Moved) > 0:
			what = "missing: " + strings.Join(append(r.Missing, r.Moved...), ", ")
			switch {
			case r.Done:
				what += " (put back)"
			case len(r.Warnings) > 0:
				what += " (not all put back)"
			}
		}
		for _, warning := range r.Warnings {
			what += "\n  " + warning
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", printable(r.ID), what); err != nil {
			return err
		}
	}
	return nil
}
