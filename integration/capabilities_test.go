package integration

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

var update = flag.Bool("update", false, "write the lists of testdata/capabilities anew")

// fullHost is a stand-in host with every file of Debian's 535 packages, DRI
// nodes and firmware, and no socket.
func fullHost(t *testing.T, layout lab.Layout, gpus int) *lab.StandIn {
	t.Helper()
	driver := lab.FullDriver(t)
	h := lab.Host(t, lab.HostSpec{Driver: driver, Layout: layout, GPUs: lab.GPUs(gpus, lab.A100)})
	h.DRI(t)
	lab.Write(t, filepath.Join(h.Dir, "lib/firmware/nvidia", driver.Version, "gsp_ga10x.bin"), "firmware\n")
	return h
}

// TestCapabilities compares what each capability brings on a full host with a
// list that was looked through by hand. NVIDIA's version is written as V.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := lab.Root(t, lab.Glibc)
	for _, layout := range []struct {
		name string
		of   lab.Layout
	}{{"debian", lab.Debian}, {"installer", lab.Plain}} {
		host := fullHost(t, layout.of, 2)
		for _, capability := range []string{"utility", "compute", "video", "graphics", "display", "ngx", "compat32", "all"} {
			t.Run(layout.name+"-"+capability, func(t *testing.T) {
				t.Parallel()
				b := planBundle(t, host, root, "NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_DRIVER_CAPABILITIES="+capability)
				p := plannedOK(t, b)
				for _, w := range p.Warnings {
					t.Errorf("warning %s: %s", w.Code, w.Message)
				}
				got := strings.ReplaceAll(describePlan(p), host.Version, "V")
				file := filepath.Join("testdata/capabilities", layout.name+"-"+capability+".txt")
				if *update {
					lab.Write(t, file, got)
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
				wantNoNeutral(t, p)
			})
		}
	}
}

// describePlan lists what the container gets, one thing a line.
func describePlan(p hook.Plan) string {
	var lines []string
	for _, n := range p.DeviceNodes {
		lines = append(lines, "node "+n.Path+" "+n.Mode)
	}
	for _, m := range p.Mounts {
		lines = append(lines, "file "+m.Target)
	}
	for _, l := range p.Symlinks {
		lines = append(lines, "link "+l.Path+" -> "+l.Target)
	}
	for _, text := range p.Texts {
		lines = append(lines, "text "+text.Path)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// neutralNames are libraries that belong to no vendor: the image's own or none.
func neutralNames() []string {
	return []string{
		"libGL.so", "libGLX.so", "libEGL.so", "libGLdispatch.so", "libOpenGL.so", "libGLESv1_CM.so", "libGLESv2.so", "libOpenCL.so",
		"libvulkan.so", "libgbm.so", "libvdpau.so", "libcudart.so",
	}
}

// wantNoNeutral checks that a plan touches no vendor-neutral name.
func wantNoNeutral(t *testing.T, p hook.Plan) {
	t.Helper()
	for line := range strings.Lines(describePlan(p)) {
		for _, name := range neutralNames() {
			if strings.Contains(line, "/"+name) {
				t.Errorf("a vendor-neutral library is planned: %s", line)
			}
		}
	}
}
