package hook

import (
	"debug/elf"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

func build(t *testing.T, f Facts) Plan {
	t.Helper()
	p, err := Build(f)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return p
}

func TestBuildPrivate(t *testing.T) {
	t.Parallel()
	p := build(t, someFacts())
	want := map[string]string{
		"/usr/local/nvidia/lib":                                 "lib64",
		"/usr/local/nvidia/lib64/libcuda.so":                    "libcuda.so.1",
		"/usr/local/nvidia/lib64/libcuda.so.1":                  "libcuda.so.550.163.01",
		"/usr/local/nvidia/lib64/libnvidia-ptxjitcompiler.so.1": "libnvidia-ptxjitcompiler.so.550.163.01",
		"/usr/lib/x86_64-linux-gnu/libcuda.so":                  "/usr/local/nvidia/lib64/libcuda.so",
		"/usr/lib/x86_64-linux-gnu/libcuda.so.1":                "/usr/local/nvidia/lib64/libcuda.so.1",
		"/usr/lib/x86_64-linux-gnu/gbm/nvidia-drm_gbm.so":       "/usr/local/nvidia/lib64/libcuda.so.1",
		"/usr/bin/nvidia-smi":                                   "/usr/local/nvidia/bin/nvidia-smi",
		"/etc/OpenCL/vendors/nvidia.icd":                        "/usr/local/nvidia/files/etc/OpenCL/vendors/nvidia.icd",
	}
	got := map[string]string{}
	for _, l := range p.Symlinks {
		got[l.Path] = l.Target
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	for _, m := range p.Mounts {
		if m.Target == "/run/nvidia-persistenced/socket" {
			continue
		}
		if m.Target[:len("/usr/local/nvidia/")] != "/usr/local/nvidia/" {
			t.Errorf("mount outside the private tree: %s", m.Target)
		}
		if diff := cmp.Diff([]string{"ro", "nosuid", "nodev"}, m.Options); diff != "" {
			t.Errorf("options of %s (-want +got):\n%s", m.Target, diff)
		}
	}
	if diff := cmp.Diff([]string{"/usr/local/nvidia/lib64"}, p.Loader.Dirs); diff != "" {
		t.Errorf("loader directories (-want +got):\n%s", diff)
	}
}

func TestBuildNodesAndRules(t *testing.T) {
	t.Parallel()
	mapped := IDMaps{
		UIDs: []specs.LinuxIDMapping{{ContainerID: 0, HostID: 0, Size: 10}},
		GIDs: []specs.LinuxIDMapping{{ContainerID: 100, HostID: 40, Size: 10}},
	}
	tests := []struct {
		name       string
		change     func(*Facts)
		wantNode   DeviceNode // that of GPU 0
		wantRules  int
		wantAccess string
	}{
		{"mknod", func(*Facts) {}, DeviceNode{Path: "/dev/nvidia3", Type: "c", Major: 195, Minor: 3, Mode: "0660", GID: 44, Method: "mknod", Source: "/dev/nvidia3"}, 3, "rw"},
		{"rwm", func(f *Facts) { f.Config.Cgroups.Access = config.AccessRWM }, DeviceNode{Path: "/dev/nvidia3", Type: "c", Major: 195, Minor: 3, Mode: "0660", GID: 44, Method: "mknod", Source: "/dev/nvidia3"}, 3, "rwm"},
		{"rules off", func(f *Facts) { f.Config.Cgroups.Mode = config.CgroupOff }, DeviceNode{Path: "/dev/nvidia3", Type: "c", Major: 195, Minor: 3, Mode: "0660", GID: 44, Method: "mknod", Source: "/dev/nvidia3"}, 0, ""},
		{"user namespace", func(f *Facts) { f.IDs = mapped }, DeviceNode{Path: "/dev/nvidia3", Type: "c", Major: 195, Minor: 3, Mode: "0660", GID: 104, Method: "bind", Source: "/dev/nvidia3"}, 3, "rw"},
		{"user's /dev", func(f *Facts) { f.ForeignDev = true }, DeviceNode{Path: "/dev/nvidia3", Type: "c", Major: 195, Minor: 3, Mode: "0660", GID: 44, Method: "kept", Source: "/dev/nvidia3"}, 3, "rw"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := someFacts()
			tt.change(&f)
			p := build(t, f)
			for _, n := range p.DeviceNodes {
				if n.Path != tt.wantNode.Path {
					continue
				}
				if diff := cmp.Diff(tt.wantNode, n); diff != "" {
					t.Errorf("node (-want +got):\n%s", diff)
				}
			}
			if len(p.DeviceRules) != tt.wantRules {
				t.Errorf("rules: got %v, want %d", p.DeviceRules, tt.wantRules)
			}
			for _, r := range p.DeviceRules {
				if r.Access != tt.wantAccess {
					t.Errorf("access of %v: want %s", r, tt.wantAccess)
				}
				if r.Major == 195 && r.Minor == 1 {
					t.Errorf("a rule for a GPU that was not asked for: %v", r)
				}
			}
		})
	}
}

func TestBuildWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		places   Places
		wantTree string
		// wantLinks: name -> text; "" = no link is planned there.
		wantLinks map[string]string
		wantCover string
		wantWarn  string
	}{
		{
			"own link again",
			Places{"/usr/bin/nvidia-smi": {Kind: Link, Target: "/usr/local/nvidia/bin/nvidia-smi"}},
			"/usr/local/nvidia",
			map[string]string{"/usr/bin/nvidia-smi": "/usr/local/nvidia/bin/nvidia-smi"},
			"", "",
		},
		{
			"zero-byte leftover",
			Places{testLibDir + "/libcuda.so.1": {Kind: Empty}},
			"/usr/local/nvidia",
			map[string]string{testLibDir + "/libcuda.so.1": "/usr/local/nvidia/lib64/libcuda.so.1"},
			"", "",
		},
		{
			"dangling link",
			Places{testLibDir + "/libcuda.so.1": {Kind: Dangling, Target: "libcuda.so.1.1"}},
			"/usr/local/nvidia",
			map[string]string{testLibDir + "/libcuda.so.1": "/usr/local/nvidia/lib64/libcuda.so.1"},
			"", "",
		},
		{
			"image's own library",
			Places{testLibDir + "/libcuda.so.1": {Kind: Link, Target: "libcuda.so.535.1"}},
			"/usr/local/nvidia",
			map[string]string{testLibDir + "/libcuda.so.1": ""},
			"", "image-file",
		},
		{
			"image's own binary",
			Places{"/usr/bin/nvidia-smi": {Kind: File}},
			"/usr/local/nvidia",
			map[string]string{"/usr/bin/nvidia-smi": ""},
			"/usr/bin/nvidia-smi", "",
		},
		{
			"volume over /usr/bin",
			Places{"/usr/bin/nvidia-smi": {Kind: Foreign}},
			"/usr/local/nvidia",
			map[string]string{"/usr/bin/nvidia-smi": ""},
			"", "user-volume",
		},
		{
			"volume over the library directory",
			Places{testLibDir + "/libcuda.so.1": {Kind: Foreign}, testLibDir + "/libcuda.so": {Kind: Foreign}},
			"/usr/local/nvidia",
			map[string]string{testLibDir + "/libcuda.so.1": "", testLibDir + "/libcuda.so": ""},
			"", "user-volume",
		},
		{
			"volume over /usr/local without the directory",
			Places{"/usr/local/nvidia": {Kind: Foreign}},
			FallbackTree,
			map[string]string{"/usr/bin/nvidia-smi": FallbackTree + "/bin/nvidia-smi"},
			"", "tree-moved",
		},
		{
			"a directory with a library's name",
			Places{testLibDir + "/libcuda.so.1": {Kind: Dir}},
			"/usr/local/nvidia",
			map[string]string{testLibDir + "/libcuda.so.1": ""},
			"", "name-taken",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := someFacts()
			f.Places = tt.places
			p := build(t, f)
			if p.Tree != tt.wantTree {
				t.Errorf("tree: got %s, want %s", p.Tree, tt.wantTree)
			}
			for name, want := range tt.wantLinks {
				if got := p.link(name); got != want {
					t.Errorf("link %s: got %q, want %q", name, got, want)
				}
			}
			for _, m := range p.Mounts {
				if m.Cover != (m.Target == tt.wantCover) {
					t.Errorf("mount %s: cover is %v", m.Target, m.Cover)
				}
			}
			if tt.wantWarn == "" && len(p.Warnings) > 0 || tt.wantWarn != "" && !p.warned(tt.wantWarn) {
				t.Errorf("warnings: got %v, want %q", p.Warnings, tt.wantWarn)
			}
		})
	}
}

func TestBuildDirect(t *testing.T) {
	t.Parallel()
	f := someFacts()
	f.Config.Mounts.Layout = config.LayoutDirect
	p := build(t, f)
	if p.Tree != "" {
		t.Errorf("direct layout has a tree: %s", p.Tree)
	}
	if _, ok := p.mount(testLibDir + "/libcuda.so.550.163.01"); !ok {
		t.Errorf("no libcuda in the library directory: %v", p.Mounts)
	}
	if got := p.link(testLibDir + "/libcuda.so.1"); got != "libcuda.so.550.163.01" {
		t.Errorf("libcuda.so.1: got %q", got)
	}
	if _, ok := p.mount("/usr/bin/nvidia-smi"); !ok {
		t.Errorf("no nvidia-smi: %v", p.Mounts)
	}
}

func TestBuildNoLibraryDirectory(t *testing.T) {
	t.Parallel()
	f := someFacts()
	f.Loader.LibDir = ""
	p := build(t, f)
	for _, l := range p.Symlinks {
		if l.Path[:2] == "//" || l.Path == "/libcuda.so.1" {
			t.Errorf("link without a directory: %v", l)
		}
	}
	if _, ok := p.mount("/usr/local/nvidia/lib64/libcuda.so.550.163.01"); !ok {
		t.Errorf("the tree lacks libcuda")
	}
}

func TestBuild32Bit(t *testing.T) {
	t.Parallel()
	f := someFacts()
	f.Loader.LibDir32 = "/usr/lib/i386-linux-gnu"
	lib := f.Files.Libraries[0]
	lib.Class, lib.Path = elf.ELFCLASS32, "/usr/lib/i386-linux-gnu/"+lib.Name
	f.Files.Libraries = append(f.Files.Libraries, lib)
	p := build(t, f)
	if got := p.link("/usr/lib/i386-linux-gnu/libcuda.so.1"); got != "/usr/local/nvidia/lib32/libcuda.so.1" {
		t.Errorf("32-bit libcuda.so.1: got %q", got)
	}
	bits := map[int]bool{}
	for _, l := range p.Loader.Libraries {
		bits[l.Bits] = true
	}
	if !bits[32] || !bits[64] {
		t.Errorf("loader entries: %v", p.Loader.Libraries)
	}
}

// TestBuildStable: the JSON form is the same byte for byte, and every list is
// there even where it is empty.
func TestBuildStable(t *testing.T) {
	t.Parallel()
	first, err := json.Marshal(build(t, someFacts()))
	if err != nil {
		t.Fatal(err)
	}
	f := someFacts()
	f.Nodes[0], f.Nodes[2] = f.Nodes[2], f.Nodes[0]
	f.Files.Libraries[0], f.Files.Libraries[1] = f.Files.Libraries[1], f.Files.Libraries[0]
	f.Files.Files[0], f.Files.Files[1] = f.Files.Files[1], f.Files.Files[0]
	second, err := json.Marshal(build(t, f))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("plan depends on the order of facts:\n%s", diff)
	}
	empty, err := json.Marshal(Plan{}.filled())
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(empty, &fields); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"gpus", "deviceNodes", "deviceRules", "mounts", "symlinks", "warnings"} {
		if fields[key] == nil {
			t.Errorf("%s is null in an empty plan", key)
		}
	}
}
