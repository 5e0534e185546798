package driver

import (
	"debug/elf"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindWSL(t *testing.T) {
	t.Parallel()
	const lib = `lib /usr/lib/wsl/lib/libdxcore.so libdxcore.so
		lib /usr/lib/wsl/lib/libcuda.so.1.1 libcuda.so.1
		link /usr/lib/wsl/lib/libcuda.so.1 libcuda.so.1.1
		lib /usr/lib/wsl/lib/libnvidia-ml.so.1 libnvidia-ml.so.1
		lib /usr/lib/wsl/lib/libd3d12.so libd3d12.so
		lib /usr/lib/wsl/lib/libOpenCL.so.1 libOpenCL.so.1
		`
	const store = `lib /usr/lib/wsl/drivers/nv_x/libcuda.so.1.1 libcuda.so.1
		lib /usr/lib/wsl/drivers/nv_x/libnvdxgdmal.so.1 libnvdxgdmal.so.1
		file /usr/lib/wsl/drivers/nv_x/nvcubins.bin
		file /usr/lib/wsl/drivers/nv_x/nvidia-smi
		file /usr/lib/wsl/drivers/nv_x/nv.inf
		file /usr/lib/wsl/drivers/u0_intel/libcuda.so.1.1
		`
	at := func(names ...string) map[string]string {
		m := map[string]string{}
		for _, n := range names {
			m["/usr/lib/wsl/drivers/nv_x/"+n] = "/usr/lib/wsl/drivers/nv_x/" + n
		}
		return m
	}
	whole := at("libcuda.so.1.1", "libnvdxgdmal.so.1", "nvcubins.bin", "nvidia-smi")
	for _, tt := range []struct {
		name    string
		host    string
		caps    []string
		libs    []string
		files   map[string]string
		missing string
		code    string
	}{
		{
			name:  "compute",
			host:  lib + store,
			caps:  []string{"compute"},
			libs:  []string{"libcuda.so.1", "libdxcore.so"},
			files: whole,
		},
		{
			name: "utility", host: lib + store, caps: []string{"utility"}, libs: []string{"libdxcore.so", "libnvidia-ml.so.1"},
			files: func() map[string]string {
				m := at("libcuda.so.1.1", "libnvdxgdmal.so.1", "nvcubins.bin", "nvidia-smi")
				m["/usr/bin/nvidia-smi"] = "/usr/lib/wsl/drivers/nv_x/nvidia-smi"
				return m
			}(),
		},
		{
			name:  "graphics",
			host:  lib + store,
			caps:  []string{"graphics"},
			libs:  []string{"libd3d12.so", "libdxcore.so"},
			files: whole,
		},
		{
			name: "cuda-in-the-store-only",
			host: "lib /usr/lib/wsl/lib/libdxcore.so libdxcore.so\n" + store,
			caps: []string{"compute"},
			libs: []string{"libcuda.so.1", "libdxcore.so", "libnvdxgdmal.so.1"}, files: whole,
		},
		{
			name:  "no-store",
			host:  lib,
			caps:  []string{"compute"},
			libs:  []string{"libcuda.so.1", "libdxcore.so"},
			files: map[string]string{},
			code:  "no-driver-store",
		},
		{
			name: "two-stores",
			caps: []string{"compute"},
			libs: []string{"libcuda.so.1", "libdxcore.so"},
			code: "several-driver-stores",
			host: lib + "file /usr/lib/wsl/drivers/nv_old/libcuda.so.1.1\nold\n" + store, files: whole,
		},
		{name: "no-dxcore", host: store, caps: []string{"compute"}, missing: "libdxcore.so"},
		{
			name:    "no-cuda",
			host:    "lib /usr/lib/wsl/lib/libdxcore.so libdxcore.so",
			caps:    []string{"compute"},
			missing: "libcuda.so.1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, err := FindWSL(open(t, host(t, tt.host)), Query{Capabilities: tt.caps, Machine: elf.EM_X86_64})
			if tt.missing != "" {
				if e, ok := errors.AsType[*MissingError](err); !ok || e.Library != tt.missing {
					t.Fatalf("FindWSL: got %v, want a *MissingError of %s", err, tt.missing)
				}
				return
			}
			if err != nil {
				t.Fatalf("FindWSL: %v", err)
			}
			if diff := cmp.Diff(tt.libs, sonames(files.Libraries)); diff != "" {
				t.Errorf("SONAMEs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.files, mapping(files.Files)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if tt.code != "" && !hasCode(files, tt.code) {
				t.Errorf("warnings: got %v, want one of code %q", files.Warnings, tt.code)
			}
		})
	}
}

func TestFindTegra(t *testing.T) {
	t.Parallel()
	const dir, lists = "/usr/lib/aarch64-linux-gnu", "/etc/nvidia-container-runtime/host-files-for-container.d"
	h := host(t, `
		lib `+dir+`/tegra/libcuda.so.1.1 libcuda.so.1 arm64
		link `+dir+`/tegra/libcuda.so tegra/libcuda.so.1.1
		link `+dir+`/libcuda.so tegra/libcuda.so.1.1
		lib `+dir+`/tegra/libnvrm_gpu.so libnvrm_gpu.so arm64
		lib `+dir+`/tegra/libGL.so.1 libGL.so.1 arm64
		junk `+dir+`/tegra/libnvbroken.so
		lib `+dir+`/gstreamer-1.0/libgstnvarguscamerasrc.so libgstnvarguscamerasrc.so arm64
		dir /usr/share/nvpmodel
		link /usr/share/nvidia-links /usr/share/nvpmodel
		file /etc/extra.conf
		dir `+lists)
	write(t, h+lists+"/l4t.csv", `dev, /dev/nvidiactl
lib, `+dir+`/tegra/libcuda.so.1.1
lib, `+dir+`/tegra/libnvrm*.so
lib, `+dir+`/tegra/libGL.so.1
lib, `+dir+`/tegra/libnvbroken.so
lib, `+dir+`/tegra/libgone.so
lib, `+dir+`/gstreamer-1.0/libgstnvarguscamerasrc.so
sym, `+dir+`/libcuda.so
sym, /usr/share/nvidia-links
dir, /usr/share/nvpmodel
dir, /etc/extra.conf
nonsense
`)
	write(t, h+lists+"/extra.csv", "lib, /etc/extra.conf\n")
	for _, tt := range []struct {
		name  string
		all   bool
		files map[string]string
	}{
		{name: "base", files: map[string]string{
			dir + "/gstreamer-1.0/libgstnvarguscamerasrc.so": dir + "/gstreamer-1.0/libgstnvarguscamerasrc.so", "/usr/share/nvpmodel": "/usr/share/nvpmodel",
		}},
		{name: "all", all: true, files: map[string]string{
			dir + "/gstreamer-1.0/libgstnvarguscamerasrc.so": dir + "/gstreamer-1.0/libgstnvarguscamerasrc.so", "/usr/share/nvpmodel": "/usr/share/nvpmodel", "/etc/extra.conf": "/etc/extra.conf",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, err := FindTegra(open(t, h), Query{Capabilities: []string{"compute"}, Machine: elf.EM_AARCH64}, tt.all)
			if err != nil {
				t.Fatalf("FindTegra: %v", err)
			}
			if diff := cmp.Diff([]string{"libcuda.so.1", "libnvrm_gpu.so"}, sonames(files.Libraries)); diff != "" {
				t.Errorf("SONAMEs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"libcuda.so"}, files.Libraries[0].Links); diff != "" {
				t.Errorf("names of libcuda (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.files, mapping(files.Files)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]Link{{Path: "/usr/share/nvidia-links", Target: "/usr/share/nvpmodel", Capability: "compute"}}, files.Links); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
			for _, code := range []string{"missing-list-entry", "bad-list-line", "broken-driver-file"} {
				if !hasCode(files, code) {
					t.Errorf("warnings: got %v, want one of code %q", files.Warnings, code)
				}
			}
		})
	}
	for _, empty := range []string{"", "dir " + lists} {
		_, err := FindTegra(open(t, host(t, empty)), Query{Capabilities: []string{"compute"}, Machine: elf.EM_AARCH64}, true)
		if _, ok := errors.AsType[*MissingError](err); !ok {
			t.Errorf("FindTegra without lists: got %v, want *MissingError", err)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatalf("write list: %v", err)
	}
}

func TestParseList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		text     string
		problems int
		want     []listEntry
	}{
		{name: "empty"},
		{
			name: "spaces",
			text: " lib ,  /a/b \r\n\n# note\nsym,/c/../d",
			want: []listEntry{{kind: "lib", path: "/a/b"}, {kind: "sym", path: "/d"}},
		},
		{name: "no-comma", text: "lib /a", problems: 1},
		{name: "unknown-word", text: "bin, /a\ndev, /b", problems: 1, want: []listEntry{{kind: "dev", path: "/b"}}},
		{name: "relative", text: "lib, a/b", problems: 1},
		{name: "root", text: "dir, /..", problems: 1},
		{name: "nul", text: "lib, /a\x00b", problems: 1},
		{
			name:     "endless",
			text:     strings.Repeat("dev, /x\n", maxListed+5),
			problems: 1,
			want:     slices.Repeat([]listEntry{{kind: "dev", path: "/x"}}, maxListed),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, problems := parseList([]byte(tt.text))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(listEntry{})); diff != "" {
				t.Errorf("parseList (-want +got):\n%s", diff)
			}
			if len(problems) != tt.problems {
				t.Errorf("parseList: got problems %q, want %d", problems, tt.problems)
			}
		})
	}
}

func FuzzParseList(f *testing.F) {
	f.Add([]byte("dev, /dev/nvidiactl\nlib, /usr/lib/libcuda.so.1.1\nsym, /x\ndir, /y\n"))
	f.Add([]byte("lib,,\n,\n#\nlib, /\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, problems := parseList(data)
		if len(entries) > maxListed || len(entries)+len(problems) > strings.Count(string(data), "\n")+1 {
			t.Errorf("parseList: got %d entries and %d problems", len(entries), len(problems))
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.path, "/") || e.path == "/" || strings.Contains(e.path+"/", "/../") {
				t.Errorf("parseList: got path %q", e.path)
			}
		}
	})
}
