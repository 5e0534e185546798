package devices

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSMI(t *testing.T) {
	t.Parallel()
	const old = "MIG-" + uuidA + "/7/0"
	for _, tc := range []struct {
		name, data string
		want       []listed
	}{
		{"branch-470-on", smiList, []listed{
			{0, uuidA, map[int]string{0: migA, 1: migB, 2: migC}},
			{1, uuidB, map[int]string{0: migD}},
			{2, uuidC, map[int]string{}},
		}},
		{"branch-450", "GPU 0: A100-SXM4-40GB (UUID: " + uuidA + ")\n  MIG 1g.5gb Device 0: (UUID: " + old + ")\n", []listed{
			{0, uuidA, map[int]string{0: old}},
		}},
		{"model-with-parenthesis", "GPU 3: NVIDIA X (UUID: y) (UUID: " + uuidB + ")\n", []listed{{3, uuidB, map[int]string{}}}},
		{"warning-first", "WARNING: infoROM is corrupted at gpu 0000:81:00.0\nGPU 0: X (UUID: " + uuidA + ")\n", []listed{{0, uuidA, map[int]string{}}}},
		{"mig-with-attributes", "GPU 0: X (UUID: " + uuidA + ")\n  MIG 1g.10gb+me  Device  4: (UUID: " + migA + ")\n", []listed{{0, uuidA, map[int]string{4: migA}}}},
		{"mig-before-gpu", "  MIG 1g.5gb Device 0: (UUID: " + migA + ")\n", nil},
		{"no-devices", "No devices were found\n", nil},
		{"nvml-missing", "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n", nil},
		{"cut", "GPU 0: X (UUID: GPU-5d0f", nil},
		{"empty", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseSMI([]byte(tc.data))
			if (err == nil) != (tc.want != nil) {
				t.Errorf("parseSMI() = %v", err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(listed{})); diff != "" {
				t.Errorf("parseSMI (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseSMI(f *testing.F) {
	for _, seed := range []string{smiList, "", "GPU 0: (UUID: )", "MIG Device : (UUID: MIG-)", strings.Repeat("(UUID: ", 9)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		gpus, err := parseSMI(data)
		if (err == nil) != (len(gpus) > 0) {
			t.Errorf("parseSMI(%q) = %v, %v", data, gpus, err)
		}
		for _, gpu := range gpus {
			for position, uuid := range gpu.mig {
				if position < 0 || position > maxInstance || len(uuid) < 4 {
					t.Errorf("parseSMI(%q) has %d: %q", data, position, uuid)
				}
			}
		}
	})
}

// report writes one GPU of nvidia-smi -q -x with MIG devices of position, GPU
// instance and compute instance.
func report(uuid, bus string, devices ...[3]int) string {
	var text strings.Builder
	fmt.Fprintf(&text, `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<driver_version>535.129.03</driver_version>
	<gpu id="%s">
		<product_name>NVIDIA A100-SXM4-80GB</product_name>
		<mig_mode>
			<current_mig>Enabled</current_mig>
		</mig_mode>
		<mig_devices>
`, bus)
	for _, d := range devices {
		fmt.Fprintf(&text, `			<mig_device>
				<index>%d</index>
				<gpu_instance_id>%d</gpu_instance_id>
				<compute_instance_id>%d</compute_instance_id>
				<device_attributes>
					<shared>
						<multiprocessor_count>14</multiprocessor_count>
					</shared>
				</device_attributes>
			</mig_device>
`, d[0], d[1], d[2])
	}
	fmt.Fprintf(&text, "\t\t</mig_devices>\n\t\t<uuid>%s</uuid>\n\t</gpu>\n</nvidia_smi_log>\n", uuid)
	return text.String()
}

func TestParseReport(t *testing.T) {
	t.Parallel()
	at := busAddress{bus: 1}
	for _, tc := range []struct {
		name, data string
		want       []reported
	}{
		{"two", report(uuidA, "00000000:01:00.0", [3]int{0, 1, 0}, [3]int{1, 5, 2}), []reported{{at, 0, 1, 0}, {at, 1, 5, 2}}},
		{"none", `<gpu id="00000000:01:00.0"><mig_devices>None</mig_devices></gpu>`, nil},
		{"field-missing", `<gpu id="00000000:01:00.0"><mig_device><index>0</index><gpu_instance_id>1</gpu_instance_id></mig_device></gpu>`, nil},
		{"not-a-number", `<gpu id="00000000:01:00.0"><mig_device><index>N/A</index><gpu_instance_id>1</gpu_instance_id><compute_instance_id>0</compute_instance_id></mig_device></gpu>`, nil},
		{"bad-bus", `<gpu id="x"><mig_device><index>0</index><gpu_instance_id>1</gpu_instance_id><compute_instance_id>0</compute_instance_id></mig_device></gpu>`, nil},
		{"outside-gpu", `<mig_device><index>0</index><gpu_instance_id>1</gpu_instance_id><compute_instance_id>0</compute_instance_id></mig_device>`, nil},
		{"cut", `<gpu id="00000000:01:00.0"><mig_device`, nil},
		{"empty", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, parseReport([]byte(tc.data)), cmp.AllowUnexported(reported{}, busAddress{})); diff != "" {
				t.Errorf("parseReport (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseReport(f *testing.F) {
	for _, seed := range []string{report(uuidA, "00000000:01:00.0", [3]int{0, 1, 0}), "", "<", "<>", "<gpu></gpu>", "<mig_device></mig_device>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range parseReport(data) {
			for _, id := range []int{d.position, d.gi, d.ci} {
				if id < 0 || id > maxInstance {
					t.Errorf("parseReport(%q) has %+v", data, d)
				}
			}
		}
	})
}
