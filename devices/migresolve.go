package devices

import (
	"context"
	"fmt"
	"strings"
)

// MIGSource is where UUIDs of MIG devices are learnt.
type MIGSource struct {
	// SMI asks the host's nvidia-smi; nil means that this is not possible.
	SMI SMI
	// CacheDir is a directory that only root can write to, such as
	// /run/gpu-hook, for the answers; "" means that they are not kept.
	CacheDir string
}

// ResolveMIG finds the devices that MIG names mean, each once, in the order of
// their GPUs and positions. Names with a number or with instance ids need only
// the capability tree; a UUID needs the source. The parents of UUIDs are
// checked against the allow list here, the others were by [Inventory.Select].
func (inv Inventory) ResolveMIG(ctx context.Context, h Host, names []MIGName, allow []string, src MIGSource) ([]MIGDevice, []Warning, error) {
	r := migResolver{inv: inv, host: h, trees: make([][]MIGDevice, len(inv.GPUs)), read: make([]bool, len(inv.GPUs))}
	var found []MIGDevice
	for _, name := range names {
		device, err := r.resolve(ctx, name, src)
		if err == nil && name.UUID != "" {
			err = usable(inv.GPUs[device.Parent], name.Text, allowed{inv, allow})
		}
		if err != nil {
			return nil, nil, err
		}
		found = insertMIG(found, device)
	}
	return found, r.warnings, nil
}

// insertMIG keeps devices sorted and each once.
func insertMIG(all []MIGDevice, d MIGDevice) []MIGDevice {
	at := len(all)
	for i, have := range all {
		if have.Parent == d.Parent && have.Position == d.Position {
			return all
		}
		if have.Parent > d.Parent || have.Parent == d.Parent && have.Position > d.Position {
			at = i
			break
		}
	}
	all = append(all, MIGDevice{})
	copy(all[at+1:], all[at:])
	all[at] = d
	return all
}

// migResolver reads each GPU's tree at most once.
type migResolver struct {
	inv      Inventory
	host     Host
	trees    [][]MIGDevice
	read     []bool
	uuids    map[string]migPlace
	fresh    bool
	warnings []Warning
}

func (r *migResolver) tree(gpu int) ([]MIGDevice, error) {
	if !r.read[gpu] {
		devices, err := r.inv.MIGDevices(r.host, r.inv.GPUs[gpu])
		if err != nil {
			return nil, err
		}
		r.trees[gpu], r.read[gpu] = devices, true
	}
	return r.trees[gpu], nil
}

func (r *migResolver) resolve(ctx context.Context, name MIGName, src MIGSource) (MIGDevice, error) {
	if name.UUID != "" {
		return r.resolveUUID(ctx, name, src)
	}
	if name.Parent < 0 || name.Parent >= len(r.inv.GPUs) {
		return MIGDevice{}, &UnknownDeviceError{Name: name.Text, Have: r.inv.GPUs}
	}
	devices, err := r.tree(name.Parent)
	if err != nil {
		return MIGDevice{}, err
	}
	for _, d := range devices {
		if name.Position >= 0 && d.Position == name.Position || name.GI >= 0 && d.GI == name.GI && d.CI == name.CI {
			return d, nil
		}
	}
	why := fmt.Sprintf("GPU %d has no such MIG device, it has: %s", name.Parent, listMIG(devices))
	return MIGDevice{}, &UnknownDeviceError{Name: name.Text, Why: why, Have: r.inv.GPUs}
}

func (r *migResolver) resolveUUID(ctx context.Context, name MIGName, src MIGSource) (MIGDevice, error) {
	if err := r.load(ctx, name.UUID, src); err != nil {
		return MIGDevice{}, fmt.Errorf("find MIG device %.200q: %w", name.Text, err)
	}
	place, ok := r.uuids[name.UUID]
	if !ok {
		return MIGDevice{}, &UnknownDeviceError{Name: name.Text, Why: "nvidia-smi -L lists no such MIG device", Have: r.inv.GPUs}
	}
	devices, err := r.tree(place.gpu)
	if err != nil {
		return MIGDevice{}, err
	}
	for _, d := range devices {
		if d.GI == place.gi && d.CI == place.ci {
			d.UUID = name.UUID
			return d, nil
		}
	}
	return MIGDevice{}, &UnknownDeviceError{Name: name.Text, Why: "its instance is not there any more", Have: r.inv.GPUs}
}

func listMIG(devices []MIGDevice) string {
	if len(devices) == 0 {
		return "none"
	}
	parts := make([]string, len(devices))
	for i, d := range devices {
		parts[i] = d.String()
	}
	return strings.Join(parts, "; ")
}
