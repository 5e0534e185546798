package devices

import (
	"strconv"
	"strings"
)

// MIGName is the name of a MIG device as it was asked for. Exactly one of the
// three forms is filled in.
type MIGName struct {
	// Text is the name as given.
	Text string
	// UUID is "MIG-" and a UUID: the name since driver branch 470. Which GPU
	// and instance it means only the driver's tools know.
	UUID string
	// Parent is the index of the parent GPU, -1 for the UUID form.
	Parent int
	// Position is the number of the MIG device on its parent in the order of
	// nvidia-smi -L, from 0, for "<gpu>:<mig>"; otherwise -1.
	Position int
	// GI and CI are the instance ids of "MIG-GPU-<uuid>/<gi>/<ci>", the name
	// before branch 470; otherwise -1.
	GI, CI int
}

// maxInstance bounds instance ids and positions. The driver counts GPU
// instances to 14 and compute instances to 7; the bound only keeps nonsense out.
const maxInstance = 127

// parseMIGName reads the three forms. The parent is still a name: an index, or
// "GPU-" and a UUID. A PCI bus id has a dot, so "0:1" can only be a MIG device.
func parseMIGName(text string) (name MIGName, parent string, ok bool) {
	name = MIGName{Text: text, Parent: -1, Position: -1, GI: -1, CI: -1}
	if gpu, position, found := strings.Cut(text, ":"); found {
		n, fits := instanceID(position)
		if !fits || !digits(gpu) {
			return MIGName{}, "", false
		}
		name.Position = n
		return name, gpu, true
	}
	if len(text) < 4 || !strings.EqualFold(text[:4], "MIG-") {
		return MIGName{}, "", false
	}
	rest := text[4:]
	if uuidShape(rest) {
		name.UUID = "MIG-" + strings.ToLower(rest)
		return name, "", true
	}
	parts := strings.Split(rest, "/")
	if len(parts) != 3 || len(parts[0]) != 40 || !strings.EqualFold(parts[0][:4], "GPU-") || !uuidShape(parts[0][4:]) {
		return MIGName{}, "", false
	}
	gi, giOK := instanceID(parts[1])
	ci, ciOK := instanceID(parts[2])
	if !giOK || !ciOK {
		return MIGName{}, "", false
	}
	name.GI, name.CI = gi, ci
	return name, parts[0], true
}

func instanceID(text string) (int, bool) {
	if !digits(text) || len(text) > 3 {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n <= maxInstance
}
