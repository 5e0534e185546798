package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The majors of a stand-in host's nodes beside the GPUs': none is one of this
// machine's own.
const (
	CapsMajor = 237 // nvidia-caps
	IMEXMajor = 235 // nvidia-caps-imex-channels
	DRIMajor  = 241 // drm, 226 on a real host
	fabric    = 243 // nvidia-fs, gdrdrv, NVSwitch and InfiniBand
)

// MIGUUID is the UUID of a MIG device of a stand-in host, by its GPU's index and
// its position.
func MIGUUID(gpu, position int) string {
	return fmt.Sprintf("MIG-7d0f1e0a-00%02x-4c3b-9d2e-7f6a8b9c0d%02x", gpu, position)
}

// MIGMinors are the minors of the access nodes of a GPU instance and its compute
// instance 0, as the driver counts them: 135 for each GPU, 9 for each instance.
func MIGMinors(minor, gi int) (instance, compute int) {
	instance = 3 + 135*minor + 9*gi
	return instance, instance + 1
}

// MIG gives each GPU of the host n MIG devices: GPU instances 1 to n with compute
// instance 0 in each. The capability tree, mig-minors and the nodes are the
// driver's.
func (h *StandIn) MIG(t T, n int) {
	t.Helper()
	tree := filepath.Join(h.Dir, "proc/driver/nvidia/capabilities")
	minors := "config 1\nmonitor 2\n"
	access := func(file string, minor int) {
		Write(t, filepath.Join(tree, file), fmt.Sprintf("DeviceFileMinor: %d\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor))
		h.Node(t, fmt.Sprintf("nvidia-caps/nvidia-cap%d", minor), CapsMajor, minor, 0o444)
	}
	access("mig/config", 1)
	access("mig/monitor", 2)
	for _, g := range h.GPUs {
		for gi := 1; gi <= n; gi++ {
			instance, compute := MIGMinors(g.Minor, gi)
			at := fmt.Sprintf("gpu%d/mig/gi%d", g.Minor, gi)
			access(at+"/access", instance)
			access(at+"/ci0/access", compute)
			minors += fmt.Sprintf("gpu%[1]d/gi%[2]d/access %[3]d\ngpu%[1]d/gi%[2]d/ci0/access %[4]d\n", g.Minor, gi, instance, compute)
		}
	}
	Write(t, filepath.Join(h.Dir, "proc/driver/nvidia-caps/mig-minors"), minors)
}

// SMI puts a stand-in nvidia-smi in place that answers -L and -q -x for the MIG
// devices of [StandIn.MIG], writes each call into /run/smi-calls of the host
// and fails if it has any environment. It runs without the host as its root.
func (h *StandIn) SMI(t T, n int) {
	t.Helper()
	var list, report strings.Builder
	report.WriteString("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n")
	for i, g := range h.GPUs {
		fmt.Fprintf(&list, "GPU %d: %s (UUID: %s)\n", i, g.Model, g.UUID)
		fmt.Fprintf(&report, "<gpu id=\"0000%s\">\n<mig_devices>\n", strings.ToUpper(g.BusID))
		for p := range n {
			fmt.Fprintf(&list, "  MIG 1g.10gb     Device  %d: (UUID: %s)\n", p, MIGUUID(i, p))
			fmt.Fprintf(&report, "<mig_device><index>%d</index><gpu_instance_id>%d</gpu_instance_id><compute_instance_id>0</compute_instance_id></mig_device>\n", p, p+1)
		}
		report.WriteString("</mig_devices>\n</gpu>\n")
	}
	report.WriteString("</nvidia_smi_log>\n")
	h.Script(t, "usr/bin/nvidia-smi", "smi-calls", "case \"$1\" in\n-L) cat <<'END'\n"+list.String()+"END\n;;\n-q) cat <<'END'\n"+report.String()+"END\n;;\nesac\n")
}

// Script puts a shell script of the host in place that notes its arguments in
// /run/LOG of the host and its environment, which must be empty, in /run/LOG.env.
func (h *StandIn) Script(t T, name, log, text string) {
	t.Helper()
	file, run := filepath.Join(h.Dir, name), filepath.Join(h.Dir, "run", log)
	_ = os.Remove(file)
	Write(t, file, "#!/bin/sh\necho \"$0 $*\" >>"+run+"\ntr '\\0' '\\n' </proc/self/environ >>"+run+".env\n"+text)
	if err := os.Chmod(file, 0o755); err != nil {
		t.Fatalf("%v", err)
	}
}

// Noted is what scripts of the host wrote into /run/LOG.
func (h *StandIn) Noted(log string) string { return Content(filepath.Join(h.Dir, "run", log)) }
