package loader

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/ldcache"
)

const ours = "/usr/local/nvidia/lib64"

// ourUpdate is what the driver brings.
func ourUpdate() Update {
	u := Update{Dirs: []string{ours}}
	for _, name := range []string{"libcuda.so.1", "libnvidia-ml.so.1", "libcuda.so"} {
		u.Libraries = append(u.Libraries, Library{Name: name, Path: ours + "/" + name, Class: elf.ELFCLASS64})
	}
	return u
}

// codes are the codes of warnings.
func codes(warnings []mounts.Warning) []string {
	var out []string
	for _, w := range warnings {
		out = append(out, w.Code)
	}
	return out
}

// cached parses the cache of a root and looks a name up.
func cached(t *testing.T, top, name string) []string {
	t.Helper()
	data, err := os.ReadFile(top + cachePath)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ldcache.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return c.Lookup(name, 0x303)
}

func TestApply(t *testing.T) {
	t.Parallel()
	const libc = "elf lib/x86_64-linux-gnu/libc.so.6 x86-64"
	const debian = "file etc/ld.so.conf include /etc/ld.so.conf.d/*.conf|"
	tests := []struct {
		name      string
		plant     []string
		cache     []string
		want      []string // warning codes
		wantCache string   // what the cache says of libcuda.so.1; "" = nothing was written there
		wantConf  string   // "" = no drop-in was written
	}{
		{
			name: "Debian", plant: []string{libc, debian}, cache: []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libcuda.so.1"},
			wantCache: ours, wantConf: includeLine + "\ninclude /etc/ld.so.conf.d/*.conf\n",
		},
		{name: "no cache, no configuration", plant: []string{libc, "dir etc"}, wantCache: ours, wantConf: includeLine + "\n"},
		{name: "no /etc", plant: []string{libc}, wantCache: ours, wantConf: includeLine + "\n"},
		{name: "/etc is a link", plant: []string{libc, "link etc usr/etc", "dir usr/etc"}, wantCache: ours, wantConf: includeLine + "\n"},
		{name: "rejected cache", plant: []string{libc, "file etc/ld.so.cache random bytes"}, wantCache: ours, wantConf: includeLine + "\n"},
		{name: "dangling cache", plant: []string{libc, "link etc/ld.so.cache /run/none"}, wantCache: ours, wantConf: includeLine + "\n"},
		{name: "dangling configuration", plant: []string{libc, "link etc/ld.so.conf /run/none"}, wantCache: ours, wantConf: includeLine + "\n"},
		{name: "cache is a directory", plant: []string{libc, "dir etc/ld.so.cache/x"}, want: []string{"loader-cache-not-a-file"}, wantConf: includeLine + "\n"},
		{name: "configuration is a directory", plant: []string{libc, "dir etc/ld.so.conf"}, want: []string{"loader-conf"}, wantCache: ours},
		{name: "drop-in is a directory", plant: []string{libc, debian, "dir etc/ld.so.conf.d/00-gpu-hook.conf"}, want: []string{"loader-write"}, wantCache: ours},
		{name: "drop-ins are a file", plant: []string{libc, debian, "file etc/ld.so.conf.d x"}, want: []string{"loader-write"}, wantCache: ours},
		{name: "/etc is a file", plant: []string{libc, "file etc x"}, want: []string{"loader-etc-not-a-directory"}},
		{name: "scratch", plant: []string{"dir etc"}, want: []string{"loader-none"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			top := plant(t, tt.plant...)
			if tt.cache != nil {
				plantCache(t, top, tt.cache...)
			}
			r := openRoot(t, top)
			before := snapshot(t, top)
			warnings, err := ourUpdate().Apply(r, inspect(t, r))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, codes(warnings)); diff != "" {
				t.Errorf("warnings differ (-want +got):\n%s%v", diff, warnings)
			}
			if tt.wantCache != "" {
				if diff := cmp.Diff([]string{tt.wantCache + "/libcuda.so.1"}, cached(t, top, "libcuda.so.1")); diff != "" {
					t.Errorf("the cache differs (-want +got):\n%s", diff)
				}
			}
			for _, p := range tt.cache {
				if name := filepath.Base(p); name != "libcuda.so.1" && !slices.Contains(cached(t, top, name), p) {
					t.Errorf("%s is gone from the cache", p)
				}
			}
			checkConf(t, top, tt.wantConf)
			after := snapshot(t, top)
			if tt.wantCache == "" && tt.wantConf == "" && !cmp.Equal(before, after) {
				t.Errorf("something was written:\n%s", cmp.Diff(before, after))
			}
			again, err := ourUpdate().Apply(r, inspect(t, r))
			if err != nil || !cmp.Equal(codes(again), tt.want) {
				t.Errorf("the second time = %v, %v", again, err)
			}
			if diff := cmp.Diff(after, snapshot(t, top)); diff != "" {
				t.Errorf("the second time wrote (-first +second):\n%s", diff)
			}
		})
	}
}

// checkConf compares ld.so.conf and sees whether the drop-in is there.
func checkConf(t *testing.T, top, want string) {
	t.Helper()
	text, err := os.ReadFile(top + dropInDir + "/" + dropInName)
	if want == "" {
		if err == nil {
			t.Error("a drop-in was written")
		}
		return
	}
	if err != nil || !strings.HasSuffix(string(text), "\n"+ours+"\n") {
		t.Errorf("the drop-in is %q, %v", text, err)
	}
	if text, err := os.ReadFile(top + confPath); err != nil || string(text) != want {
		t.Errorf("ld.so.conf is %q, %v, want %q", text, err, want)
	}
	for _, name := range []string{cachePath, confPath, dropInDir + "/" + dropInName} {
		if info, err := os.Lstat(top + name); err == nil && info.Mode().IsRegular() && info.Mode() != 0o644 {
			t.Errorf("%s has mode %v, want 0644", name, info.Mode())
		}
	}
}

// TestApplyTwiceWithOldFacts applies again what was found before the first
// time: the facts must not have been used up.
func TestApplyTwiceWithOldFacts(t *testing.T) {
	t.Parallel()
	top := plant(t, "elf lib64/libc.so.6 x86-64")
	plantCache(t, top, "/lib64/libc.so.6", "/lib64/libcuda.so.1")
	r := openRoot(t, top)
	f := inspect(t, r)
	for range 2 {
		if _, err := ourUpdate().Apply(r, f); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.cache.Lookup("libcuda.so.1", 0x303); !slices.Equal(got, []string{"/lib64/libcuda.so.1"}) {
		t.Errorf("the facts now say %q", got)
	}
}

func TestApplyNothing(t *testing.T) {
	t.Parallel()
	top := plant(t, "elf lib64/libc.so.6 x86-64", "dir etc")
	r := openRoot(t, top)
	before := snapshot(t, top)
	warnings, err := Update{Dirs: []string{ours}}.Apply(r, inspect(t, r))
	if err != nil || warnings != nil {
		t.Errorf("Apply() = %v, %v", warnings, err)
	}
	if diff := cmp.Diff(before, snapshot(t, top)); diff != "" {
		t.Errorf("Apply() wrote (-before +after):\n%s", diff)
	}
}

// TestApplyDirect has the libraries among the container's own: nothing but
// their own names may leave the cache, and there is nothing to configure.
func TestApplyDirect(t *testing.T) {
	t.Parallel()
	const dir = "/usr/lib/x86_64-linux-gnu"
	top := plant(t, "elf usr/lib/x86_64-linux-gnu/libc.so.6 x86-64")
	plantCache(t, top, dir+"/libc.so.6", dir+"/libz.so.1", "/opt/libcuda.so.1")
	r := openRoot(t, top)
	u := Update{Libraries: []Library{{Name: "libcuda.so.1", Path: dir + "/libcuda.so.1", Class: elf.ELFCLASS64}}}
	if warnings, err := u.Apply(r, inspect(t, r)); err != nil || warnings != nil {
		t.Fatalf("Apply() = %v, %v", warnings, err)
	}
	for name, want := range map[string]string{"libc.so.6": dir, "libz.so.1": dir, "libcuda.so.1": dir} {
		if got := cached(t, top, name); !slices.Equal(got, []string{want + "/" + name}) {
			t.Errorf("%s = %q", name, got)
		}
	}
	checkConf(t, top, "")
}

func TestApply32Bit(t *testing.T) {
	t.Parallel()
	const lib32 = "/usr/local/nvidia/lib32"
	u := ourUpdate()
	u.Dirs = append(u.Dirs, lib32)
	u.Libraries = append(u.Libraries, Library{Name: "libcuda.so.1", Path: lib32 + "/libcuda.so.1", Class: elf.ELFCLASS32})
	tests := []struct {
		name  string
		plant []string
		want  map[int32][]string // by flags: libcuda.so.1
	}{
		{
			name:  "both",
			plant: []string{"elf lib64/libc.so.6 x86-64", "elf lib32/libc.so.6 i386", "elf lib/ld-linux.so.2 i386"},
			want:  map[int32][]string{0x303: {ours + "/libcuda.so.1"}, 0x3: {lib32 + "/libcuda.so.1"}},
		},
		{
			name:  "32-bit image",
			plant: []string{"elf lib32/libc.so.6 i386", "elf lib/ld-linux.so.2 i386"},
			want:  map[int32][]string{0x303: nil, 0x3: {lib32 + "/libcuda.so.1"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			top := plant(t, tt.plant...)
			r := openRoot(t, top)
			if warnings, err := u.Apply(r, inspect(t, r)); err != nil || warnings != nil {
				t.Fatalf("Apply() = %v, %v", warnings, err)
			}
			data, err := os.ReadFile(top + cachePath)
			if err != nil {
				t.Fatal(err)
			}
			c, err := ldcache.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			for flags, want := range tt.want {
				if diff := cmp.Diff(want, c.Lookup("libcuda.so.1", flags)); diff != "" {
					t.Errorf("flags %#x differ (-want +got):\n%s", flags, diff)
				}
			}
			text, err := os.ReadFile(top + dropInDir + "/" + dropInName)
			if err != nil || !strings.HasSuffix(string(text), ours+"\n"+lib32+"\n") {
				t.Errorf("the drop-in is %q, %v", text, err)
			}
		})
	}
}

func TestApplyMusl(t *testing.T) {
	t.Parallel()
	const loader, file = "elf lib/ld-musl-x86_64.so.1 x86-64", "etc/ld-musl-x86_64.path"
	tests := []struct {
		name  string
		plant []string
		codes []string
		want  string // of the path file, "" = not a file
	}{
		{name: "no file", plant: []string{loader, "dir etc"}, codes: []string{"loader-musl"}, want: "/lib\n/usr/local/lib\n/usr/lib\n" + ours + "\n"},
		{name: "no /etc", plant: []string{loader}, codes: []string{"loader-musl"}, want: "/lib\n/usr/local/lib\n/usr/lib\n" + ours + "\n"},
		{name: "dangling", plant: []string{loader, "link " + file + " none"}, codes: []string{"loader-musl"}, want: "/lib\n/usr/local/lib\n/usr/lib\n" + ours + "\n"},
		{name: "the image's own", plant: []string{loader, "file " + file + " /lib:/opt/lib"}, codes: []string{"loader-musl"}, want: "/lib:/opt/lib\n" + ours + "\n"},
		{name: "a directory", plant: []string{loader, "dir " + file}, codes: []string{"loader-musl", "loader-musl-path"}},
		{name: "/etc is a file", plant: []string{loader, "file etc x"}, codes: []string{"loader-musl", "loader-etc-not-a-directory"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			top := plant(t, tt.plant...)
			r := openRoot(t, top)
			var after map[string]string
			for range 2 {
				warnings, err := ourUpdate().Apply(r, inspect(t, r))
				if err != nil || !slices.Equal(codes(warnings), tt.codes) {
					t.Fatalf("Apply() = %v, %v, want %v", warnings, err, tt.codes)
				}
				now := snapshot(t, top)
				if after != nil && !cmp.Equal(after, now) {
					t.Errorf("the second time wrote:\n%s", cmp.Diff(after, now))
				}
				after = now
			}
			text, err := os.ReadFile(filepath.Join(top, file))
			if (err != nil) != (tt.want == "") || string(text) != tt.want {
				t.Errorf("the path file is %q, %v, want %q", text, err, tt.want)
			}
			if _, err := os.Lstat(top + cachePath); err == nil {
				t.Error("a glibc cache was written")
			}
		})
	}
}

func TestApplyForeignMachine(t *testing.T) {
	t.Parallel()
	top := plant(t, "dir etc")
	_, err := ourUpdate().Apply(openRoot(t, top), Facts{Kind: Glibc, Machine: elf.EM_RISCV})
	if want := new(MachineError); !errors.As(err, &want) {
		t.Errorf("Apply() = %v, want a MachineError", err)
	}
}
