package devices

import (
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strconv"
	"strings"
)

// Link is a symbolic link that a container gets.
type Link struct{ Path, Target string }

// DRINodes returns the /dev/dri nodes of GPUs and their by-path links. Which
// card and render node belongs to which GPU is read from sysfs by PCI address,
// so a container never gets another GPU's. A GPU without any is a warning: the
// nvidia-drm module is not loaded.
func DRINodes(h Host, gpus []GPU) ([]Node, []Link, []Warning) {
	p := planner{host: h, inv: Inventory{Params: Params{Mode: 0o660}}}
	var links []Link
	for _, gpu := range gpus {
		at, ok := parseBusID(gpu.BusID)
		if !ok {
			continue
		}
		dir := h.Sys + "/bus/pci/devices/" + at.sysfs() + "/drm"
		names, err := readNames(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.warnf("no-dri", "GPU %d gets no /dev/dri node: %v", gpu.Index, err)
			continue
		}
		sort.Strings(names)
		found := false
		for _, name := range names {
			kind := driKind(name)
			if kind == "" {
				continue
			}
			major, minor, err := driNumbers(dir+"/"+name, h.Dev+"/dri/"+name)
			if err != nil {
				p.warnf("no-dri", "GPU %d gets no /dev/dri/%s: %v", gpu.Index, name, err)
				continue
			}
			found = true
			p.add("dri/"+name, major, minor, "graphics")
			links = append(links, Link{
				Path:   fmt.Sprintf("/dev/dri/by-path/pci-%s-%s", at.sysfs(), kind),
				Target: "../" + name,
			})
		}
		if !found {
			p.warnf("no-dri", "GPU %d has no /dev/dri node; load the module with: modprobe nvidia-drm", gpu.Index)
		}
	}
	return p.nodes, links, p.warnings
}

// driKind returns udev's word for a DRM node's kind: "card", "render" or "".
func driKind(name string) string {
	if rest, ok := strings.CutPrefix(name, "card"); ok && digits(rest) {
		return "card"
	}
	if rest, ok := strings.CutPrefix(name, "renderD"); ok && digits(rest) {
		return "render"
	}
	return ""
}

// driNumbers reads "226:1" from sysfs, or looks at the host's node where the
// file is missing.
func driNumbers(sys, dev string) (major, minor uint32, err error) {
	data, err := readFile(sys + "/dev")
	if err != nil {
		n, nodeErr := hostNode(dev)
		if nodeErr != nil {
			return 0, 0, errors.Join(err, nodeErr)
		}
		return n.Major, n.Minor, nil
	}
	return parseDevNumbers(data)
}

// parseDevNumbers reads the "major:minor" of a sysfs dev file.
func parseDevNumbers(data []byte) (major, minor uint32, err error) {
	a, b, ok := strings.Cut(strings.TrimSpace(string(data)), ":")
	x, errA := strconv.ParseUint(a, 10, 32)
	y, errB := strconv.ParseUint(b, 10, 32)
	if !ok || errA != nil || errB != nil || x > maxMajor || y > maxDevMinor {
		return 0, 0, fmt.Errorf("read device numbers: not MAJOR:MINOR: %.200q", data)
	}
	return uint32(x), uint32(y), nil
}
