package devices

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
)

// migPlace is where a MIG UUID leads.
type migPlace struct{ gpu, gi, ci int }

// SMIError says that the UUID of a MIG device could not be asked for.
type SMIError struct{ Err error }

func (e *SMIError) Error() string { return fmt.Sprintf("ask nvidia-smi for MIG UUIDs: %v", e.Err) }

// Unwrap gives the cause.
func (e *SMIError) Unwrap() error { return e.Err }

// Cure is another way to name the device.
func (e *SMIError) Cure() string {
	return "name the device by <gpu>:<mig> instead, or install nvidia-smi on the host"
}

var (
	errNoSMI  = errors.New("no nvidia-smi on the host")
	errCounts = errors.New("nvidia-smi and /proc/driver/nvidia/capabilities disagree")
)

// load makes r.uuids hold the UUID if it exists: from the cache if its state is
// the tree's, otherwise, or if it lacks the UUID, from nvidia-smi. Instances that
// are deleted and made again have the same ids but new UUIDs, so a miss is asked
// again once.
func (r *migResolver) load(ctx context.Context, uuid string, src MIGSource) error {
	if _, ok := r.uuids[uuid]; ok || r.fresh {
		return nil
	}
	state, err := r.state()
	if err != nil {
		return err
	}
	if r.uuids == nil && src.CacheDir != "" {
		r.uuids = readMIGCache(src.CacheDir, state, len(r.inv.GPUs))
		if _, ok := r.uuids[uuid]; ok {
			return nil
		}
	}
	if src.SMI == nil {
		return &SMIError{errNoSMI}
	}
	if r.uuids, err = r.ask(ctx, src.SMI); err != nil {
		return &SMIError{err}
	}
	r.fresh = true
	if src.CacheDir != "" {
		if err := writeMIGCache(src.CacheDir, state, r.uuids); err != nil {
			r.warnings = append(r.warnings, Warning{"mig-cache", fmt.Sprintf("MIG UUIDs are not kept, nvidia-smi will be asked again: %v", err)})
		}
	}
	return nil
}

// state sums up what the UUIDs depend on: driver, GPUs and their instances.
func (r *migResolver) state() (string, error) {
	sum := fnv.New128a()
	fmt.Fprintf(sum, "%s %s\n", r.host.Proc, r.inv.DriverVersion)
	for i, gpu := range r.inv.GPUs {
		devices, err := r.tree(i)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %s %d %s\n", gpu.UUID, gpu.BusID, gpu.Minor, listMIG(devices))
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// ask gets UUIDs by position from nvidia-smi -L and instance ids by position
// from its XML report. Without a report, or without a device in it, the order of
// the tree stands for the positions.
func (r *migResolver) ask(ctx context.Context, smi SMI) (map[string]migPlace, error) {
	data, err := smi(ctx, "-L")
	if err != nil {
		return nil, err
	}
	gpus, err := parseSMI(data)
	if err != nil {
		return nil, err
	}
	data, err = smi(ctx, "-q", "-x")
	if err != nil {
		data = nil
	}
	return r.join(gpus, parseReport(data))
}

// join puts UUIDs and instances together. The numbers of devices must agree:
// somebody may be changing them at this moment, and a wrong guess would give a
// container somebody else's device.
func (r *migResolver) join(gpus []listed, report []reported) (map[string]migPlace, error) {
	uuids := map[string]migPlace{}
	for _, l := range gpus {
		index := r.indexOf(l)
		if index < 0 {
			continue
		}
		devices, err := r.tree(index)
		if err != nil {
			return nil, err
		}
		if len(devices) != len(l.mig) {
			return nil, fmt.Errorf("%w: %d and %d MIG devices on GPU %d", errCounts, len(l.mig), len(devices), index)
		}
		places := positions(r.inv.GPUs[index], devices, report)
		for position, uuid := range l.mig {
			place, ok := places[position]
			if !ok {
				return nil, fmt.Errorf("%w: no instance for MIG device %d on GPU %d", errCounts, position, index)
			}
			uuids["MIG-"+strings.ToLower(uuid[4:])] = place
		}
	}
	return uuids, nil
}

// positions maps a GPU's MIG device numbers to instances: by the report if it
// has the GPU, otherwise by the order of the tree.
func positions(gpu GPU, devices []MIGDevice, report []reported) map[int]migPlace {
	places := map[int]migPlace{}
	at, _ := parseBusID(gpu.BusID)
	for _, d := range report {
		if d.bus == at {
			places[d.position] = migPlace{gpu.Index, d.gi, d.ci}
		}
	}
	if len(places) > 0 {
		return places
	}
	for _, d := range devices {
		places[d.Position] = migPlace{gpu.Index, d.GI, d.CI}
	}
	return places
}

// indexOf finds a listed GPU in the inventory: by UUID, or by index where the
// inventory has no UUID for it.
func (r *migResolver) indexOf(l listed) int {
	for i, gpu := range r.inv.GPUs {
		if strings.EqualFold(gpu.UUID, l.uuid) {
			return i
		}
	}
	if l.index < len(r.inv.GPUs) && r.inv.GPUs[l.index].UUID == "" {
		return l.index
	}
	return -1
}
