package integration

import (
	"io/fs"
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

// richHost has one of everything that a container can ask for, in small.
func richHost(t *testing.T) *lab.StandIn {
	t.Helper()
	h := lab.Host(t, lab.HostSpec{Driver: lab.MadeDriver(t, "535.261.03", 12020), Layout: lab.Debian, GPUs: lab.GPUs(2, lab.A100)})
	for _, name := range []string{"libEGL_nvidia", "libGLX_nvidia", "libnvidia-eglcore", "libnvidia-glcore", "libnvidia-glsi", "libnvidia-tls"} {
		soname := name + ".so.0"
		if strings.Contains(name, "libnvidia") {
			soname = name + ".so." + h.Version
		}
		lab.Library(t, filepath.Join(h.Dir, "usr/lib/x86_64-linux-gnu/nvidia/current", name+".so."+h.Version), soname, 0)
	}
	h.MIG(t, 1)
	h.IMEX(t, 3)
	h.DRI(t)
	h.FeatureNodes(t, "dev")
	for _, socket := range []string{"run/nvidia-persistenced/socket", "run/nvidia-fabricmanager/socket", "tmp/nvidia-mps/control"} {
		h.Socket(t, socket)
	}
	list := `{"ICD": {"library_path": "/usr/lib/x86_64-linux-gnu/libGLX_nvidia.so.0"}}` + "\n"
	for name, text := range map[string]string{
		"lib/firmware/nvidia/" + h.Version + "/gsp_ga10x.bin": "firmware\n", "etc/cufile.json": "{}\n", "run/udev/data/b8:0": "x\n",
		"usr/share/vulkan/icd.d/nvidia_icd.json": list, "usr/share/glvnd/egl_vendor.d/10_nvidia.json": list, "etc/OpenCL/vendors/nvidia.icd": "libnvidia-opencl.so.1\n",
		"sys/module/firmware_class/parameters/path": "\n",
	} {
		lab.Write(t, filepath.Join(h.Dir, name), text)
	}
	return h
}

// damage puts something else in the place of a host's file or directory, which
// has been moved away.
type damage struct {
	name string
	put  func(t *testing.T, at string)
}

func damages() []damage {
	write := func(text string) func(*testing.T, string) {
		return func(t *testing.T, at string) { t.Helper(); lab.Write(t, at, text) }
	}
	return []damage{
		{"removed", func(*testing.T, string) {}},
		{"empty", write("")},
		{"nonsense", write("\x00\x7fELF: no, -1 99999999999999999999\n\n \xff\n")},
		{"huge", write(strings.Repeat("Device Minor: 0 ", 1<<18))},
		{"directory", func(t *testing.T, at string) {
			t.Helper()
			if err := os.Mkdir(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"fifo", mkfifo},
		{"loop", func(t *testing.T, at string) { t.Helper(); lab.Link(t, filepath.Base(at), at) }},
		{"dangling", func(t *testing.T, at string) { t.Helper(); lab.Link(t, "/nowhere/at/all", at) }},
	}
}

// TestDamagedHost spoils one item of a host after the other and asks for
// everything. The plan succeeds, and says what is missing or is the same as
// before, or there is one error with a code and a cure. It never panics and
// never hangs.
func TestDamagedHost(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := richHost(t)
	root := lab.Root(t, lab.Glibc)
	b := lab.NewBundle(t, root, lab.Options{
		Host: host, Config: lab.NoCgroups, Env: []string{
			"NVIDIA_VISIBLE_DEVICES=0,1:0", "NVIDIA_DRIVER_CAPABILITIES=all", "NVIDIA_IMEX_CHANNELS=3", "NVIDIA_GDS=enabled", "NVIDIA_MOFED=enabled",
			"NVIDIA_GDRCOPY=enabled", "NVIDIA_NVSWITCH=enabled",
		},
	})
	whole := plannedOK(t, b)
	if len(whole.Warnings) != 0 || len(whole.Notes) != 0 {
		t.Fatalf("the whole host has warnings %v and notes %v", whole.Warnings, whole.Notes)
	}
	outcomes := map[string]int{}
	for _, item := range hostItems(t, host.Dir) {
		at, aside := filepath.Join(host.Dir, item), filepath.Join(lab.Temp(t), "aside")
		for _, d := range damages() {
			if err := os.Rename(at, aside); err != nil {
				t.Fatal(err)
			}
			d.put(t, at)
			p := planned(t, b)
			outcomes[judge(t, item, d.name, whole, p)]++
			remove(t, at)
			if err := os.Rename(aside, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("outcomes: %v", outcomes)
	if diff := cmp.Diff(whole, planned(t, b)); diff != "" {
		t.Errorf("the host did not come back as it was:\n%s", diff)
	}
}

// judge looks at the plan for a host with one damaged item.
func judge(t *testing.T, item, how string, whole, p hook.Plan) string {
	t.Helper()
	switch {
	case p.Exit.Code == 2 || p.Exit.Code > 19 || p.Exit.Code < 0:
		t.Errorf("%s %s: exit code %d: %s", item, how, p.Exit.Code, p.Exit.Line)
		return "bad code"
	case p.Exit.Code != 0:
		if p.Exit.Cure == "" || p.Exit.Code == 1 || p.Exit.Line == "" || strings.Contains(p.Exit.Line, "\n") {
			t.Errorf("%s %s: exit code %d without a name or a cure: %s", item, how, p.Exit.Code, p.Exit.Line)
		}
		return "error"
	case p.Action == hook.None:
		t.Errorf("%s %s: the container gets nothing: %s", item, how, p.Reason)
		return "nothing"
	case len(p.Warnings) > 0:
		return "warning"
	case len(p.Notes) > 0, p.Proc != nil && p.Proc.Note != whole.Proc.Note:
		return "note"
	case cmp.Equal(whole, p):
		return "no difference"
	}
	for _, kind := range silent() {
		if strings.HasPrefix(item, kind.item) && (!kind.removed || how == "removed" || how == "directory" || how == "dangling") {
			return "left out"
		}
	}
	t.Errorf("%s %s: the plan is another and says nothing of it:\n%s", item, how, cmp.Diff(whole, p))
	return "silent"
}

// silent lists what a host may lack, or have in another form, without a word.
func silent() []struct {
	item    string // beginning of its path
	removed bool   // only its absence is: something else in its place is reported
	why     string
} {
	return []struct {
		item    string
		removed bool
		why     string
	}{
		{"dev", true, "nodes are made from the driver's own numbers where the host has none"},
		{"etc/OpenCL", false, "a host without OpenCL's package"},
		{"sys/bus/pci/devices/0000:10:00.0/device", false, "only requirements on the architecture ask for the chip"},
		{"sys/bus/pci/devices/0000:20:00.0/device", false, "the same"},
		{"sys/bus/pci/devices/0000:10:00.0/drm", true, "a GPU without a display has no card node"},
		{"sys/bus/pci/devices/0000:20:00.0/drm", true, "the same"},
		{"usr/lib/firmware", false, "GPUs before Turing and drivers before 510 have none"},
	}
}

// hostItems are the names below a host's directory that the hook may look at,
// directories as well.
func hostItems(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, dir+"/")
		deep := strings.Count(rel, "/") > 0 || slices.Contains([]string{"proc", "sys", "dev", "run"}, rel)
		if err == nil && rel != dir && deep && !strings.HasSuffix(rel, "/null") {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
