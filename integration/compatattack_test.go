package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// hookLimit is what one run of the hook may take on a busy machine, whatever an
// image holds; a hang takes longer.
const hookLimit = 20 * time.Second

// TestCompatAttacks puts everything but a cuda-compat package where one is
// looked for. The hook ends soon, takes nothing from there, and no host path is
// read, linked to, mounted or hidden.
func TestCompatAttacks(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := cudaHost(t, "470")
	base := imageOf(t, image12(""))
	const far = "libcuda.so.999.1"
	link := func(target string) func(t *testing.T, root, canary string) {
		return func(t *testing.T, root, canary string) {
			t.Helper()
			lab.Link(t, strings.ReplaceAll(target, "CANARY", canary), root+compatDir)
		}
	}
	inside := func(plant func(t *testing.T, dir, canary string)) func(t *testing.T, root, canary string) {
		return func(t *testing.T, root, canary string) {
			t.Helper()
			if err := os.MkdirAll(root+compatDir, 0o755); err != nil {
				t.Fatal(err)
			}
			plant(t, root+compatDir, canary)
			lab.Link(t, far, root+compatDir+"/libcuda.so.1")
		}
	}
	sparse := func(size int64) func(t *testing.T, dir, _ string) {
		return func(t *testing.T, dir, _ string) {
			t.Helper()
			lab.Write(t, dir+"/"+far, "\x7fELF\x02\x01\x01")
			if err := os.Truncate(dir+"/"+far, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name  string
		plant func(t *testing.T, root, canary string)
	}{
		{name: "link to the root", plant: link("/")},
		{name: "link to the root upwards", plant: link("../../../../../../../..")},
		{name: "link to proc", plant: link("/proc")},
		{name: "link to the host's root in proc", plant: link("/proc/self/root")},
		{name: "link to a working directory in proc", plant: link("/proc/1/cwd")},
		{name: "link to itself", plant: link("compat")},
		{name: "link to a host path", plant: link("CANARY")},
		{name: "link to a host path upwards", plant: link("../../../../../../../../../../../../../..CANARY")},
		{name: "link to a host path through proc", plant: link("/proc/1/rootCANARY")},
		{name: "link to the library directory", plant: link("/usr/lib/x86_64-linux-gnu")},
		{name: "link to dev", plant: link("/dev")},
		{name: "FIFO", plant: func(t *testing.T, root, _ string) { mkfifo(t, root+compatDir) }},
		{name: "file", plant: func(t *testing.T, root, _ string) { lab.Write(t, root+compatDir, "x") }},
		{name: "toolkit is a loop", plant: func(t *testing.T, root, _ string) {
			remove(t, root+"/usr/local/cuda")
			lab.Link(t, "cuda", root+"/usr/local/cuda")
		}},
		{name: "usr local is the host's", plant: func(t *testing.T, root, canary string) {
			remove(t, root+"/usr/local")
			lab.Link(t, canary, root+"/usr/local")
		}},
		{name: "libcuda is a directory", plant: inside(func(t *testing.T, dir, _ string) { lab.Write(t, dir+"/"+far+"/x", "x") })},
		{name: "libcuda is a FIFO", plant: inside(func(t *testing.T, dir, _ string) { mkfifo(t, dir+"/"+far) })},
		{name: "libcuda is a link to zero", plant: inside(func(t *testing.T, dir, _ string) { lab.Link(t, "/dev/zero", dir+"/"+far) })},
		{name: "libcuda is a link to a host file", plant: inside(func(t *testing.T, dir, canary string) { lab.Link(t, canary+"/"+far, dir+"/"+far) })},
		{name: "libcuda is a link to itself", plant: inside(func(t *testing.T, dir, _ string) { lab.Link(t, far, dir+"/"+far) })},
		{name: "libcuda is text", plant: inside(func(t *testing.T, dir, _ string) { lab.Write(t, dir+"/"+far, "INPUT(-lc)\n") })},
		{name: "libcuda is empty", plant: inside(func(t *testing.T, dir, _ string) { lab.Write(t, dir+"/"+far, "") })},
		{name: "libcuda is huge", plant: inside(sparse(1 << 40))},
		{name: "libcuda is cut", plant: inside(sparse(40))},
		{name: "many files", plant: inside(func(t *testing.T, dir, _ string) {
			for i := range 5000 {
				lab.Link(t, "/dev/zero", dir+"/"+far+"."+strings.Repeat("0", i%50)+string(rune('a'+i%26))+time.Duration(i).String())
			}
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			hostDir := canary(t)
			lab.Install(t, lab.DriverFiles(t, "550").Dir+"/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.550.163.01", hostDir+"/"+far)
			lab.Link(t, far, hostDir+"/libcuda.so.1")
			root := filepath.Join(lab.Temp(t), "rootfs")
			lab.CopyTree(t, base, root)
			tt.plant(t, root, hostDir)
			before := lab.Tree(t, hostDir)
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Config: lab.NoCgroups,
				Env: askAll("LD_LIBRARY_PATH="+compatDir+":/usr/local/cuda/compat", "CUDA_VERSION=12.4.1", disableRequire),
			})
			start := time.Now()
			got := lab.RunDirect(t, b, lab.Direct{
				Setup:  "mount -t proc proc $ROOT/proc; mknod $ROOT/dev/zero c 1 5\n",
				Inside: planInside(b) + "readlink $ROOT/usr/local/nvidia/lib64/libcuda.so.1; grep -c " + hostDir + " /proc/self/mountinfo; chroot $ROOT /bin/witness driver:libcuda.so.1",
			})
			if took := time.Since(start); took > hookLimit || got.Code == 124 || got.Code == 137 {
				t.Errorf("the hook ended with %d after %v", got.Code, took)
			}
			wantUnchanged(t, "the canary", before, lab.Tree(t, hostDir))
			if got.Code != 0 {
				wantOneLine(t, got.Result, refusals()...)
				return
			}
			if !strings.Contains(got.Inside, "libcuda.so.470.256.02\n0\n") {
				t.Errorf("want the host's libcuda and no mount of the canary:\n%s", got.Inside)
			}
			if f := got.Facts["driver:libcuda.so.1"]; f.Value != 11040 {
				t.Errorf("cuDriverGetVersion = %+v, want the host's 11040", f)
			}
			wantNothingTaken(t, read(t, b.Dir+"/plan.json"), hostDir)
		})
	}
}

// planInside writes the plan as the container's namespace has it.
func planInside(b *lab.Bundle) string {
	return "timeout -k 1 20 " + b.PlanScript("json", "plan.json")
}

// wantNothingTaken checks a plan for a decision and paths that an attack on
// cuda-compat would give.
func wantNothingTaken(t *testing.T, text, hostDir string) {
	t.Helper()
	var p hook.Plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("read the plan: %v", err)
	}
	if p.Compat.Decision != "incompatible" || p.Compat.Overlay != "" || p.Hidden != nil {
		t.Errorf("decision %q, overlay %q, hidden %q; want none of them", p.Compat.Decision, p.Compat.Overlay, p.Hidden)
	}
	for _, l := range p.Symlinks {
		if strings.HasPrefix(l.Target, hostDir) || strings.HasPrefix(l.Path, hostDir) {
			t.Errorf("a link with a host path: %+v", l)
		}
	}
	for _, m := range p.Mounts {
		if strings.HasPrefix(m.Source, hostDir) || strings.HasPrefix(m.Source, p.Container.Rootfs) {
			t.Errorf("a mount of a path of the image: %+v", m)
		}
	}
}
