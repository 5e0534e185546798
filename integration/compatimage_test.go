package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// pythonSite is where pip puts wheels in a Python image.
const pythonSite = "/usr/local/lib/python3.11/site-packages"

// imageWheel has CUDA 12.4 as a Python wheel alone, as pip leaves it.
func imageWheel(t *testing.T, root string) {
	t.Helper()
	site := filepath.Join(root, pythonSite)
	lab.Install(t, lab.Cudart(t, "12.4")+"/libcudart.so.12", site+"/nvidia/cuda_runtime/lib/libcudart.so.12")
	lab.Write(t, site+"/nvidia_cuda_runtime_cu12-12.4.127.dist-info/METADATA", "Name: nvidia-cuda-runtime-cu12\nVersion: 12.4.127\n")
}

// imageBoth has two toolkits.
func imageBoth(t *testing.T, root string) {
	t.Helper()
	lab.Toolkit(t, root, "12.4")
	lab.Toolkit(t, root, "11.8")
}

// imageAlternatives reaches its cuda-compat package through absolute links, as
// Debian's alternatives make them.
func imageAlternatives(t *testing.T, root string) {
	t.Helper()
	image12("550")(t, root)
	if err := os.Remove(root + "/usr/local/cuda"); err != nil {
		t.Fatal(err)
	}
	lab.Link(t, "/etc/alternatives/cuda", root+"/usr/local/cuda")
	lab.Link(t, "/usr/local/cuda-12.4", root+"/etc/alternatives/cuda")
}

// imageElsewhere has its toolkit outside /usr/local: only the absolute links
// lead there.
func imageElsewhere(t *testing.T, root string) {
	t.Helper()
	imageAlternatives(t, root)
	move(t, root+"/usr/local/cuda-12.4", root+"/opt/nvidia/cuda")
	if err := os.Remove(root + "/etc/alternatives/cuda"); err != nil {
		t.Fatal(err)
	}
	lab.Link(t, "/opt/nvidia/cuda", root+"/etc/alternatives/cuda")
}

// imageNGC keeps the libraries in compat/lib.real, to which compat/lib leads.
func imageNGC(t *testing.T, root string) {
	t.Helper()
	image12("")(t, root)
	lab.CompatPackage(t, lab.DriverFiles(t, "550"), root+compatDir+"/lib.real")
	lab.Link(t, "lib.real", root+compatDir+"/lib")
}

// imageOwn has a driver of its own in the library directory, as images made of
// running containers have.
func imageOwn(t *testing.T, root string) {
	t.Helper()
	image12("550")(t, root)
	lab.CompatPackage(t, lab.DriverFiles(t, "535"), root+"/usr/lib/x86_64-linux-gnu")
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestCompatImages finds runtime and cuda-compat in images of many makes.
func TestCompatImages(t *testing.T) {
	t.Parallel()
	need.Root(t)
	wheel := "runtime:" + pythonSite + "/nvidia/cuda_runtime/lib/libcudart.so.12"
	const ngcPath = "LD_LIBRARY_PATH=/usr/local/cuda/compat/lib:/usr/local/nvidia/lib:/usr/local/nvidia/lib64"
	incompatible := []string{"cuda-incompatible"}
	for _, c := range []cudaCase{
		{name: "detected", host: "470", image: image12(""), decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: incompatible, reason: "libcudart.so.12.4.127"},
		{name: "wheel", host: "470", image: imageWheel, ask: wheel, decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: incompatible, reason: "nvidia_cuda_runtime_cu12-12.4.127.dist-info"},
		{name: "wheel, same major", host: "535", image: imageWheel, ask: wheel, decision: compat.KindMinor, driver: 12020, count: 100},
		{name: "wheel, newer host", host: "550", image: imageWheel, ask: wheel, decision: compat.KindHost, driver: 12040, count: 100},
		{name: "legacy", host: "470", image: image12("550"), env: []string{"CUDA_VERSION=12.4.1"}, legacy: true, decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir},
		{name: "legacy, same major", host: "535", image: image12(""), env: []string{"CUDA_VERSION=12.4.1"}, legacy: true, decision: compat.KindMinor, driver: 12020, count: 100},
		{name: "two toolkits", host: "535", image: imageBoth, decision: compat.KindMinor, driver: 12020, count: 100, reason: "needs CUDA 12.4"},
		{name: "alternatives", host: "470", image: imageAlternatives, decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir},
		{name: "outside usr local", host: "470", image: imageElsewhere, decision: compat.KindForward, driver: 12040, count: 100, overlay: "/opt/nvidia/cuda/compat"},
		{name: "lib.real", host: "470", image: imageNGC, env: []string{ngcPath}, decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir + "/lib.real"},
		{name: "nothing known", host: "470", image: func(*testing.T, string) {}, decision: compat.KindHost, driver: 11040, count: -1, reason: "no CUDA version was found"},
		{name: "overlay without need", host: "550", image: imageOwn, decision: compat.KindHost, driver: 12040, count: 100},
	} {
		c.reload = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.do(t)
			c.check(t, r)
			if notes := strings.Join(r.plan.Compat.Notes, " "); (c.name == "two toolkits") != strings.Contains(notes, "also holds CUDA 11.8") {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// TestCompatOwnDriver has an image with a driver of its own in the very
// directory where programs look: the set chosen wins over it.
func TestCompatOwnDriver(t *testing.T) {
	t.Parallel()
	need.Root(t)
	for _, tt := range []struct {
		name, path, config string
		once               bool // ldconfig in the container brings the image's back
	}{
		{name: "cache"},
		{name: "tree in LD_LIBRARY_PATH", path: "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"},
		{name: "compat in LD_LIBRARY_PATH", path: "/usr/local/cuda/compat"},
		{name: "direct", config: "[mounts]\nlayout = \"direct\"\n", once: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := cudaCase{host: "470", image: imageOwn, env: []string{"LD_LIBRARY_PATH=" + tt.path}, config: tt.config, reload: true}
			r := c.do(t)
			before, after := r.facts(t)
			for when, facts := range map[string]lab.Facts{"at the start": before, "after ldconfig": after} {
				if when != "at the start" && tt.once {
					if !strings.Contains(r.text, "image-file: the image has its own \"/usr/lib/x86_64-linux-gnu/libcuda.so.1\"") {
						t.Errorf("no warning of the image's own libcuda:\n%s", r.text)
					}
					continue
				}
				cuda, jit := facts["driver:libcuda.so.1"], facts["load:libnvidia-ptxjitcompiler.so.1"]
				if cuda.Value != 12040 || count(facts) != 100 || filepath.Dir(cuda.Real) != compatDir || filepath.Dir(jit.Real) != compatDir {
					t.Errorf("%s: %+v, %+v, cudaGetDeviceCount %d, want the set of %s\n%s", when, cuda, jit, count(facts), compatDir, r.text)
				}
			}
		})
	}
}
