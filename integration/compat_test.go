package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestCompatRows has the five rows of the design: driver, runtime and overlay
// against the decision, and what a program in the container sees of it.
func TestCompatRows(t *testing.T) {
	t.Parallel()
	need.Root(t)
	declares := func(version string) []string { return []string{"CUDA_VERSION=" + version} }
	rows := []cudaCase{
		{name: "host 550 cudart 12.4", host: "550", image: image12(""), env: declares("12.4.1"), decision: compat.KindHost, driver: 12040, count: 100},
		{name: "host 550 cudart 11.8", host: "550", image: image11, env: declares("11.8.0"), decision: compat.KindHost, driver: 12040, count: 100},
		{
			name: "host 470 cudart 12.4", host: "470", image: image12(""), env: declares("12.4.1"), config: onMismatchWarn,
			decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: []string{"cuda-incompatible"},
		},
		{name: "host 450 cudart 11.8", host: "450", image: image11, env: declares("11.8.0"), decision: compat.KindMinor, driver: 11000, count: 100},
		{
			name: "host 470 cudart 12.4 overlay 550", host: "470", image: image12("550"), env: declares("12.4.1"),
			decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir,
		},
	}
	variants := []struct {
		name, config string
		runtime      func(lab.T) lab.Runtime
	}{
		{name: "runc", runtime: lab.Runc},
		{name: "crun", runtime: lab.Crun},
		{name: "direct", runtime: lab.Runc, config: "[mounts]\nlayout = \"direct\"\n"},
	}
	for _, c := range rows {
		host, image := cudaHost(t, c.host, c.gpus...), imageOf(t, c.image)
		for _, variant := range variants {
			t.Run(variant.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				c.config += variant.config
				c.reload = true
				c.check(t, c.run(t, variant.runtime(t), host, image))
			})
		}
	}
}

// compatDir is where cuda-compat-12-4 lies in an image.
const compatDir = "/usr/local/cuda-12.4/compat"

// Configurations of [compat].
const (
	onMismatchWarn = "[compat]\non-mismatch = \"warn\"\n"
	onMismatchFail = "[compat]\non-mismatch = \"fail\"\n"
	compatOff      = "[compat]\nmode = \"off\"\n"
	compatForce    = "[compat]\nmode = \"force\"\n"
)

// imageOf is a container root with more in it.
func imageOf(t *testing.T, build func(t *testing.T, root string)) string {
	t.Helper()
	root := lab.Root(t, lab.Glibc)
	build(t, root)
	return root
}

// image11 is an image with CUDA 11.8.
func image11(t *testing.T, root string) {
	t.Helper()
	lab.Toolkit(t, root, "11.8")
}

// image12 is an image with CUDA 12.4 and, unless branch is "", with that
// branch's libraries in the place of the cuda-compat package.
func image12(branch string) func(t *testing.T, root string) {
	return func(t *testing.T, root string) {
		t.Helper()
		lab.Toolkit(t, root, "12.4")
		if branch != "" {
			lab.CompatPackage(t, lab.DriverFiles(t, branch), filepath.Join(root, compatDir))
		}
	}
}

// read returns a file's text.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
