package integration

import (
	"strings"
	"syscall"
	"testing"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestCompatForced has images whose LD_LIBRARY_PATH forces a cuda-compat
// directory. It is covered where its libcuda fails on these GPUs (errors 803
// and 804), and never where it is the one that programs are to get.
func TestCompatForced(t *testing.T) {
	t.Parallel()
	need.Root(t)
	hidden := []string{"compat-hidden"}
	for _, c := range []struct {
		cudaCase
		path  string
		hides bool
	}{
		{path: compatDir, hides: true, cudaCase: cudaCase{
			name: "geforce, same major", host: "535", gpus: []string{rtx3090}, image: image12("550"),
			decision: compat.KindMinor, driver: 12020, count: 100, warnings: hidden,
		}},
		{path: "/usr/local/cuda/compat", hides: true, cudaCase: cudaCase{
			name: "geforce, through the link", host: "470", gpus: []string{rtx3090}, image: image12("550"),
			decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: []string{"compat-hidden", "cuda-incompatible"},
		}},
		{path: "/usr/local/cuda/compat:/usr/local/nvidia/lib64", hides: true, cudaCase: cudaCase{
			name: "geforce, host new enough", host: "550", gpus: []string{rtx3090}, image: image12("535"), env: []string{"CUDA_VERSION=12.4.1"},
			decision: compat.KindHost, driver: 12040, count: 100, warnings: hidden,
		}},
		{path: compatDir, hides: true, cudaCase: cudaCase{
			name: "older than the host", host: "550", image: image12("535"),
			decision: compat.KindHost, driver: 12040, count: 100, warnings: hidden,
		}},
		{path: "/usr/local/cuda/compat/lib", hides: true, cudaCase: cudaCase{
			name: "lib.real, geforce", host: "535", gpus: []string{rtx3090}, image: imageNGC,
			decision: compat.KindMinor, driver: 12020, count: 100, warnings: hidden,
		}},
		{path: "/usr/local/cuda/compat", cudaCase: cudaCase{
			name: "to be used", host: "470", image: image12("550"), overlay: compatDir,
			decision: compat.KindForward, driver: 12040, count: 100,
		}},
		{path: compatDir + "/lib", cudaCase: cudaCase{
			name: "lib.real, to be used", host: "470", image: imageNGC, overlay: compatDir + "/lib.real",
			decision: compat.KindForward, driver: 12040, count: 100,
		}},
		{path: compatDir, cudaCase: cudaCase{
			name: "the host's own version", host: "550", image: image12("550"), warnings: []string{"shadowed-libcuda"},
			decision: compat.KindHost, driver: 12040, count: 100,
		}},
		{path: compatDir, cudaCase: cudaCase{ // Without a GPU nothing says that this would be error 804.
			name: "off", host: "535", gpus: []string{rtx3090}, image: image12("550"), config: compatOff,
			decision: compat.KindMinor, driver: 12040, count: 100, warnings: []string{"compat-forced-by-image", "shadowed-libcuda"},
		}},
		{path: "/usr/local/nvidia/lib64:" + compatDir, hides: true, cudaCase: cudaCase{
			name: "behind ours", host: "535", gpus: []string{rtx3090}, image: image12("550"), warnings: hidden,
			decision: compat.KindMinor, driver: 12020, count: 100,
		}},
		{path: "/usr/local/nvidia/lib64:" + compatDir, cudaCase: cudaCase{ // Covering it would cover the one in lib.real.
			name: "older, lib.real to be used", host: "470", image: imageNested, overlay: compatDir + "/lib.real",
			decision: compat.KindForward, driver: 12040, count: 100,
		}},
		{path: compatDir, cudaCase: cudaCase{ // Covering it would cover the C library.
			name: "link to the library directory", host: "535", gpus: []string{rtx3090}, image: imageMixed,
			decision: compat.KindMinor, driver: 12040, count: 100, warnings: []string{"compat-forced-by-image", "shadowed-libcuda"},
		}},
	} {
		c.env = append(c.env, "LD_LIBRARY_PATH="+c.path)
		c.ask = "write:" + compatDir + "/new stat:" + compatDir + "/libcuda.so.1 stat:" + compatDir + "/lib/libcuda.so.1"
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.do(t)
			c.check(t, r)
			facts, _ := r.facts(t)
			if c.hides != (len(r.plan.Hidden) == 1) {
				t.Fatalf("hidden: %q, want one: %t", r.plan.Hidden, c.hides)
			}
			inside := "stat:" + compatDir + "/libcuda.so.1"
			if strings.HasPrefix(c.name, "lib.real") {
				inside = "stat:" + compatDir + "/lib/libcuda.so.1"
			}
			want := map[string]syscall.Errno{inside: 0, "write:" + compatDir + "/new": 0}
			if c.hides {
				want[inside] = syscall.ENOENT
				want["write:"+compatDir+"/new"] = syscall.EROFS
				if strings.HasPrefix(c.name, "lib.real") {
					want["write:"+compatDir+"/new"] = 0
				}
			}
			wantErrnos(t, facts, want)
			if c.hides && r.MountsBefore != r.MountsAfter {
				t.Errorf("mounts of the runtime's namespace changed")
			}
		})
	}
}

// imageNested has an older set in compat and a newer one in compat/lib.real.
func imageNested(t *testing.T, root string) {
	t.Helper()
	imageNGC(t, root)
	lab.CompatPackage(t, lab.DriverFiles(t, "450"), root+compatDir)
}

// imageMixed has the libraries of cuda-compat beside the C library, and compat
// is a link to them.
func imageMixed(t *testing.T, root string) {
	t.Helper()
	image12("")(t, root)
	lab.CompatPackage(t, lab.DriverFiles(t, "550"), root+"/usr/lib/x86_64-linux-gnu")
	lab.Link(t, "/usr/lib/x86_64-linux-gnu", root+compatDir)
}

// TestCompatShadowed has an image's own libcuda where it wins over every choice
// of ours: a warning names it.
func TestCompatShadowed(t *testing.T) {
	t.Parallel()
	need.Root(t)
	elsewhere := func(dir string) func(t *testing.T, root string) {
		return func(t *testing.T, root string) {
			t.Helper()
			image12("550")(t, root)
			lab.CompatPackage(t, lab.DriverFiles(t, "535"), root+dir)
		}
	}
	for _, c := range []cudaCase{
		{
			name: "LD_LIBRARY_PATH", host: "550", image: elsewhere("/opt/app/lib"), env: []string{"LD_LIBRARY_PATH=/opt/app/lib"},
			decision: compat.KindHost, driver: 12020, count: 100, warnings: []string{"shadowed-libcuda"},
		},
		{
			name: "behind ours", host: "550", image: elsewhere("/opt/app/lib"), env: []string{"LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/opt/app/lib"},
			decision: compat.KindHost, driver: 12040, count: 100,
		},
		{name: "library directory", host: "550", image: elsewhere("/usr/lib/x86_64-linux-gnu"), decision: compat.KindHost, driver: 12040, count: 100, reload: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.do(t)
			c.check(t, r)
			for _, w := range r.plan.Warnings {
				if w.Code == "shadowed-libcuda" && !strings.Contains(w.Message, "/opt/app/lib/libcuda.so.1") {
					t.Errorf("warning %q, want the path in it", w.Message)
				}
			}
			if strings.Contains(r.Log, "shadowed-libcuda") != (c.warnings != nil) {
				t.Errorf("log: %s", r.Log)
			}
		})
	}
}
