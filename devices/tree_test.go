package devices

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const (
	uuidA = "GPU-5d0f1e0a-1111-4222-8333-444455556666"
	uuidB = "GPU-5d0f1e0a-9999-4222-8333-444455556666"
	uuidC = "GPU-aabbccdd-1111-4222-8333-444455556666"

	closedVersion = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.309.01  Tue Jun 10 12:00:00 UTC 2025\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
	openVersion   = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.163.01  Release Build  (dvs-builder@U16)\nGCC version:  gcc version 12.2.0\n"

	procDevices = "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n237 nvidia-caps\n235 nvidia-caps-imex-channels\n510 nvidia-uvm\n\nBlock devices:\n  8 sd\n237 nvidia-uvm\n"
	params      = "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 44\nDeviceFileMode: 432\nRegistryDwords: \"\"\n"
)

// stand makes a stand-in host from one line for each thing:
//
//	file PATH TEXT    (\n in the text is a line feed)
//	dir PATH
//	link PATH TARGET
//	gpu BUS MINOR UUID DEVICE MODEL
//	node PATH MAJOR MINOR MODE UID GID    (needs CAP_MKNOD)
func stand(t testing.TB, lines ...string) Host {
	t.Helper()
	root := t.TempDir()
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		path, text, _ := strings.Cut(rest, " ")
		full := filepath.Join(root, path)
		var err error
		switch word {
		case "file":
			put(t, full, strings.ReplaceAll(text, `\n`, "\n"))
		case "dir":
			err = os.MkdirAll(full, 0o755)
		case "link":
			if err = os.MkdirAll(filepath.Dir(full), 0o755); err == nil {
				err = os.Symlink(text, full)
			}
		case "gpu":
			f := strings.SplitN(text, " ", 4)
			put(t, filepath.Join(root, "proc/driver/nvidia/gpus", path, "information"), information4(f[3], f[1], path, f[0]))
			put(t, filepath.Join(root, "sys/bus/pci/devices", path, "device"), f[2]+"\n")
			put(t, filepath.Join(root, "sys/bus/pci/devices", path, "vendor"), "0x10de\n")
		case "node":
			makeNode(t, full, text)
		default:
			t.Fatalf("stand: no such word: %q", line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return HostAt(root)
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// information4 is a GPU's information file as the driver writes it.
func information4(model, uuid, bus, minor string) string {
	return fmt.Sprintf("Model: \t\t %s\nIRQ:   \t\t 38\nGPU UUID: \t %s\nVideo BIOS: \t 92.00.36.00.04\nBus Type: \t PCIe\nDMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\nBus Location: \t %s\nDevice Minor: \t %s\nGPU Excluded:\t No\n", model, uuid, bus, minor)
}

// driver is the part of a stand-in host that every GPU needs.
func driver(lines ...string) []string {
	flat := func(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }
	return append([]string{
		"file proc/driver/nvidia/version " + flat(closedVersion),
		"file proc/driver/nvidia/params " + flat(params),
		"file proc/devices " + flat(procDevices),
	}, lines...)
}

// three is a host of three healthy GPUs, two of which share the first eight
// digits of their UUIDs.
func three(lines ...string) []string {
	return driver(append([]string{
		"gpu 0000:01:00.0 0 " + uuidA + " 0x20b2 NVIDIA A100-SXM4-80GB",
		"gpu 0000:41:00.0 1 " + uuidB + " 0x20b2 NVIDIA A100-SXM4-80GB",
		"gpu 0000:81:00.0 2 " + uuidC + " 0x2684 NVIDIA GeForce RTX 4090",
	}, lines...)...)
}

func inventory(t testing.TB, h Host) Inventory {
	t.Helper()
	inv, err := ReadInventory(h)
	if err != nil {
		t.Fatalf("ReadInventory(%v) = %v", h, err)
	}
	return inv
}

// same compares and takes nil and empty lists for the same.
func same(t *testing.T, call string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", call, diff)
	}
}
