package devices

import (
	"context"
	"fmt"
)

// NameMIG fills in the UUIDs of MIG devices, as far as the source knows them:
// a host without nvidia-smi, or one whose instances change at this moment,
// leaves them empty and gives a warning.
func (inv Inventory) NameMIG(ctx context.Context, h Host, list []MIGDevice, src MIGSource) ([]MIGDevice, []Warning) {
	if len(list) == 0 {
		return list, nil
	}
	r := migResolver{inv: inv, host: h, trees: make([][]MIGDevice, len(inv.GPUs)), read: make([]bool, len(inv.GPUs))}
	// No device has this name, so a cache of the same state is passed over and
	// the driver's own tool is asked: here it is not the hook that waits.
	if err := r.load(ctx, "", src); err != nil {
		return list, append(r.warnings, Warning{"mig-uuids", fmt.Sprintf("the UUIDs of MIG devices are not known: %v", err)})
	}
	out := make([]MIGDevice, len(list))
	for i, d := range list {
		for uuid, place := range r.uuids {
			if place == (migPlace{d.Parent, d.GI, d.CI}) {
				d.UUID = uuid
			}
		}
		out[i] = d
	}
	return out, r.warnings
}
