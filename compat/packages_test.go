package compat

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wheel12 is NVIDIA's runtime wheel for CUDA 12 in a directory of packages.
func wheel12(site, version string) []node {
	return []node{
		file(site+"/nvidia/cuda_runtime/lib/libcudart.so.12", "x"),
		file(site+"/nvidia/__init__.py", ""),
		file(site+"/nvidia_cuda_runtime_cu12-"+version+".dist-info/METADATA", "Version: "+version),
	}
}

func TestDetectRuntimePackages(t *testing.T) {
	t.Parallel()
	const site = "usr/local/lib/python3.12/site-packages"
	for _, tt := range []struct {
		name  string
		nodes []node
		env   []string

		want   CUDA
		source string
		notes  int
	}{
		{
			name: "wheel", nodes: wheel12(site, "12.4.127"),
			want: 12040, source: "/" + site + "/nvidia_cuda_runtime_cu12-12.4.127.dist-info",
		},
		{
			name: "wheel-debian", nodes: wheel12("usr/lib/python3/dist-packages", "12.1.105"),
			want: 12010, source: "/usr/lib/python3/dist-packages/nvidia_cuda_runtime_cu12-12.1.105.dist-info",
		},
		{
			name:  "wheel-13",
			nodes: []node{file(site+"/nvidia/cu13/lib/libcudart.so.13", "x"), dir(site + "/nvidia_cuda_runtime-13.0.96.dist-info")},
			want:  13000, source: "/" + site + "/nvidia_cuda_runtime-13.0.96.dist-info",
		},
		{
			name: "wheel-without-record", nodes: []node{file(site+"/nvidia/cuda_runtime/lib/libcudart.so.12", "x")},
			want: 12000, source: "/" + site + "/nvidia/cuda_runtime/lib/libcudart.so.12", notes: 1,
		},
		{name: "record-without-wheel", nodes: []node{dir(site + "/nvidia_cuda_runtime_cu12-12.4.127.dist-info")}},
		{
			name:  "record-garbage",
			nodes: []node{file(site+"/nvidia/cuda_runtime/lib/libcudart.so.12", "x"), dir(site + "/nvidia_cuda_runtime_cu12-latest.dist-info")},
			want:  12000, source: "/" + site + "/nvidia/cuda_runtime/lib/libcudart.so.12", notes: 1,
		},
		{
			name: "virtual-env", env: []string{"VIRTUAL_ENV=/srv/my env"},
			nodes: wheel12("srv/my env/lib/python3.9/site-packages", "12.8.90"),
			want:  12080, source: "/srv/my env/lib/python3.9/site-packages/nvidia_cuda_runtime_cu12-12.8.90.dist-info",
		},
		{
			name: "virtual-env-clamped", env: []string{"VIRTUAL_ENV=/../../venv2"},
			nodes: wheel12("venv2/lib/python3.9/site-packages", "12.8.90"),
			want:  12080, source: "/venv2/lib/python3.9/site-packages/nvidia_cuda_runtime_cu12-12.8.90.dist-info",
		},
		{name: "virtual-env-relative", env: []string{"VIRTUAL_ENV=srv"}, nodes: wheel12("srv/lib/python3.9/site-packages", "12.8.90")},
		{name: "virtual-env-control", env: []string{"VIRTUAL_ENV=/s\nv"}, nodes: []node{dir("usr")}},
		{
			name: "opt-venv", nodes: wheel12("opt/venv/lib/python3.11/site-packages", "12.6.77"),
			want: 12060, source: "/opt/venv/lib/python3.11/site-packages/nvidia_cuda_runtime_cu12-12.6.77.dist-info",
		},
		{name: "unusual-place", nodes: wheel12("srv/lib/python3.11/site-packages", "12.6.77")},
		{
			name:  "several-pythons",
			nodes: append(wheel12("usr/local/lib/python3.10/site-packages", "12.1.105"), wheel12("usr/local/lib/python3.12/site-packages", "12.8.90")...),
			want:  12080, source: "/usr/local/lib/python3.12/site-packages/nvidia_cuda_runtime_cu12-12.8.90.dist-info", notes: 1,
		},
		{
			name: "lib64-link-once", env: []string{"VIRTUAL_ENV=/opt/venv"},
			nodes: append(wheel12("opt/venv/lib/python3.11/site-packages", "12.6.77"), link("opt/venv/lib64", "lib"), link("venv", "/opt/venv")),
			want:  12060, source: "/opt/venv/lib/python3.11/site-packages/nvidia_cuda_runtime_cu12-12.6.77.dist-info",
		},
		{
			name:  "wheel-library-is-directory",
			nodes: []node{dir(site + "/nvidia/cuda_runtime/lib/libcudart.so.12"), dir(site + "/nvidia_cuda_runtime_cu12-12.4.127.dist-info")},
		},
		{name: "wheel-library-is-fifo", nodes: []node{fifo(site + "/nvidia/cuda_runtime/lib/libcudart.so.12")}},

		{
			name:  "torch",
			nodes: []node{file(site+"/torch/lib/libcudart-d0da41ae.so.11.0", "x"), dir(site + "/torch-2.1.0+cu118.dist-info")},
			want:  11080, source: "/" + site + "/torch-2.1.0+cu118.dist-info",
		},
		{
			name:  "torch-with-wheel",
			nodes: append(wheel12(site, "12.4.127"), dir(site+"/torch/lib"), dir(site+"/torch-2.1.0+cu118.dist-info")),
			want:  12040, source: "/" + site + "/nvidia_cuda_runtime_cu12-12.4.127.dist-info",
		},
		{name: "torch-cpu", nodes: []node{dir(site + "/torch/lib"), dir(site + "/torch-2.1.0+cpu.dist-info")}},
		{name: "torch-plain", nodes: []node{dir(site + "/torch/lib"), dir(site + "/torch-2.1.0.dist-info")}},

		{
			name:  "conda",
			nodes: []node{file("opt/conda/conda-meta/cuda-cudart-12.4.127-he02047a_2.json", "{}"), file("opt/conda/conda-meta/history", "")},
			want:  12040, source: "/opt/conda/conda-meta/cuda-cudart-12.4.127-he02047a_2.json",
		},
		{
			name: "conda-prefix", env: []string{"CONDA_PREFIX=/envs/x"},
			nodes: []node{file("envs/x/conda-meta/cuda-cudart-11.8.89-0.json", "{}")},
			want:  11080, source: "/envs/x/conda-meta/cuda-cudart-11.8.89-0.json",
		},
		{
			name: "conda-toolkit", nodes: []node{file("opt/conda/conda-meta/cudatoolkit-10.2.89-hfd86e86_1.json", "{}")},
			want: 10020, source: "/opt/conda/conda-meta/cudatoolkit-10.2.89-hfd86e86_1.json",
		},
		{
			name:  "conda-others",
			nodes: []node{file("opt/conda/conda-meta/cuda-cudart-dev-12.4.127-0.json", "{}"), file("opt/conda/conda-meta/cuda-cudart_linux-64-12.4.127-0.json", "{}"), file("opt/conda/conda-meta/cuda-cudart.json", "{}"), dir("opt/conda/conda-meta/cuda-cudart-12.4.127-0.json")},
		},
		{
			name:  "conda-and-wheel",
			nodes: append(wheel12("opt/conda/lib/python3.11/site-packages", "12.1.105"), file("opt/conda/conda-meta/cuda-cudart-12.4.127-0.json", "{}")),
			want:  12040, source: "/opt/conda/conda-meta/cuda-cudart-12.4.127-0.json", notes: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachFS(t, tt.nodes, func(t *testing.T, root fs.FS) {
				got, warnings := DetectRuntime(root, environ(tt.env...), nil)
				source := strings.TrimPrefix(got.Source, "file:")
				if got.Version != tt.want || source != tt.source || got.Declared || len(got.Notes) != tt.notes {
					t.Errorf("DetectRuntime() = %s from %q, declared %t, notes %q; want %s from %q, %d notes", got.Version, source, got.Declared, got.Notes, tt.want, tt.source, tt.notes)
				}
				if warnings != nil {
					t.Errorf("warnings = %v, want none", warnings)
				}
			})
		})
	}
}

// A huge image costs no more than the limits allow.
func TestDetectRuntimeIsBounded(t *testing.T) {
	t.Parallel()
	var nodes []node
	for i := range 60 {
		nodes = append(nodes, dir(fmt.Sprintf("usr/local/cuda-%d/lib64", i)), dir(fmt.Sprintf("usr/lib/python3.%d/site-packages/nvidia/cuda_runtime/lib", i)))
	}
	nodes = append(nodes, dir("usr/lib/\x1b[2Jpython3.1/site-packages"))
	root := onDisk(t, nodes...)
	look := &search{tree: newTree(root), env: environ()}
	if n := len(look.findToolkits()); n > maxToolkits {
		t.Errorf("%d toolkits, want at most %d", n, maxToolkits)
	}
	if found := append(look.versionFiles(), append(look.libraries(nil), look.packages()...)...); len(found) > 0 {
		t.Errorf("found %v in empty directories", found)
	}
	if look.tree.steps > maxSteps/4 {
		t.Errorf("%d steps for an image of empty directories", look.tree.steps)
	}
	var dirs []string
	for i := range 500 {
		dirs = append(dirs, fmt.Sprintf("/usr/local/cuda-%d/lib64", i))
	}
	look.libraries(dirs)
	if look.tree.steps > maxSteps/2 {
		t.Errorf("%d steps for 500 library directories", look.tree.steps)
	}
}

func TestTorchCUDA(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       CUDA
	}{
		{"118", "2.1.0+cu118", 11080},
		{"92", "1.4.0+cu92", 9020},
		{"130", "2.9.0+cu130", 13000},
		{"more", "2.9.0+cu130.with.extra", 13000},
		{"none", "2.1.0", 0},
		{"cpu", "2.1.0+cpu", 0},
		{"letters", "2.1.0+cu12x", 0},
		{"short", "2.1.0+cu1", 0},
		{"long", "2.1.0+cu1180", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := torchCUDA(tt.text); got != tt.want || ok != (tt.want != 0) {
				t.Errorf("torchCUDA(%q) = %s, %t; want %s", tt.text, got, ok, tt.want)
			}
		})
	}
}

func TestCudartNames(t *testing.T) {
	t.Parallel()
	want := []string{"14", "13", "12", "11.0", "10.2", "10.1", "10.0", "9.2", "9.1", "9.0", "8.0", "7.5", "7.0"}
	for i := range want {
		want[i] = "libcudart.so." + want[i]
	}
	if diff := cmp.Diff(want, cudartNames()); diff != "" {
		t.Errorf("cudartNames() (-want +got):\n%s", diff)
	}
}

func FuzzPackageNames(f *testing.F) {
	for _, seed := range []string{
		"nvidia_cuda_runtime_cu12-12.4.127.dist-info", "torch-2.1.0+cu118.dist-info", "cuda-cudart-12.4.127-0.json",
		"cudatoolkit-10.2.89-h_1.json", "libcudart.so.12", "libcudart.so.11.8.89", "-.dist-info", "--.json", "libcudart.so.",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, base string) {
		if version, from := distInfo(base); (from != wheelOther) != version.Known() {
			t.Fatalf("distInfo(%q) = %d, %d", base, version, from)
		}
		if version, ok := condaPackage(base); ok != version.Known() {
			t.Fatalf("condaPackage(%q) = %d, %t", base, version, ok)
		}
		if version, _, ok := cudartVersion(base); ok != version.Known() {
			t.Fatalf("cudartVersion(%q) = %d, %t", base, version, ok)
		}
	})
}
