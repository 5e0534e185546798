package loader

import (
	"bytes"
	"debug/elf"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// glibcs are the releases whose own loader and ldconfig are tried.
func glibcs() []lab.Kind { return []lab.Kind{lab.Bullseye, lab.Bookworm, lab.Trixie, lab.Sid} }

// TestRealGlibc merges into caches that each release's ldconfig wrote in each
// format, and asks its loader for every name before and after, then runs its
// ldconfig again.
func TestRealGlibc(t *testing.T) {
	t.Parallel()
	for _, kind := range glibcs() {
		for _, format := range []string{"new", "compat", "old"} {
			t.Run(string(kind)+"-"+format, func(t *testing.T) {
				t.Parallel()
				r := newRealRoot(t, kind)
				r.library(defaultDir, "libcuda.so.1")
				r.library(defaultDir, "libhw.so.1")
				r.library(defaultDir+"/glibc-hwcaps/x86-64-v2", "libhw.so.1")
				r.library("/opt/b", "libtwice.so.1")
				r.library("/opt/a", "libtwice.so.1")
				r.library("/opt/a", "libdate.so.20240101")
				r.library("/opt/a", "libdate.so.3")
				r.write("/etc/ld.so.conf.d/own.conf", "/opt/b\n/opt/a\n")
				r.ldconfig("-c", format)
				if len(r.names())%2 == 1 && kind == lab.Bullseye && format == "old" {
					// glibc 2.31 writes every offset 4 bytes too far for an odd
					// number of entries, and then finds none of them.
					r.library("/opt/a", "libeven.so.1")
					r.ldconfig("-c", format)
				}
				names := r.names()
				before := r.loads(names...)
				if before["libcuda.so.1"] == "" || before["libdate.so.3"] == "" || before["libtwice.so.1"] == "" {
					t.Fatalf("the loader finds nothing before: %v", before)
				}

				f, warnings := r.apply()
				if warnings != nil || f.Kind != Glibc || f.LibDir != defaultDir {
					t.Fatalf("apply: %v, kind %v, directory %q", warnings, f.Kind, f.LibDir)
				}
				out, errOut, err := r.run("/sbin/ldconfig", "-p")
				if err != nil || errOut != "" || !strings.Contains(out, "libcuda.so.1 (libc6,x86-64) => "+ours+"/libcuda.so.1\n") {
					t.Errorf("ldconfig -p: %v\n%s%s", err, out, errOut)
				}
				r.wantOurs("at the start")
				r.sameOthers("at the start", format, before, r.loads(names...))

				r.ldconfig()
				r.wantOurs("after ldconfig")
				r.sameOthers("after ldconfig", format, before, r.loads(names...))
				if _, warnings := r.apply(); warnings != nil {
					t.Errorf("apply after ldconfig: %v", warnings)
				}
				r.wantOurs("after both")
			})
		}
	}
}

// sameOthers compares what the loader takes for all names but the driver's. In
// a compat or old cache no loader finds glibc-hwcaps directories; ours makes
// them work.
func (r realRoot) sameOthers(when, format string, before, after map[string]string) {
	r.t.Helper()
	for name, path := range before {
		if name == "libcuda.so.1" || name == "libhw.so.1" && format != "new" {
			continue
		}
		if after[name] != path {
			r.t.Errorf("%s %s is loaded from %q, was from %q", when, name, after[name], path)
		}
	}
}

// TestRealWithoutCache has roots without a cache that any loader would use.
func TestRealWithoutCache(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(r realRoot) error
	}{
		{name: "none", prepare: func(r realRoot) error { return os.Remove(r.top + cachePath) }},
		{name: "empty", prepare: func(r realRoot) error { return os.Truncate(r.top+cachePath, 0) }},
		{name: "random", prepare: func(r realRoot) error { return os.WriteFile(r.top+cachePath, bytes.Repeat([]byte("x9"), 999), 0o644) }},
		{name: "header-only", prepare: func(r realRoot) error { return os.Truncate(r.top+cachePath, 48) }},
		{name: "dangling", prepare: func(r realRoot) error {
			return replaceBy(r.top+cachePath, func(p string) error { return os.Symlink("/run/none", p) })
		}},
		{name: "no-etc", prepare: func(r realRoot) error { return os.RemoveAll(r.top + "/etc") }},
		{name: "no-configuration", prepare: func(r realRoot) error { return os.Remove(r.top + confPath) }},
	}
	for _, kind := range []lab.Kind{lab.Bullseye, lab.Trixie} {
		for _, tt := range tests {
			t.Run(string(kind)+"-"+tt.name, func(t *testing.T) {
				t.Parallel()
				r := newRealRoot(t, kind)
				r.library(defaultDir, "libcuda.so.1")
				if err := tt.prepare(r); err != nil {
					t.Fatal(err)
				}
				if _, warnings := r.apply(); warnings != nil {
					t.Errorf("apply: %v", warnings)
				}
				r.wantOurs("at the start")
				r.ldconfig()
				r.wantOurs("after ldconfig")
			})
		}
	}
}

func replaceBy(path string, create func(string) error) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return create(path)
}

// TestRealOrder has directories that come first in a container's own
// configuration, each with a libcuda of its own.
func TestRealOrder(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, text string }{
		{name: "before-the-include-line", file: confPath, text: "/opt/own\ninclude /etc/ld.so.conf.d/*.conf\n"},
		{name: "an-earlier-drop-in", file: "/etc/ld.so.conf.d/00-compat.conf", text: "/opt/own\n"},
		{name: "an-earlier-drop-in-by-collation", file: "/etc/ld.so.conf.d/000_cuda.conf", text: "/opt/own\n"},
		{name: "no-include-line", file: confPath, text: "/opt/own\n"},
	}
	for _, kind := range []lab.Kind{lab.Bullseye, lab.Bookworm, lab.Trixie} {
		for _, tt := range tests {
			t.Run(string(kind)+"-"+tt.name, func(t *testing.T) {
				t.Parallel()
				r := newRealRoot(t, kind)
				r.library("/opt/own", "libcuda.so.1")
				r.write(tt.file, tt.text)
				r.ldconfig()
				if got := r.loads("libcuda.so.1"); got["libcuda.so.1"] != "/opt/own/libcuda.so.1" {
					t.Fatalf("before, the loader takes %v", got)
				}
				if _, warnings := r.apply(); warnings != nil {
					t.Errorf("apply: %v", warnings)
				}
				r.wantOurs("at the start")
				r.ldconfig()
				r.wantOurs("after ldconfig")
			})
		}
	}
}

// TestRealShadow shows with a real loader what Shadowed warns of: a
// glibc-hwcaps copy wins once ldconfig has run.
func TestRealShadow(t *testing.T) {
	t.Parallel()
	r := newRealRoot(t, lab.Trixie)
	const dir = defaultDir + "/glibc-hwcaps/x86-64-v2"
	r.library(dir, "libcuda.so.1")
	r.ldconfig()
	root := openRoot(t, r.top)
	want := []Shadow{{
		Name: "libcuda.so.1", Path: "/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v2/libcuda.so.1",
		Real: "/usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v2/libcuda.so.1", Later: true,
	}}
	if diff := cmp.Diff(want, Shadowed(root, inspect(t, root), ourUpdate(), nil)); diff != "" {
		t.Errorf("Shadowed() differs (-want +got):\n%s", diff)
	}
	r.apply()
	r.wantOurs("at the start")
	r.ldconfig()
	if got := r.loads("libcuda.so.1")["libcuda.so.1"]; got == ours+"/libcuda.so.1" {
		t.Error("ours still wins after ldconfig: Shadowed warns without need")
	}
}

// TestRealLayouts finds the directory of libc.so.6 in the layouts of other
// distributions: a link there is found without any cache.
func TestRealLayouts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind lab.Kind
		want string
	}{
		{kind: lab.Glibc, want: defaultDir},
		{kind: lab.Fedora, want: "/usr/lib64"},
		{kind: lab.Arch, want: "/usr/lib"},
		{kind: lab.Distroless, want: "/lib/x86_64-linux-gnu"},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			t.Parallel()
			r := newRealRoot(t, tt.kind)
			f, warnings := r.apply()
			if f.Kind != Glibc || f.LibDir != tt.want || warnings != nil {
				t.Errorf("apply: %v, LibDir %q, want %q", warnings, f.LibDir, tt.want)
			}
			r.wantOurs("at the start")
		})
	}
	t.Run("scratch", func(t *testing.T) {
		t.Parallel()
		if f := inspect(t, openRoot(t, lab.Root(t, lab.Scratch))); f.Kind != None || f.Machine != elf.EM_X86_64 {
			t.Errorf("Inspect() found %v on %v", f.Kind, f.Machine)
		}
	})
}

// TestReal32Bit asks an i386 loader beside the 64-bit one.
func TestReal32Bit(t *testing.T) {
	t.Parallel()
	r := newRealRoot(t, lab.Bookworm)
	i386 := lab.PackagesFor(t, "bookworm", "i386", "libc6")
	lab.CopyTree(t, i386+"/lib/i386-linux-gnu", r.top+"/usr/lib/i386-linux-gnu")
	lab.Link(t, "i386-linux-gnu/ld-linux.so.2", r.top+"/usr/lib/ld-linux.so.2")
	const lib32 = "/usr/local/nvidia/lib32"
	r.library(lib32, "libcuda.so.1", "-m32")
	r.library(defaultDir, "libcuda.so.1")
	r.library("/usr/lib/i386-linux-gnu", "libcuda.so.1", "-m32")
	r.library("/opt", "libuser.so.1", "-m32", "-L"+r.top+lib32, "-Wl,--no-as-needed", "-l:libcuda.so.1")
	r.write("/etc/ld.so.conf.d/i386-linux-gnu.conf", "/lib/i386-linux-gnu\n")
	r.ldconfig()

	root := openRoot(t, r.top)
	f := inspect(t, root)
	if f.LibDir != defaultDir || f.LibDir32 != "/usr/lib/i386-linux-gnu" {
		t.Errorf("Inspect() found %q and %q", f.LibDir, f.LibDir32)
	}
	u := ourUpdate()
	u.Dirs = append(u.Dirs, lib32)
	u.Libraries = append(u.Libraries[:2], Library{Name: "libcuda.so.1", Path: lib32 + "/libcuda.so.1", Class: elf.ELFCLASS32})
	if warnings, err := u.Apply(root, f); err != nil || warnings != nil {
		t.Fatalf("Apply() = %v, %v", warnings, err)
	}
	for _, when := range []string{"at the start", "after ldconfig"} {
		r.wantOurs(when)
		out, errOut, err := r.run("/lib/ld-linux.so.2", "--list", "/opt/libuser.so.1")
		if err != nil || !strings.Contains(out, "libcuda.so.1 => "+lib32+"/libcuda.so.1 ") {
			t.Errorf("%s the i386 loader says: %v\n%s%s", when, err, out, errOut)
		}
		r.ldconfig()
	}
}

// TestRealMusl asks musl's loader, which has no cache and one path file.
func TestRealMusl(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
	}{
		{name: "no-path-file"},
		{name: "own-path-file", file: "/opt/own:/lib\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRealRoot(t, lab.Musl)
			r.library("/usr/lib", "libdefault.so.1")
			r.library("/opt/own", "libown.so.1")
			if tt.file != "" {
				r.write("/etc/ld-musl-x86_64.path", tt.file)
			}
			before := r.loads("libdefault.so.1", "libown.so.1", "libcuda.so.1")
			if before["libcuda.so.1"] != "" {
				t.Fatalf("before, the loader takes %v", before)
			}
			f, warnings := r.apply()
			if f.Kind != Musl || !slices.Equal(warnings, []string{"loader-musl"}) {
				t.Fatalf("apply: %v, kind %v", warnings, f.Kind)
			}
			r.wantOurs("at the start")
			delete(before, "libcuda.so.1")
			if diff := cmp.Diff(before, r.loads("libdefault.so.1", "libown.so.1")); diff != "" {
				t.Errorf("others are found differently (-before +after):\n%s", diff)
			}
		})
	}
}
