package request

import (
	"fmt"
	"path"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// volumeRoot is the directory below which mounts of /dev/null name devices:
// the device plugin's way to ask for GPUs that an image cannot imitate.
const volumeRoot = "/var/run/nvidia-container-devices"

// volumes lists what mounts ask for: ROOT/DEVICE, ROOT/cdi/VENDOR/CLASS/DEVICE,
// ROOT/cdi/VENDOR/CLASS=DEVICE and ROOT/imex/CHANNEL. A directory that merely
// starts with the same letters is not below it.
func volumes(mounts []specs.Mount) (asked, []Warning) {
	a := asked{source: "volume", user: true}
	var warnings []Warning
	for _, m := range mounts {
		if path.Clean(m.Source) != "/dev/null" {
			continue
		}
		name, below := strings.CutPrefix(path.Clean(m.Destination), volumeRoot+"/")
		if name = strings.TrimSpace(name); !below || name == "" {
			continue
		}
		switch kind, rest, nested := strings.Cut(name, "/"); {
		case kind == "imex" && nested && rest != "":
			a.imex = append(a.imex, rest)
		case kind == "cdi" && nested:
			if device, ok := cdiVolume(rest); ok {
				a.list = append(a.list, unqualified([]string{device})...)
				continue
			}
			fallthrough
		case kind == "imex" || kind == "cdi":
			warnings = append(warnings, Warning{
				Code:    "volume-malformed",
				Message: fmt.Sprintf("the mount at %.200q names no device and is left aside; write cdi/VENDOR/CLASS/DEVICE or imex/CHANNEL", m.Destination),
			})
		default:
			a.list = append(a.list, name)
		}
	}
	return a, warnings
}

// cdiVolume turns VENDOR/CLASS/DEVICE or VENDOR/CLASS=DEVICE into a CDI name.
func cdiVolume(name string) (string, bool) {
	vendor, rest, ok := strings.Cut(strings.TrimSpace(name), "/")
	if !ok || vendor == "" {
		return "", false
	}
	class, device, ok := strings.Cut(rest, "=")
	if !ok {
		class, device, ok = strings.Cut(rest, "/")
	}
	device = strings.TrimSpace(device)
	if !ok || class == "" || device == "" || strings.Contains(device, "/") || strings.Contains(class, "/") {
		return "", false
	}
	return vendor + "/" + class + "=" + device, true
}
