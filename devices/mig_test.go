package devices

import (
	"context"
	"os"
	"strings"
	"testing"
)

// migTree adds two GPU instances to GPU 0 (minor 0) and one to GPU 1 (minor 1).
func migTree(lines ...string) []string {
	const caps = "file proc/driver/nvidia/capabilities/"
	access := func(minor string) string {
		return `/access DeviceFileMinor: ` + minor + `\nDeviceFileMode: 292\nDeviceFileModify: 1\n`
	}
	return three(append([]string{
		caps + "mig/config DeviceFileMinor: 1\\nDeviceFileMode: 256\\n",
		caps + "mig/monitor DeviceFileMinor: 2\\nDeviceFileMode: 292\\n",
		caps + "gpu0/mig/gi10" + access("93"),
		caps + "gpu0/mig/gi10/ci0" + access("94"),
		caps + "gpu0/mig/gi2" + access("21"),
		caps + "gpu0/mig/gi2/ci0" + access("22"),
		caps + "gpu0/mig/gi2/ci1" + access("23"),
		caps + "gpu1/mig/gi0" + access("138"),
		caps + "gpu1/mig/gi0/ci0" + access("139"),
	}, lines...)...)
}

const (
	migA = "MIG-01234567-89ab-cdef-0123-456789abcd00"
	migB = "MIG-01234567-89ab-cdef-0123-456789abcd01"
	migC = "MIG-01234567-89ab-cdef-0123-456789abcd02"
	migD = "MIG-01234567-89ab-cdef-0123-456789abcd03"

	smiList = "GPU 0: NVIDIA A100-SXM4-80GB (UUID: " + uuidA + ")\n" +
		"  MIG 1c.2g.20gb  Device  0: (UUID: " + migA + ")\n" +
		"  MIG 1c.2g.20gb  Device  1: (UUID: " + migB + ")\n" +
		"  MIG 1g.10gb     Device  2: (UUID: " + migC + ")\n" +
		"GPU 1: NVIDIA A100-SXM4-80GB (UUID: " + uuidB + ")\n" +
		"  MIG 7g.80gb     Device  0: (UUID: " + migD + ")\n" +
		"GPU 2: NVIDIA GeForce RTX 4090 (UUID: " + uuidC + ")\n"
)

// smi is an SMI that answers -L with a text, has no XML report, and counts how
// often it is asked.
func smi(text string, count *int) SMI {
	return func(_ context.Context, args ...string) ([]byte, error) {
		if args[0] != "-L" {
			return nil, os.ErrInvalid
		}
		*count++
		return []byte(text), nil
	}
}

func TestMIGDevices(t *testing.T) {
	t.Parallel()
	h := stand(t, migTree("dir proc/driver/nvidia/capabilities/gpu0/mig/gi3", "dir proc/driver/nvidia/capabilities/gpu0/mig/other")...)
	inv := inventory(t, h)
	for _, tc := range []struct {
		name string
		gpu  int
		want []MIGDevice
	}{
		{"two-instances", 0, []MIGDevice{
			{Position: 0, GI: 2, CI: 0},
			{Position: 1, GI: 2, CI: 1},
			{Position: 2, GI: 10, CI: 0},
		}},
		{"one", 1, []MIGDevice{{Parent: 1, Minor: 1}}},
		{"no-mig", 2, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := inv.MIGDevices(h, inv.GPUs[tc.gpu])
			if err != nil {
				t.Fatalf("MIGDevices() = %v", err)
			}
			same(t, "MIGDevices", got, tc.want)
		})
	}
}

func TestMIGNodes(t *testing.T) {
	t.Parallel()
	h := stand(t, migTree()...)
	inv := inventory(t, h)
	devices, err := inv.MIGDevices(h, inv.GPUs[0])
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := inv.MIGNodes(h, devices[:2])
	if err != nil {
		t.Fatalf("MIGNodes() = %v", err)
	}
	same(t, "MIGNodes", short(nodes), []string{
		"/dev/nvidia-caps/nvidia-cap21 (c 237:21) mig",
		"/dev/nvidia-caps/nvidia-cap22 (c 237:22) mig",
		"/dev/nvidia-caps/nvidia-cap23 (c 237:23) mig",
	})
	for _, n := range nodes {
		if n.Mode != 0o444 {
			t.Errorf("%v has mode %o, want 444", n, n.Mode)
		}
	}
	same(t, "ProcPaths", devices[1].ProcPaths(), []string{"capabilities/gpu0/mig/gi2/access", "capabilities/gpu0/mig/gi2/ci1/access"})
}

func TestMIGNodesFromMinors(t *testing.T) {
	t.Parallel()
	h := stand(t, three(
		"dir proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0",
		`file proc/driver/nvidia-caps/mig-minors config 1\nmonitor 2\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n`,
	)...)
	inv := inventory(t, h)
	devices, err := inv.MIGDevices(h, inv.GPUs[0])
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := inv.MIGNodes(h, devices)
	if err != nil {
		t.Fatalf("MIGNodes() = %v", err)
	}
	same(t, "MIGNodes", short(nodes), []string{
		"/dev/nvidia-caps/nvidia-cap12 (c 237:12) mig",
		"/dev/nvidia-caps/nvidia-cap13 (c 237:13) mig",
	})
}

func TestMIGNodesErrors(t *testing.T) {
	t.Parallel()
	device := []MIGDevice{{GI: 2}}
	const at = "proc/driver/nvidia/capabilities/gpu0/mig/gi2/access"
	for _, tc := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"no-files", three(), "no such file"},
		{"no-minor", three("file " + at + " x: y"), "no capability minor"},
		{"minor-too-high", three("file " + at + " DeviceFileMinor: 1048576"), "no capability minor"},
		{"not-in-minors", three("file "+at+" x", `file proc/driver/nvidia-caps/mig-minors gpu0/gi20/access 9\n`), "none for gpu0/gi2/access in mig-minors"},
		{"no-major", three(`file proc/devices Character devices:\n195 nvidia\n`), "kernel module not loaded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := stand(t, tc.lines...)
			nodes, _, err := inventory(t, h).MIGNodes(h, device)
			if err == nil || nodes != nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("MIGNodes() = %v, %v, want an error with %q", nodes, err, tc.want)
			}
		})
	}
}

func TestMIGControlNodes(t *testing.T) {
	t.Parallel()
	h := stand(t, migTree()...)
	inv := inventory(t, h)
	for _, tc := range []struct {
		name string
		c    MIGControl
		want []string
	}{
		{"neither", MIGControl{}, nil},
		{"config", MIGControl{Config: true}, []string{"/dev/nvidia-caps/nvidia-cap1 (c 237:1) mig-config", "138", "139"}},
		{"monitor", MIGControl{Monitor: true}, []string{"/dev/nvidia-caps/nvidia-cap2 (c 237:2) mig-monitor", "138", "139"}},
		{"both", MIGControl{true, true}, []string{
			"/dev/nvidia-caps/nvidia-cap1 (c 237:1) mig-config",
			"/dev/nvidia-caps/nvidia-cap2 (c 237:2) mig-monitor", "138", "139",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for i, minor := range tc.want {
				if len(minor) == 3 {
					tc.want[i] = "/dev/nvidia-caps/nvidia-cap" + minor + " (c 237:" + minor + ") mig"
				}
			}
			nodes, _, err := inv.MIGControlNodes(h, inv.GPUs[1:2], tc.c)
			if err != nil {
				t.Fatalf("MIGControlNodes() = %v", err)
			}
			same(t, "MIGControlNodes", short(nodes), tc.want)
		})
	}
}

func FuzzParseCapability(f *testing.F) {
	f.Add([]byte("DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n"), "gpu0/gi1/access")
	f.Add([]byte("config 1\ngpu0/gi1/access 12\ngpu0/gi1/access\n"), "config")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		if c, ok := parseCapability(data); ok && (c.minor > maxDevMinor || c.mode > 0o777) {
			t.Errorf("parseCapability(%q) = %+v", data, c)
		}
		if minor, ok := parseMinor(data, name); ok && minor > maxDevMinor {
			t.Errorf("parseMinor(%q, %q) = %d", data, name, minor)
		}
	})
}
