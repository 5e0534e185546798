package devices

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestReadInventory(t *testing.T) {
	t.Parallel()
	inv := inventory(t, stand(t, three()...))
	same(t, "ReadInventory", inv, Inventory{
		DriverVersion: "535.309.01",
		Majors:        parseMajors([]byte(procDevices)),
		Params:        Params{Modify: true, GID: 44, Mode: 0o660},
		GPUs: []GPU{
			{
				Index: 0, Minor: 0, UUID: uuidA, BusID: "0000:01:00.0", Model: "NVIDIA A100-SXM4-80GB",
				Class: DataCenter, Brand: "nvidia", Chip: "GA100", ComputeCapability: "8.0",
			},
			{
				Index: 1, Minor: 1, UUID: uuidB, BusID: "0000:41:00.0", Model: "NVIDIA A100-SXM4-80GB",
				Class: DataCenter, Brand: "nvidia", Chip: "GA100", ComputeCapability: "8.0",
			},
			{
				Index: 2, Minor: 2, UUID: uuidC, BusID: "0000:81:00.0", Model: "NVIDIA GeForce RTX 4090",
				Class: GeForce, Brand: "geforce", Chip: "AD102", ComputeCapability: "8.9",
			},
		},
	})
}

func TestReadInventoryOrder(t *testing.T) {
	t.Parallel()
	inv := inventory(t, stand(t, driver(
		"gpu 00000001:0a:00.0 0 "+uuidA+" 0x2330 NVIDIA H100",
		"gpu 0000:b1:00.0 1 "+uuidB+" 0x2330 NVIDIA H100",
		"gpu 0000:0f:00.0 2 "+uuidC+" 0x2330 NVIDIA H100",
		"file sys/bus/pci/devices/0001:0a:00.0/device 0x2330\\n",
	)...))
	want := []string{"0000:0f:00.0", "0000:b1:00.0", "00000001:0a:00.0"}
	for i, gpu := range inv.GPUs {
		if gpu.Index != i || gpu.BusID != want[i] || gpu.Chip != "GH100" {
			t.Errorf("GPUs[%d] = %+v, want index %d, bus id %s, chip GH100", i, gpu, i, want[i])
		}
	}
	if len(inv.GPUs) != len(want) {
		t.Errorf("%d GPUs, want %d", len(inv.GPUs), len(want))
	}
}

func TestReadInventoryFaults(t *testing.T) {
	t.Parallel()
	const at = "proc/driver/nvidia/gpus/0000:01:00.0/information"
	for _, tc := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"healthy", []string{"gpu 0000:01:00.0 0 " + uuidA + " 0x20b2 NVIDIA A100"}, ""},
		{"uninitialised", []string{"gpu 0000:01:00.0 0 GPU-????????-????-????-????-???????????? 0x20b2 NVIDIA A100"}, ""},
		{"excluded", []string{"file " + at + ` Device Minor: 0\nGPU Excluded: Yes\n`}, "excludes"},
		{"no-minor", []string{"file " + at + ` Model: NVIDIA A100\n`}, "no device minor"},
		{"empty", []string{"file " + at + " "}, "no device minor"},
		{"no-file", []string{"dir " + filepath.Dir(at)}, "no such file"},
		{"file-is-directory", []string{"dir " + at}, "not a regular file"},
		{"gpu-is-file", []string{"file " + filepath.Dir(at) + " x"}, "not a directory"},
		{"loop", []string{"link " + at + " information"}, "too many"},
		{"huge", []string{"file " + at + " " + strings.Repeat("x", maxFile+1)}, "too large"},
		{"shared-minor", []string{
			"gpu 0000:01:00.0 0 " + uuidA + " 0x20b2 NVIDIA A100",
			"gpu 0000:02:00.0 0 " + uuidB + " 0x20b2 NVIDIA A100",
		}, "both claim"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inv := inventory(t, stand(t, driver(tc.lines...)...))
			if len(inv.GPUs) == 0 {
				t.Fatal("no GPU, want one")
			}
			for _, gpu := range inv.GPUs {
				if (gpu.Fault == "") != (tc.want == "") || !strings.Contains(gpu.Fault, tc.want) {
					t.Errorf("fault of %s is %q, want %q", gpu.BusID, gpu.Fault, tc.want)
				}
			}
		})
	}
}

func TestReadInventoryWarns(t *testing.T) {
	t.Parallel()
	version := "file proc/driver/nvidia/version " + strings.ReplaceAll(openVersion, "\n", `\n`)
	h := stand(t, version, "dir proc/driver/nvidia/params", "file proc/driver/nvidia/gpus/x:y/information a", "dir proc/devices")
	inv := inventory(t, h)
	var got []string
	for _, w := range inv.Warnings {
		got = append(got, w.Code)
	}
	same(t, "warnings", got, []string{"params-unreadable", "majors-unreadable", "gpu-name-odd"})
	same(t, "params", inv.Params, defaultParams())
	if !inv.Open || len(inv.GPUs) != 0 {
		t.Errorf("open %v with %d GPUs, want the open modules without any", inv.Open, len(inv.GPUs))
	}
}

func TestReadInventoryWithoutParams(t *testing.T) {
	t.Parallel()
	inv := inventory(t, stand(t, "file proc/driver/nvidia/version "+strings.ReplaceAll(openVersion, "\n", `\n`), "file proc/devices x"))
	same(t, "warnings", inv.Warnings, []Warning(nil))
	same(t, "params", inv.Params, defaultParams())
}

func TestReadInventoryNoDriver(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"nothing", nil, "no NVIDIA driver loaded"},
		{"empty", []string{"file proc/driver/nvidia/version "}, "no driver version in"},
		{"nonsense", []string{"file proc/driver/nvidia/version \xff\x00NVRM"}, "no driver version in"},
		{"directory", []string{"dir proc/driver/nvidia/version"}, "not a regular file"},
		{"huge", []string{"file proc/driver/nvidia/version " + strings.Repeat("x", maxFile+1)}, "too large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inv, err := ReadInventory(stand(t, tc.lines...))
			if !errors.Is(err, ErrNoDriver) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ReadInventory() = %v, want ErrNoDriver with %q", err, tc.want)
			}
			same(t, "inventory", inv, Inventory{})
		})
	}
}

// TestReadInventoryDoesNotHang puts a FIFO in the place of every file that is
// read. Nobody ever writes to them.
func TestReadInventoryDoesNotHang(t *testing.T) {
	t.Parallel()
	h := stand(t, three()...)
	for _, name := range []string{"driver/nvidia/params", "devices", "driver/nvidia/gpus/0000:01:00.0/information"} {
		fifo(t, filepath.Join(h.Proc, name))
	}
	fifo(t, filepath.Join(h.Sys, "bus/pci/devices/0000:41:00.0/device"))
	done := make(chan Inventory, 1)
	go func() {
		inv, err := ReadInventory(h)
		if err != nil {
			t.Errorf("ReadInventory() = %v", err)
		}
		fifo(t, filepath.Join(h.Proc, "driver/nvidia/version"))
		if _, err := ReadInventory(h); !errors.Is(err, ErrNoDriver) {
			t.Errorf("ReadInventory() with a FIFO as version = %v, want ErrNoDriver", err)
		}
		done <- inv
	}()
	select {
	case inv := <-done:
		if inv.GPUs[0].Fault == "" || inv.GPUs[1].Fault != "" || inv.GPUs[1].Chip != "" || inv.GPUs[2].Fault != "" {
			t.Errorf("GPUs = %+v, want a fault in the first and no chip in the second", inv.GPUs)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("ReadInventory() hangs")
	}
}

func fifo(t testing.TB, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
	if err := unix.Mkfifo(path, 0o644); err != nil {
		t.Error(err)
	}
}

func BenchmarkReadInventory8(b *testing.B) {
	lines := driver()
	for i := range 8 {
		lines = append(lines, "gpu 0000:0"+string(rune('1'+i))+":00.0 "+string(rune('0'+i))+" "+uuidA+" 0x20b2 NVIDIA A100-SXM4-80GB")
	}
	h := stand(b, lines...)
	for b.Loop() {
		if _, err := ReadInventory(h); err != nil {
			b.Fatal(err)
		}
	}
}
