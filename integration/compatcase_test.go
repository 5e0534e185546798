package integration

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// GPUs of the classes that matter to cuda-compat.
const (
	rtx3090 = "NVIDIA GeForce RTX 3090"
	rtx6000 = "NVIDIA RTX A6000"
)

// cudaCase is a container on a host, and what is wanted of the two.
type cudaCase struct {
	name   string
	host   string // driver branch: "450", "470", "535" or "550"
	gpus   []string
	image  func(t *testing.T, root string)
	env    []string // beside the request for all GPUs
	legacy bool     // no such request: the image is older than those variables
	config string
	ask    string // more questions for the witness
	reload bool   // ask again after the container's own ldconfig

	decision compat.Kind
	driver   int    // cuDriverGetVersion
	count    int    // cudaGetDeviceCount: 100 no device, 35 driver too old
	overlay  string // where it lies, as the container sees it
	warnings []string
	reason   string // part of the decision's reason
}

// cudaRun is how such a container went.
type cudaRun struct {
	lab.Result
	plan   hook.Plan
	text   string // the plan as people read it
	bundle *lab.Bundle
}

// cudaHost is a stand-in host with files of a driver branch.
func cudaHost(t *testing.T, branch string, models ...string) *lab.StandIn {
	t.Helper()
	t.Helper()
	if len(models) == 0 {
		models = []string{lab.A100}
	}
	gpus := lab.GPUs(len(models), "")
	for i := range gpus {
		gpus[i].Model = models[i]
	}
	return lab.Host(t, lab.HostSpec{Driver: lab.DriverFiles(t, branch), GPUs: gpus})
}

// askAll asks for all GPUs as CUDA images do.
func askAll(more ...string) []string {
	return append([]string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"}, more...)
}

// visibleScript lists what stands behind each name of the driver's in the
// directories that a program can find it in. What layout "direct" leaves behind is
// empty and no library.
const visibleScript = `
for f in /usr/local/nvidia/lib64/* /usr/lib/x86_64-linux-gnu/lib*cuda* /usr/lib/x86_64-linux-gnu/libnv*; do
	[ -s $f ] && echo "SEES $f $(readlink -f $f)"
done
while read line; do echo "MOUNT $line"; done </proc/self/mountinfo
`

// questions ask for libcuda, its compiler and the runtime library.
func (c cudaCase) questions() string {
	return "/bin/witness " + c.ask + " driver:libcuda.so.1 load:libnvidia-ptxjitcompiler.so.1 runtime:libcudart.so.11.0 runtime:libcudart.so.12\n"
}

// do runs the case with runc, on a host and an image of its own.
func (c cudaCase) do(t *testing.T) cudaRun {
	t.Helper()
	return c.run(t, lab.Runc(t), cudaHost(t, c.host, c.gpus...), imageOf(t, c.image))
}

// run starts the container and makes its plan in the same box.
func (c cudaCase) run(t *testing.T, rt lab.Runtime, host *lab.StandIn, image string) cudaRun {
	t.Helper()
	env := askAll(c.env...)
	if c.legacy {
		env = c.env
	}
	script := c.questions() + visibleScript
	if c.reload {
		script += "echo RELOAD; ldconfig 2>&1; " + c.questions()
	}
	b := lab.NewBundle(t, image, lab.Options{
		Host: host, Overlay: true, Env: env, Config: c.config,
		Args: []string{"/bin/sh", "-c", script},
	})
	return runCUDA(t, rt, b)
}

// runCUDA runs a bundle that is there already, its plan first.
func runCUDA(t *testing.T, rt lab.Runtime, b *lab.Bundle) cudaRun {
	t.Helper()
	box := lab.Box{}
	if rt.Name == "crun" {
		box.Cgroups = lab.V1 // crun 1.8 starts nothing on a mixture.
	}
	box.Setup = b.PlanScript("json", "plan.json") + b.PlanScript("text", "plan.txt")
	r := cudaRun{Result: lab.Run(t, rt, b, box), bundle: b}
	r.text = read(t, b.Dir+"/plan.txt")
	if err := json.Unmarshal([]byte(read(t, b.Dir+"/plan.json")), &r.plan); err != nil {
		t.Fatalf("read the plan: %v", err)
	}
	return r
}

// facts splits what the witness said: at the start and after ldconfig.
func (r cudaRun) facts(t *testing.T) (before, after lab.Facts) {
	t.Helper()
	first, second, _ := strings.Cut(r.Stdout, "RELOAD\n")
	return lab.ParseFacts(t, first), lab.ParseFacts(t, second)
}

// codes are those of the plan's warnings, without the ones about the host that
// every plan on a stand-in has.
func (r cudaRun) codes() []string {
	var out []string
	for _, w := range r.plan.Warnings {
		about := strings.HasPrefix(w.Code, "compat-") || strings.HasPrefix(w.Code, "cuda-") || strings.HasPrefix(w.Code, "shadowed-") ||
			strings.HasPrefix(w.Code, "requirement-") || strings.HasPrefix(w.Code, "runtime-") || strings.HasPrefix(w.Code, "driver-cuda") || w.Code == "no-compute"
		if about && !slices.Contains(out, w.Code) {
			out = append(out, w.Code)
		}
	}
	return out
}

// check compares a container that was to start with what is wanted.
func (c cudaCase) check(t *testing.T, r cudaRun) {
	t.Helper()
	if r.Code != 0 {
		t.Fatalf("the runtime ended with %d: %s\nlog:\n%s\nplan:\n%s", r.Code, r.Stderr, r.Log, r.text)
	}
	before, after := r.facts(t)
	p := r.plan.Compat
	t.Logf("CASE | %s | %s | %s | %s | %d | %d | %s", t.Name(), c.host, p.Decision, p.Overlay,
		before["driver:libcuda.so.1"].Value, count(before), strings.Join(r.codes(), " "))
	if p.Decision != string(c.decision) || p.Overlay != c.overlay {
		t.Errorf("decision %q with overlay %q, want %q with %q: %s", p.Decision, p.Overlay, c.decision, c.overlay, p.Reason)
	}
	if !strings.Contains(p.Reason, c.reason) {
		t.Errorf("reason %q, want %q in it", p.Reason, c.reason)
	}
	if !slices.Equal(r.codes(), c.warnings) {
		t.Errorf("warnings %q, want %q:\n%s", r.codes(), c.warnings, r.text)
	}
	c.checkFacts(t, "at the start", r, before)
	if c.reload {
		c.checkFacts(t, "after ldconfig", r, after)
	}
}

// count is what cudaGetDeviceCount of the image's runtime library said.
func count(f lab.Facts) int {
	for _, fact := range f {
		if fact.Op == "runtime" && fact.Error == "" {
			return fact.Code
		}
	}
	return -1
}

func (c cudaCase) checkFacts(t *testing.T, when string, r cudaRun, f lab.Facts) {
	t.Helper()
	cuda := f["driver:libcuda.so.1"]
	if cuda.Value != c.driver || cuda.Error != "" {
		t.Errorf("%s: cuDriverGetVersion = %+v, want %d", when, cuda, c.driver)
	}
	if got := count(f); got != c.count {
		t.Errorf("%s: cudaGetDeviceCount = %d, want %d: %+v", when, got, c.count, f)
	}
	if c.decision == compat.KindForward {
		wantOneSet(t, when, c.overlay, r, f)
	}
}

// wantOneSet checks that the parts of the driver that belong together come from
// one directory, and that no other version of them can be found.
func wantOneSet(t *testing.T, when, dir string, r cudaRun, f lab.Facts) {
	t.Helper()
	cuda, jit := f["driver:libcuda.so.1"], f["load:libnvidia-ptxjitcompiler.so.1"]
	if got := filepath.Dir(cuda.Real); got != dir {
		t.Errorf("%s: libcuda comes from %s, want %s", when, got, dir)
	}
	if jit.Error != "" || filepath.Dir(jit.Real) != dir {
		t.Errorf("%s: libnvidia-ptxjitcompiler = %+v, want it from %s", when, jit, dir)
	}
	seen := 0
	for line := range strings.Lines(r.Stdout) {
		if rest, ok := strings.CutPrefix(line, "SEES "); ok {
			name, leads, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if !slices.ContainsFunc(setStems(), func(stem string) bool { return strings.HasPrefix(filepath.Base(name), stem) }) {
				continue
			}
			if seen++; filepath.Dir(leads) != dir {
				t.Errorf("%s leads to %s, want one version of the set, in %s", name, leads, dir)
			}
		}
		// A mount of an image's file would have the type of the root.
		if rest, ok := strings.CutPrefix(line, "MOUNT "); ok && strings.Contains(rest, " - overlay ") && strings.Fields(rest)[4] != "/" {
			t.Errorf("a path of the image is mounted: %s", rest)
		}
	}
	if seen < 3 {
		t.Errorf("the container sees %d names of the set:\n%s", seen, r.Stdout)
	}
	for _, m := range r.plan.Mounts {
		if strings.HasPrefix(m.Source, r.plan.Container.Rootfs) {
			t.Errorf("the plan mounts a path of the image: %+v", m)
		}
	}
}

// setStems begin the names of the libraries that must be of one version.
func setStems() []string {
	return []string{"libcuda.so", "libcudadebugger.so", "libnvidia-nvvm.so", "libnvidia-ptxjitcompiler.so"}
}
