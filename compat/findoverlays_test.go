package compat

import (
	"debug/elf"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// noNote is a library without a note.
func noNote() string {
	l := plainLibrary("")
	l.section = ".note.gnu.build-id"
	return string(l.build())
}

// compatSet is a cuda-compat package of a version as it is installed.
func compatSet(dir, version, libcuda string) []node {
	return []node{
		file(dir+"/libcuda.so."+version, libcuda),
		link(dir+"/libcuda.so.1", "libcuda.so."+version),
		link(dir+"/libcuda.so", "libcuda.so.1"),
		file(dir+"/libnvidia-ptxjitcompiler.so."+version, "x"),
		link(dir+"/libnvidia-ptxjitcompiler.so.1", "libnvidia-ptxjitcompiler.so."+version),
		file(dir+"/libnvidia-nvvm.so."+version, "x"),
		link(dir+"/libnvidia-nvvm.so.4", "libnvidia-nvvm.so."+version),
		file(dir+"/libcudadebugger.so."+version, "x"),
		file(dir+"/libnvidia-pkcs11-openssl3.so."+version, "x"),
	}
}

func setMembers(version string) []Member {
	return []Member{
		{SONAME: "libcuda.so.1", File: "libcuda.so." + version},
		{SONAME: "libnvidia-ptxjitcompiler.so.1", File: "libnvidia-ptxjitcompiler.so." + version},
		{SONAME: "libnvidia-nvvm.so.4", File: "libnvidia-nvvm.so." + version},
		{SONAME: "libcudadebugger.so.1", File: "libcudadebugger.so." + version},
		{SONAME: "libnvidia-pkcs11-openssl3.so." + version, File: "libnvidia-pkcs11-openssl3.so." + version},
	}
}

func TestFindOverlays(t *testing.T) {
	t.Parallel()
	const v550, v535 = "550.54.14", "535.54.03"
	full := func(dir string, names ...string) Overlay {
		return Overlay{
			Dir: dir, Names: append([]string{dir}, names...), Driver: driver(t, v550), CUDA: 12040,
			Machine: elf.EM_X86_64, Members: setMembers(v550), Linked: true,
		}
	}
	noted := plainLibrary(`{"CUDA version":"12.9","driver":[535]}` + "\x00")
	for _, tt := range []struct {
		name  string
		nodes []node

		want  []Overlay
		codes []string
	}{
		{name: "nothing", nodes: []node{dir("usr/local")}},
		{
			name: "plain", nodes: compatSet("usr/local/cuda-12.4/compat", v550, noNote()),
			want: []Overlay{full("/usr/local/cuda-12.4/compat")},
		},
		{
			name: "alternatives", nodes: append(compatSet("usr/local/cuda-12.4/compat", v550, noNote()),
				link("usr/local/cuda", "/etc/alternatives/cuda"), link("usr/local/cuda-12", "/etc/alternatives/cuda"), link("etc/alternatives/cuda", "/usr/local/cuda-12.4")),
			want: []Overlay{full("/usr/local/cuda-12.4/compat", "/usr/local/cuda/compat", "/usr/local/cuda-12/compat")},
		},
		{
			name: "clamped", nodes: append(compatSet("etc/compat", v550, noNote()), link("usr/local/cuda", "/../../../etc")),
			want: []Overlay{full("/etc/compat", "/usr/local/cuda/compat")},
		},
		{
			name:  "ngc",
			nodes: append(compatSet("usr/local/cuda-12.4/compat/lib.real", v550, noNote()), link("usr/local/cuda", "cuda-12.4"), link("usr/local/cuda-12.4/compat/lib", "lib.real")),
			want:  []Overlay{full("/usr/local/cuda-12.4/compat/lib.real", "/usr/local/cuda/compat/lib.real", "/usr/local/cuda/compat/lib", "/usr/local/cuda-12.4/compat/lib")},
		},
		{name: "note", nodes: compatSet("usr/local/cuda/compat", v550, string(noted.build())), want: []Overlay{func() Overlay {
			o := full("/usr/local/cuda/compat")
			o.CUDA, o.Note = 12090, &Note{CUDA: 12090, Drivers: []int{535}}
			return o
		}()}},
		{
			name: "note-damaged", nodes: compatSet("usr/local/cuda/compat", v550, string(plainLibrary("{").build())),
			want: []Overlay{full("/usr/local/cuda/compat")}, codes: []string{"compat-note-unreadable"},
		},
		{
			name: "libcuda-alone", nodes: []node{file("usr/local/cuda/compat/libcuda.so."+v550, noNote())},
			want: []Overlay{func() Overlay {
				o := full("/usr/local/cuda/compat")
				o.Members, o.Linked = o.Members[:1], false
				o.Missing = []string{"libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4"}
				return o
			}()},
		},
		{name: "member-of-other-version", nodes: []node{
			file("usr/local/cuda/compat/libcuda.so."+v550, noNote()), file("usr/local/cuda/compat/libnvidia-ptxjitcompiler.so."+v535, "x"), file("usr/local/cuda/compat/libnvidia-nvvm.so."+v550, "x"),
		}, want: []Overlay{func() Overlay {
			o := full("/usr/local/cuda/compat")
			o.Members, o.Linked = []Member{o.Members[0], o.Members[2]}, false
			o.Missing = []string{"libnvidia-ptxjitcompiler.so.1"}
			return o
		}()}},
		{name: "members-empty-link-directory", nodes: []node{
			file("usr/local/cuda/compat/libcuda.so."+v550, noNote()), file("usr/local/cuda/compat/libnvidia-ptxjitcompiler.so."+v550, ""),
			link("usr/local/cuda/compat/libnvidia-nvvm.so."+v550, "/etc/passwd"), file("etc/passwd", "x"), dir("usr/local/cuda/compat/libcudadebugger.so." + v550), fifo("usr/local/cuda/compat/libnvidia-x.so." + v550),
		}, want: []Overlay{func() Overlay {
			o := full("/usr/local/cuda/compat")
			o.Members, o.Linked = o.Members[:1], false
			o.Missing = []string{"libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4"}
			return o
		}()}},
		{name: "two-versions", nodes: []node{
			file("usr/local/cuda/compat/libcuda.so."+v550, noNote()), file("usr/local/cuda/compat/libcuda.so."+v535, noNote()), link("usr/local/cuda/compat/libcuda.so.1", "libcuda.so."+v550),
		}, want: []Overlay{func() Overlay {
			o := full("/usr/local/cuda/compat")
			o.Driver, o.CUDA, o.Linked = driver(t, v535), 12020, false
			o.Members = []Member{{SONAME: "libcuda.so.1", File: "libcuda.so." + v535}}
			o.Missing = []string{"libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4"}
			return o
		}(), func() Overlay {
			o := full("/usr/local/cuda/compat")
			o.Members, o.Missing = o.Members[:1], []string{"libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4"}
			return o
		}()}},

		{
			name: "no-libcuda", nodes: []node{file("usr/local/cuda/compat/libnvidia-ptxjitcompiler.so."+v550, "x")},
			want: []Overlay{{Dir: "/usr/local/cuda/compat", Names: []string{"/usr/local/cuda/compat"}, Problem: "there is no libcuda in it"}},
		},
		{name: "soname-only", nodes: []node{file("usr/local/cuda/compat/libcuda.so.1", noNote())}},
		{name: "directory-empty", nodes: []node{dir("usr/local/cuda/compat")}},
		{name: "compat-is-file", nodes: []node{file("usr/local/cuda/compat", "x")}},
		{name: "compat-is-fifo", nodes: []node{fifo("usr/local/cuda/compat")}},
		{name: "compat-to-itself", nodes: []node{link("usr/local/cuda/compat", "compat")}},
		{name: "compat-to-proc", nodes: []node{link("usr/local/cuda/compat", "/proc"), dir("proc/1")}},
		{name: "compat-to-root", nodes: []node{link("usr/local/cuda/compat", "/")}},
		{
			name: "compat-to-root-with-libcuda", nodes: []node{link("usr/local/cuda/compat", "/"), file("libcuda.so."+v550, noNote())},
			want: []Overlay{func() Overlay {
				o := full("/", "/usr/local/cuda/compat")
				o.Members, o.Linked = o.Members[:1], false
				o.Missing = []string{"libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4"}
				return o
			}()},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachFS(t, tt.nodes, func(t *testing.T, root fs.FS) {
				got, warnings := FindOverlays(root)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("FindOverlays() (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.codes, codes(warnings)); diff != "" {
					t.Errorf("warnings %v (-want +got):\n%s", warnings, diff)
				}
			})
		})
	}
}

// What cannot be a library is named, never opened where that could hang, and
// never used.
func TestFindOverlaysProblems(t *testing.T) {
	t.Parallel()
	const name = "usr/local/cuda/compat/libcuda.so.999.1"
	for _, tt := range []struct {
		name string
		node node
		want string
	}{
		{"directory", dir(name), "not a regular file"},
		{"fifo", fifo(name), "not a regular file"},
		{"link-to-host-name", link(name, "/etc"), "not a regular file"},
		{"empty", file(name, ""), "not a shared library"},
		{"text", file(name, strings.Repeat("text ", 100)), "not a shared library"},
		{"half-a-header", file(name, noNote()[:40]), "not a shared library"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachFS(t, []node{tt.node, file("etc/secret", "canary")}, func(t *testing.T, root fs.FS) {
				tracer := traced{root.(fs.ReadLinkFS), map[string]bool{}}
				got, _ := FindOverlays(tracer)
				if len(got) != 1 || !strings.Contains(got[0].Problem, tt.want) || got[0].Members != nil {
					t.Fatalf("FindOverlays() = %+v, want one with the problem %q", got, tt.want)
				}
				decision := Decide(Input{Driver: driver(t, "470.256.02"), Runtime: Runtime{Version: 12040}, Overlays: got})
				if decision.Kind != KindIncompatible || !strings.Contains(decision.Reason, tt.want) {
					t.Errorf("Decide() = %s: %s", decision.Kind, decision.Reason)
				}
				for opened := range tracer.opened {
					if info, err := fs.Lstat(root, opened); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
						t.Errorf("%s was opened", opened)
					}
				}
			})
		})
	}
}

func TestFindHostOverlays(t *testing.T) {
	t.Parallel()
	nodes := append(compatSet("opt/compat/550.54.14", "550.54.14", noNote()), compatSet("opt/compat/new", "580.65.06", noNote())...)
	nodes = append(nodes, file("opt/compat/README", "x"), dir("opt/compat/empty"), link("opt/compat/loop", "."), link("srv", "opt"))
	eachFS(t, nodes, func(t *testing.T, root fs.FS) {
		got, warnings := FindHostOverlays(root, "/srv/compat")
		if len(got) != 2 || warnings != nil {
			t.Fatalf("FindHostOverlays() = %+v, %v; want two", got, warnings)
		}
		for i, want := range []string{"/opt/compat/550.54.14", "/opt/compat/new"} {
			if got[i].Dir != want || !got[i].Host || got[i].Problem != "" || len(got[i].Members) != 5 {
				t.Errorf("overlay %d = %+v, want a whole set in %s", i, got[i], want)
			}
		}
	})
}

func TestFindHostOverlaysDirect(t *testing.T) {
	t.Parallel()
	got, warnings := FindHostOverlays(inMemory(compatSet("opt/compat", "550.54.14", noNote())...), "opt/compat")
	if len(got) != 1 || got[0].Dir != "/opt/compat" || warnings != nil {
		t.Errorf("FindHostOverlays() = %+v, %v; want the directory itself", got, warnings)
	}
	for _, dir := range []string{"/missing", "", "/opt/compat/libcuda.so.1", "\x00"} {
		got, warnings = FindHostOverlays(inMemory(compatSet("opt/compat", "550.54.14", noNote())...), dir)
		if got != nil || len(warnings) != 1 || warnings[0].Code != "compat-host-dir" {
			t.Errorf("FindHostOverlays(%q) = %v, %v; want a warning", dir, got, warnings)
		}
	}
}

func TestOverlaySONAMEs(t *testing.T) {
	t.Parallel()
	o := Overlay{Members: setMembers("550.54.14")[:1], Missing: []string{"libnvidia-ptxjitcompiler.so.1"}}
	want := []string{
		"libcuda.so.1", "libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4", "libnvidia-nvvm70.so.4", "libcudadebugger.so.1",
	}
	if diff := cmp.Diff(want, o.SONAMEs()); diff != "" {
		t.Errorf("SONAMEs() (-want +got):\n%s", diff)
	}
}
