package compat

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	versionJSON124 = `{"cuda" : {"name" : "CUDA SDK", "version" : "12.4.1"}, "cuda_cudart" : {"name" : "CUDA Runtime (cudart)", "version" : "12.4.127"}}`
	versionJSON118 = `{"cuda":{"version":"11.8.0"}}`
)

func TestDetectRuntime(t *testing.T) {
	t.Parallel()
	libDirs := []string{"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"}
	for _, tt := range []struct {
		name  string
		nodes []node
		env   []string

		want     CUDA
		source   string
		declared bool
		notes    []string // words of the notes
		codes    []string
	}{
		{name: "nothing", nodes: []node{dir("usr")}},
		{name: "empty-image"},
		{name: "variable", env: []string{"CUDA_VERSION=12.4.1"}, want: 12040, source: "env:CUDA_VERSION", declared: true},
		{
			name: "variable-before-files", env: []string{"CUDA_VERSION=11.8.0"},
			nodes: []node{file("usr/local/cuda/version.json", versionJSON124)},
			want:  11080, source: "env:CUDA_VERSION", declared: true,
		},
		{
			name: "variable-empty", env: []string{"CUDA_VERSION="}, nodes: []node{file("usr/local/cuda/version.json", versionJSON124)},
			want: 12040, source: "file:/usr/local/cuda/version.json",
		},
		{
			name: "variable-garbage", env: []string{"CUDA_VERSION=latest"},
			nodes: []node{file("usr/local/cuda/version.json", versionJSON124)},
			want:  12040, source: "file:/usr/local/cuda/version.json", codes: []string{"cuda-version-invalid"},
		},
		{name: "variable-garbage-alone", env: []string{"CUDA_VERSION=\x1b[2J"}, codes: []string{"cuda-version-invalid"}},

		{name: "version-json-absolute-links", nodes: []node{
			link("usr/local/cuda", "/etc/alternatives/cuda"), link("etc/alternatives/cuda", "/usr/local/cuda-11.1"),
			file("usr/local/cuda-11.1/version.json", `{"cuda":{"version":"11.1.1"}}`),
		}, want: 11010, source: "file:/usr/local/cuda-11.1/version.json"},
		{
			name: "version-txt", nodes: []node{file("usr/local/cuda-10.1/version.txt", "CUDA Version 10.1.243\n")},
			want: 10010, source: "file:/usr/local/cuda-10.1/version.txt",
		},
		{
			name:  "version-txt-patches",
			nodes: []node{file("usr/local/cuda/version.txt", "CUDA Version 9.1.85\nCUDA Patch Version 9.1.85.1\n")},
			want:  9010, source: "file:/usr/local/cuda/version.txt",
		},
		{
			name: "version-json-cudart-only", nodes: []node{file("usr/local/cuda/version.json", `{"cuda_cudart":{"version":"12.2.140"}}`)},
			want: 12020, source: "file:/usr/local/cuda/version.json",
		},
		{
			name:  "version-json-broken-txt-good",
			nodes: []node{file("usr/local/cuda/version.json", "{"), file("usr/local/cuda/version.txt", "CUDA Version 10.2.89")},
			want:  10020, source: "file:/usr/local/cuda/version.txt", codes: []string{"runtime-file-skipped"},
		},
		{
			name:  "version-json-large",
			nodes: []node{file("usr/local/cuda/version.json", strings.Repeat(" ", maxVersionFile)+versionJSON124)}, codes: []string{"runtime-file-skipped"},
		},
		{name: "version-json-fifo", nodes: []node{fifo("usr/local/cuda/version.json")}, codes: []string{"runtime-file-skipped"}},
		{name: "version-json-directory", nodes: []node{dir("usr/local/cuda/version.json")}, codes: []string{"runtime-file-skipped"}},
		{name: "version-json-empty", nodes: []node{file("usr/local/cuda/version.json", "")}, codes: []string{"runtime-file-skipped"}},
		{
			name:  "version-json-link-out",
			nodes: []node{link("usr/local/cuda/version.json", "../../../../../../../etc/version.json"), file("etc/version.json", versionJSON118)},
			want:  11080, source: "file:/usr/local/cuda/version.json",
		},
		{name: "several-toolkits", nodes: []node{
			file("usr/local/cuda-11.8/version.json", versionJSON118), file("usr/local/cuda-12.4/version.json", versionJSON124), link("usr/local/cuda", "cuda-11.8"),
		}, want: 12040, source: "file:/usr/local/cuda-12.4/version.json", notes: []string{"also holds CUDA 11.8 (/usr/local/cuda-11.8/version.json); the highest version counts"}},
		{name: "cuda-is-file", nodes: []node{file("usr/local/cuda", "x")}},
		{name: "cuda-link-to-itself", nodes: []node{link("usr/local/cuda", "cuda")}},
		{name: "usr-local-is-file", nodes: []node{file("usr/local", "x")}},

		{
			name:  "cudart-loader",
			nodes: []node{file("usr/lib/x86_64-linux-gnu/libcudart.so.11.8.89", "x"), link("usr/lib/x86_64-linux-gnu/libcudart.so.11.0", "libcudart.so.11.8.89")},
			want:  11080, source: "file:/usr/lib/x86_64-linux-gnu/libcudart.so.11.8.89",
		},
		{
			name:  "cudart-merged-usr-once",
			nodes: []node{link("lib", "usr/lib"), file("usr/lib/x86_64-linux-gnu/libcudart.so.10.2.89", "x"), link("usr/lib/x86_64-linux-gnu/libcudart.so.10.2", "libcudart.so.10.2.89")},
			want:  10020, source: "file:/usr/lib/x86_64-linux-gnu/libcudart.so.10.2.89",
		},
		{
			name:  "cudart-toolkit",
			nodes: []node{link("usr/local/cuda-12.4/lib64", "targets/x86_64-linux/lib"), file("usr/local/cuda-12.4/targets/x86_64-linux/lib/libcudart.so.12.4.127", "x")},
			want:  12040, source: "file:/usr/local/cuda-12.4/targets/x86_64-linux/lib/libcudart.so.12.4.127",
		},
		{
			name:  "cudart-toolkit-several",
			nodes: []node{file("usr/local/cuda-12.4/lib64/libcudart.so.12.4.127", "x"), file("usr/local/cuda-13.0/lib64/libcudart.so.13.0.96", "x")},
			want:  13000, source: "file:/usr/local/cuda-13.0/lib64/libcudart.so.13.0.96", notes: []string{"also holds CUDA 12.4"},
		},
		{
			name: "cudart-major-only", nodes: []node{file("usr/lib64/libcudart.so.12", "x")},
			want: 12000, source: "file:/usr/lib64/libcudart.so.12", notes: []string{"only the major version is known"},
		},
		{
			name: "cudart-11.0-is-a-soname", nodes: []node{file("usr/lib64/libcudart.so.11.0", "x")},
			want: 11000, source: "file:/usr/lib64/libcudart.so.11.0", notes: []string{"only the major version"},
		},
		{name: "cudart-directory", nodes: []node{dir("usr/lib64/libcudart.so.12"), dir("usr/local/cuda/lib64/libcudart.so.12.4.127")}},
		{name: "cudart-dangling", nodes: []node{link("usr/lib64/libcudart.so.12", "libcudart.so.12.4.127")}},
		{name: "cudart-fifo", nodes: []node{fifo("usr/lib64/libcudart.so.12")}},
		{
			name:  "cudart-stubs-are-not-libraries",
			nodes: []node{file("usr/local/cuda/lib64/libcudart_static.a", "x"), file("usr/local/cuda/lib64/libcudart.so.12.x", "x")},
		},

		{
			name: "require-lowest", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12.8 cuda>=11.4,brand=tesla driver>=535"},
			want: 11040, source: "env:NVIDIA_REQUIRE_CUDA", declared: true,
		},
		{
			name: "require-after-files", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12.8"},
			nodes: []node{file("usr/local/cuda/version.json", versionJSON118)},
			want:  11080, source: "file:/usr/local/cuda/version.json",
		},
		{name: "require-without-cuda", env: []string{"NVIDIA_REQUIRE_CUDA=driver>=535 cuda<13"}},
		{name: "require-garbage", env: []string{"NVIDIA_REQUIRE_CUDA=,, cuda>= cuda>=x =1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachFS(t, tt.nodes, func(t *testing.T, root fs.FS) {
				got, warnings := DetectRuntime(root, environ(tt.env...), libDirs)
				if got.Version != tt.want || got.Source != tt.source || got.Declared != tt.declared {
					t.Errorf("DetectRuntime() = %s from %q, declared %t; want %s from %q, %t", got.Version, got.Source, got.Declared, tt.want, tt.source, tt.declared)
				}
				if diff := cmp.Diff(tt.codes, codes(warnings)); diff != "" {
					t.Errorf("warnings %v (-want +got):\n%s", warnings, diff)
				}
				if len(got.Notes) != len(tt.notes) {
					t.Fatalf("notes = %q, want %q", got.Notes, tt.notes)
				}
				for i, words := range tt.notes {
					if !strings.Contains(got.Notes[i], words) {
						t.Errorf("note %q lacks %q", got.Notes[i], words)
					}
				}
			})
		})
	}
}

// With CUDA_VERSION no file of the image is looked at.
func TestDetectRuntimeReadsNothing(t *testing.T) {
	t.Parallel()
	got, warnings := DetectRuntime(nil, environ("CUDA_VERSION=12.4"), nil)
	if got.Version != 12040 || warnings != nil {
		t.Errorf("DetectRuntime(nil) = %v, %v; want 12.4", got, warnings)
	}
}

// Only files that tell a version are opened, and never an image's code.
func TestDetectRuntimeOpensLittle(t *testing.T) {
	t.Parallel()
	root := traced{onDisk(t,
		file("opt/venv/lib/python3.11/site-packages/torch/version.py", "cuda = '12.4'"),
		file("opt/venv/lib/python3.11/site-packages/torch/lib/libtorch.so", "x"),
		file("opt/venv/lib/python3.11/site-packages/torch-2.4.0+cu124.dist-info/METADATA", "x"),
	).(fs.ReadLinkFS), map[string]bool{}}
	got, _ := DetectRuntime(root, environ(), nil)
	if got.Version != 12040 {
		t.Fatalf("DetectRuntime() = %s, want 12.4", got.Version)
	}
	for name := range root.opened {
		if info, err := fs.Stat(root.ReadLinkFS, name); err == nil && !info.IsDir() {
			t.Errorf("%s was opened", name)
		}
	}
}

func TestRuntimeWhere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, source, want string }{
		{"variable", "env:CUDA_VERSION", "CUDA_VERSION"},
		{"file", "file:/usr/local/cuda/version.json", "/usr/local/cuda/version.json"},
		{"odd-file", "file:/usr/local/cuda-\"; x/version.json", `"/usr/local/cuda-\"; x/version.json"`},
		{"none", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := (Runtime{Source: tt.source}).Where(); got != tt.want {
				t.Errorf("Where() = %s, want %s", got, tt.want)
			}
		})
	}
}

func FuzzVersionFiles(f *testing.F) {
	for _, seed := range []string{versionJSON124, versionJSON118, "CUDA Version 10.1.243\n", "{", "null", `{"cuda":[]}`, `{"cuda":{"version":1}}`, "CUDA Version \n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parse := range []func([]byte) (CUDA, error){parseVersionJSON, parseVersionText} {
			if version, err := parse(data); (err == nil) != version.Known() || version.Open() {
				t.Fatalf("parse(%q) = %d, %v", data, version, err)
			}
		}
	})
}
