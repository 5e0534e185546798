package request

import (
	"fmt"
	"slices"
	"strings"
)

// maxWords is more than any host has devices: 64 GPUs of 8 MIG devices are
// what the driver can have, and each has four names.
const maxWords = 4096

// choice is what a list of device words comes to.
type choice int

const (
	nothing choice = iota // no request: an empty list, or "void" in it
	noDevice
	named // the devices named, or "all"
)

// choose reads a list of device words. "void" anywhere means no request; else
// the first of "all" and "none" decides alone, whatever stands beside it; else
// the words are devices, each once, in the order given.
func choose(list []string) (choice, []string) {
	if len(list) == 0 || slices.ContainsFunc(list, isWord(voidWord)) {
		return nothing, nil
	}
	special := slices.IndexFunc(list, func(w string) bool { return isWord(allWord)(w) || isWord(noneWord)(w) })
	switch {
	case special >= 0 && isWord(noneWord)(list[special]):
		return noDevice, nil
	case special >= 0:
		return named, []string{allWord}
	}
	seen := make(map[string]bool, len(list))
	var devices []string
	for _, w := range list {
		if !seen[w] {
			seen[w] = true
			devices = append(devices, w)
		}
	}
	return named, devices
}

func isWord(word string) func(string) bool {
	return func(w string) bool { return strings.EqualFold(w, word) }
}

// unqualified turns CDI names of NVIDIA GPUs ("nvidia.com/gpu=0",
// "k8s.device-plugin.nvidia.com/gpu=GPU-...") into the names after "=". Others
// stay as they are.
func unqualified(list []string) []string {
	out := make([]string, 0, len(list))
	for _, w := range list {
		if class, device, ok := nvidiaCDI(w); ok && class == "gpu" {
			w = device
		}
		out = append(out, w)
	}
	return out
}

// nvidiaCDI takes a CDI name apart: VENDOR/CLASS=DEVICE, where the vendor is
// nvidia.com or one of its subdomains.
func nvidiaCDI(name string) (class, device string, ok bool) {
	kind, device, ok := strings.Cut(name, "=")
	if device = strings.TrimSpace(device); !ok || device == "" {
		return "", "", false
	}
	vendor, class, ok := strings.Cut(kind, "/")
	if !ok || vendor != "nvidia.com" && !strings.HasSuffix(vendor, ".nvidia.com") {
		return "", "", false
	}
	return class, device, true
}

// checkWords refuses lists that no host can fulfil before they cost anything.
func checkWords(source string, list []string) error {
	if len(list) > maxWords {
		return &InvalidError{
			Source: strings.TrimPrefix(source, "env:"), Value: fmt.Sprintf("%s,...", list[0]),
			Reason: fmt.Sprintf("names %d devices, more than %d", len(list), maxWords),
		}
	}
	return nil
}
