package compat

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// container is a whole image on a whole host, as a user would describe it.
type container struct {
	name    string
	image   []node
	host    []node // below compat.host-dir, if there are any
	env     []string
	driver  string
	gpus    []GPU
	kind    Kind
	version string // of the libcuda that the container gets
	source  string // of the runtime version
	hidden  []string
	fails   bool // on-mismatch auto or a requirement stops it
}

// TestContainers goes the whole way that the hook goes: detection, both
// searches, decision, requirements, on-mismatch, hiding.
func TestContainers(t *testing.T) {
	t.Parallel()
	cudaImage := func(version, branch string) []node {
		nodes := compatSet("usr/local/cuda-"+version+"/compat", branch, noNote())
		return append(nodes,
			file("usr/local/cuda-"+version+"/version.json", `{"cuda":{"version":"`+version+`.1"}}`),
			link("usr/local/cuda", "/etc/alternatives/cuda"), link("etc/alternatives/cuda", "/usr/local/cuda-"+version))
	}
	for _, tt := range []container{
		{
			name: "geforce-with-overlay-in-image", image: cudaImage("12.4", "550.54.14"), env: []string{"CUDA_VERSION=12.4.1"},
			driver: "535.183.01", gpus: []GPU{rtx309},
			kind: KindMinor, version: "535.183.01", source: "env:CUDA_VERSION",
		},
		{
			name: "geforce-with-forced-overlay", image: cudaImage("12.4", "550.54.14"),
			env:    []string{"CUDA_VERSION=12.4.1", "LD_LIBRARY_PATH=/usr/local/cuda/compat"},
			driver: "535.183.01", gpus: []GPU{rtx309},
			kind: KindMinor, version: "535.183.01", source: "env:CUDA_VERSION", hidden: []string{"/usr/local/cuda-12.4/compat"},
		},
		{
			name: "a100-with-overlay-in-image", image: cudaImage("12.4", "550.54.14"), env: []string{"CUDA_VERSION=12.4.1"},
			driver: "470.256.02", gpus: []GPU{a100},
			kind: KindForward, version: "550.54.14", source: "env:CUDA_VERSION",
		},
		{
			name: "a100-with-forced-overlay", image: cudaImage("12.4", "550.54.14"),
			env:    []string{"CUDA_VERSION=12.4.1", "LD_LIBRARY_PATH=/usr/local/cuda/compat:/usr/local/cuda/lib64"},
			driver: "470.256.02", gpus: []GPU{a100},
			kind: KindForward, version: "550.54.14", source: "env:CUDA_VERSION",
		},
		{
			name: "overlay-older-than-host", image: cudaImage("12.2", "535.54.03"),
			env:    []string{"CUDA_VERSION=12.2.0", "LD_LIBRARY_PATH=/usr/local/cuda-12.2/compat"},
			driver: "595.71.05", gpus: []GPU{a100},
			kind: KindHost, version: "595.71.05", source: "env:CUDA_VERSION", hidden: []string{"/usr/local/cuda-12.2/compat"},
		},
		{
			name: "different-gpus", image: cudaImage("12.4", "550.54.14"), env: []string{"CUDA_VERSION=12.4.1"},
			driver: "470.256.02", gpus: []GPU{a100, rtx309},
			kind: KindIncompatible, version: "470.256.02", source: "env:CUDA_VERSION", fails: true,
		},
		{
			name: "host-dir", image: wheel12("opt/venv/lib/python3.11/site-packages", "12.4.127"),
			host: compatSet("550.54.14", "550.54.14", noNote()), driver: "470.256.02", gpus: []GPU{t4},
			kind: KindForward, version: "550.54.14", source: "file:/opt/venv/lib/python3.11/site-packages/nvidia_cuda_runtime_cu12-12.4.127.dist-info",
		},
		{
			name: "host-dir-newer-than-image", image: cudaImage("12.2", "535.54.03"), env: []string{"CUDA_VERSION=12.2.0"},
			host: compatSet("12.4", "550.54.14", noNote()), driver: "470.256.02", gpus: []GPU{t4},
			kind: KindForward, version: "550.54.14", source: "env:CUDA_VERSION",
		},
		{
			name: "wheel-only", image: wheel12("usr/local/lib/python3.12/site-packages", "12.4.127"),
			driver: "535.183.01", gpus: []GPU{rtx309},
			kind: KindMinor, version: "535.183.01", source: "file:/usr/local/lib/python3.12/site-packages/nvidia_cuda_runtime_cu12-12.4.127.dist-info",
		},
		{
			name: "wheel-only-too-new-is-a-warning", image: wheel12("usr/local/lib/python3.12/site-packages", "12.4.127"),
			driver: "470.256.02", gpus: []GPU{rtx309},
			kind: KindIncompatible, version: "470.256.02", source: "file:/usr/local/lib/python3.12/site-packages/nvidia_cuda_runtime_cu12-12.4.127.dist-info",
		},
		{
			name: "legacy-image", image: []node{file("usr/local/cuda-8.0/version.txt", "CUDA Version 8.0.61\n")}, env: []string{"CUDA_VERSION=8.0.61"},
			driver: "550.163.01", gpus: []GPU{rtx309},
			kind: KindHost, version: "550.163.01", source: "env:CUDA_VERSION",
		},
		{
			name: "legacy-image-too-new", env: []string{"CUDA_VERSION=10.2.89"},
			driver: "390.157", gpus: []GPU{p4000},
			kind: KindIncompatible, version: "390.157", source: "env:CUDA_VERSION", fails: true,
		},
		{
			name: "disabled", env: []string{"CUDA_VERSION=10.2.89", "NVIDIA_DISABLE_REQUIRE=1"},
			driver: "390.157", gpus: []GPU{p4000},
			kind: KindIncompatible, version: "390.157", source: "env:CUDA_VERSION",
		},
		{
			name: "requirement-met-by-overlay", image: cudaImage("12.8", "570.26"),
			env:    []string{"CUDA_VERSION=12.8.0", "NVIDIA_REQUIRE_CUDA=cuda>=12.8"},
			driver: "535.183.01", gpus: []GPU{a100},
			kind: KindForward, version: "570.26", source: "env:CUDA_VERSION",
		},
		{
			name: "requirement-not-met-by-minor", env: []string{"CUDA_VERSION=12.8.0", "NVIDIA_REQUIRE_CUDA=cuda>=12.8"},
			driver: "535.183.01", gpus: []GPU{a100},
			kind: KindMinor, version: "535.183.01", source: "env:CUDA_VERSION", fails: true,
		},
		{
			name: "requirement-met-but-incompatible", env: []string{"CUDA_VERSION=13.0.2", "NVIDIA_REQUIRE_CUDA=" + cuda130()},
			driver: "535.183.01", gpus: []GPU{a100},
			kind: KindIncompatible, version: "535.183.01", source: "env:CUDA_VERSION", fails: true,
		},
		{
			name: "no-cuda", image: []node{file("bin/sh", "x")}, driver: "470.256.02", gpus: []GPU{rtx309},
			kind: KindHost, version: "470.256.02",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t)
		})
	}
}

func (c container) check(t *testing.T) {
	t.Helper()
	root := onDisk(t, c.image...)
	env := environ(c.env...)
	in := Input{Driver: driver(t, c.driver), GPUs: c.gpus}
	in.Runtime, _ = DetectRuntime(root, env, []string{"/usr/lib"})
	in.Overlays, _ = FindOverlays(root)
	if c.host != nil {
		more, _ := FindHostOverlays(onDisk(t, c.host...), "/")
		in.Overlays = append(in.Overlays, more...)
	}
	decision := Decide(in)
	version := c.driver
	if decision.Overlay != nil {
		version = decision.Overlay.Driver.String()
	}
	if decision.Kind != c.kind || version != c.version || in.Runtime.Source != c.source {
		t.Errorf("%s with libcuda %s for %s from %q (%s); want %s with %s from %q",
			decision.Kind, version, in.Runtime.Version, in.Runtime.Source, decision.Reason, c.kind, c.version, c.source)
	}
	disabled := RequirementsDisabled(c.env)
	_, unmet := CheckRequirements(c.env, Facts{CUDA: decision.EffectiveCUDA, Driver: in.Driver, GPUs: in.GPUs}, disabled)
	_, mismatch := decision.Mismatch(in, MismatchAuto, disabled)
	if err := errors.Join(unmet, mismatch); (err != nil) != c.fails {
		t.Errorf("stopped by %v, want to be stopped: %t", err, c.fails)
	}
	path, _ := env("LD_LIBRARY_PATH")
	hidden, _ := Hide(path, in, decision)
	if diff := cmp.Diff(c.hidden, hidden); diff != "" {
		t.Errorf("Hide() (-want +got):\n%s", diff)
	}
}

// An image that changes while it is read gives some answer in time and never
// one from outside: the canary's version is nowhere in the image.
func TestSwappedImage(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.MkdirAll(outside+"/compat", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"version.json": `{"cuda":{"version":"99.9"}}`, "compat/libcuda.so.999.9": noNote()} {
		if err := os.WriteFile(outside+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	base := t.TempDir()
	if err := os.MkdirAll(base+"/usr/local/cuda-12.4/compat", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, base+"/usr/local/evil"); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		dir := base + "/usr/local/cuda-12.4"
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(dir, dir+".away")
			_ = os.Symlink(outside, dir)
			_ = os.Remove(dir)
			_ = os.Rename(dir+".away", dir)
		}
	}()
	deadline := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(deadline) {
		runtime, _ := DetectRuntime(root.FS(), environ(), nil)
		overlays, _ := FindOverlays(root.FS())
		if runtime.Version.Known() || len(overlays) > 0 {
			t.Errorf("found CUDA %s and %v outside of the image", runtime.Version, overlays)
			break
		}
	}
	close(stop)
	<-done
}

// slowDirs is a file system whose directories cannot be opened, only listed.
type slowDirs struct{ fs.ReadLinkFS }

func (s slowDirs) Open(name string) (fs.File, error) {
	if info, err := s.Lstat(name); err == nil && info.IsDir() {
		return nil, fs.ErrInvalid
	}
	return s.ReadLinkFS.Open(name)
}

func (s slowDirs) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(s.ReadLinkFS, name) }

func TestFileSystemThatOnlyLists(t *testing.T) {
	t.Parallel()
	root := slowDirs{onDisk(t, append(compatSet("usr/local/cuda/compat", "550.54.14", noNote()),
		wheel12("usr/lib/python3/dist-packages", "12.4.127")...)...).(fs.ReadLinkFS)}
	runtime, _ := DetectRuntime(root, environ(), nil)
	overlays, _ := FindOverlays(root)
	if runtime.Version != 12040 || len(overlays) != 1 {
		t.Errorf("found CUDA %s and %d overlays, want 12.4 and one", runtime.Version, len(overlays))
	}
}

// streams is a file system whose files cannot be read in parts.
type streams struct{ fs.ReadLinkFS }

func (s streams) Open(name string) (fs.File, error) {
	file, err := s.ReadLinkFS.Open(name)
	if _, ok := file.(fs.ReadDirFile); err != nil || ok && isDir(file) {
		return file, err
	}
	return struct{ fs.File }{file}, nil
}

func isDir(file fs.File) bool {
	info, err := file.Stat()
	return err == nil && info.IsDir()
}

func TestFileSystemWithoutReadAt(t *testing.T) {
	t.Parallel()
	root := streams{onDisk(t, compatSet("usr/local/cuda/compat", "550.54.14", noNote())...).(fs.ReadLinkFS)}
	overlays, _ := FindOverlays(root)
	if len(overlays) != 1 || !strings.Contains(overlays[0].Problem, "cannot be read in parts") {
		t.Errorf("FindOverlays() = %+v, want a problem", overlays)
	}
}

// A search that comes to its limit says so.
func TestSearchLimitIsReported(t *testing.T) {
	t.Parallel()
	finder := &overlayFinder{tree: newTree(inMemory(dir("usr"))), seen: map[string]int{}}
	finder.tree.steps = maxSteps + 1
	if _, warnings := finder.result(); len(warnings) != 1 || warnings[0].Code != "compat-search-limit" {
		t.Errorf("warnings = %v, want compat-search-limit", warnings)
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, path, want string }{
		{"plain", "/usr/local/cuda-12.4/compat", "/usr/local/cuda-12.4/compat"},
		{"space", "/srv/my env", `"/srv/my env"`},
		{"control", "/a\x1b[2J", `"/a\x1b[2J"`},
		{"other-alphabet", "/\u202egnp", `"/\u202egnp"`},
		{"long", "/" + strings.Repeat("a", 300), "/" + strings.Repeat("a", 199) + "..."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := shown(tt.path); got != tt.want {
				t.Errorf("shown(%q) = %s, want %s", tt.path, got, tt.want)
			}
		})
	}
}
