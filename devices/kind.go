package devices

import (
	"bytes"
	"fmt"
	"strings"
)

// Kind is the kind of host that an inventory is of.
type Kind string

// The kinds. Native is the zero value: NVIDIA's own kernel driver.
const (
	Native Kind = ""
	WSL    Kind = "wsl"   // WSL2: the driver is that of Windows, behind /dev/dxg
	Jetson Kind = "tegra" // Jetson: the driver is part of the system image
)

// ReadWSL returns the inventory of a WSL2 system, and false where the host is
// none. Windows gives every GPU to every program through one node, so there is
// one GPU as far as containers are concerned; its model and the driver's version
// are known to Windows alone. Source: Microsoft's WSL GPU documentation.
func ReadWSL(h Host) (Inventory, bool) {
	if _, err := hostNode(h.Dev + "/dxg"); err != nil {
		return Inventory{}, false
	}
	return Inventory{
		Kind:   WSL,
		Params: defaultParams(),
		GPUs:   []GPU{{Index: 0, Minor: NoMinor, BusID: "dxg", Model: "WSL2 GPU", Class: Unknown}},
	}, true
}

// WSLNodes returns /dev/dxg, the only node that a container needs there.
func WSLNodes(h Host) ([]Node, error) {
	n, err := HostNode(h, "/dev/dxg")
	if err != nil {
		return nil, &NodeError{"look at the host's", Node{Path: "/dev/dxg"}, err}
	}
	return []Node{n}, nil
}

// ReadJetson returns the inventory of a Jetson system, and false where the host
// is none: its device tree says what it is. The integrated GPU is the only one.
// Source: the device tree's compatible property ("nvidia,tegra234"), which the
// kernel documents in Documentation/devicetree/bindings/arm/tegra.yaml.
func ReadJetson(h Host) (Inventory, bool) {
	data, err := readFile(h.Proc + "/device-tree/compatible")
	chip := tegraChip(data)
	if err != nil || chip == "" {
		return Inventory{}, false
	}
	gpu := GPU{Index: 0, Minor: NoMinor, BusID: chip, Model: "NVIDIA " + chip, Class: Tegra, Brand: "tegra"}
	if model, err := readFile(h.Proc + "/device-tree/model"); err == nil {
		gpu.Model = cleanValue(string(bytes.TrimRight(model, "\x00")))
	}
	inv := Inventory{Kind: Jetson, Params: defaultParams(), GPUs: []GPU{gpu}}
	if data, err := readFile(h.driverProc("version")); err == nil {
		inv.DriverVersion, inv.Open, _ = parseVersion(data)
	}
	return inv, true
}

// tegraChip is "tegra234" of a compatible property, a list of strings that end
// in NUL, or "".
func tegraChip(compatible []byte) string {
	for word := range bytes.SplitSeq(compatible, []byte{0}) {
		if chip, ok := strings.CutPrefix(string(word), "nvidia,tegra"); ok && digits(chip) {
			return "tegra" + chip
		}
	}
	return ""
}

// HostNode looks at a character device of the host by its path in a container,
// such as /dev/nvhost-ctrl, for nodes whose numbers are written down nowhere
// but in the node itself.
func HostNode(h Host, path string) (Node, error) {
	rel, ok := strings.CutPrefix(path, "/dev/")
	if !ok || rel == "" || strings.Contains("/"+rel+"/", "/../") {
		return Node{}, fmt.Errorf("look at host node %.200q: %w", path, errNotDevice)
	}
	n, err := hostNode(h.Dev + "/" + rel)
	if err != nil {
		return Node{}, err
	}
	n.Path, n.Gate = path, "host"
	return n, nil
}
