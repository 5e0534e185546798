package loader

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShadowed(t *testing.T) {
	t.Parallel()
	const libc = "elf lib64/libc.so.6 x86-64"
	const musl = "elf lib/ld-musl-x86_64.so.1 x86-64"
	cuda := func(path string) Shadow { return Shadow{Name: "libcuda.so.1", Path: path, Real: path} }
	later := func(path string) Shadow { return Shadow{Name: "libcuda.so.1", Path: path, Real: path, Later: true} }
	tests := []struct {
		name  string
		plant []string
		cache []string
		etc   EtcState
		path  []string
		want  []Shadow
	}{
		{name: "nothing", plant: []string{libc}},
		{name: "in the default directory ours wins", plant: []string{libc, "elf lib64/libcuda.so.1 x86-64"}, cache: []string{"/lib64/libcuda.so.1"}},
		{
			name: "LD_LIBRARY_PATH", plant: []string{libc, "elf opt/libcuda.so.1 x86-64", "elf opt/libnvidia-ml.so.1 x86-64"},
			path: []string{"", "relative", "/opt"},
			want: []Shadow{cuda("/opt/libcuda.so.1"), {Name: "libnvidia-ml.so.1", Path: "/opt/libnvidia-ml.so.1", Real: "/opt/libnvidia-ml.so.1"}},
		},
		{name: "LD_LIBRARY_PATH behind ours", plant: []string{libc, "elf opt/libcuda.so.1 x86-64"}, path: []string{"/usr/local/nvidia/lib", ours, "/opt"}},
		{name: "LD_LIBRARY_PATH beside ours", plant: []string{libc, "elf usr/local/nvidia/opt/libcuda.so.1 x86-64"}, path: []string{"/usr/local/nvidia/opt"}, want: []Shadow{cuda("/usr/local/nvidia/opt/libcuda.so.1")}},
		{name: "another class", plant: []string{libc, "elf opt/libcuda.so.1 i386"}, path: []string{"/opt"}},
		{name: "not a library", plant: []string{libc, "file opt/libcuda.so.1 text", "fifo o2/libcuda.so.1", "dir o3/libcuda.so.1", "link o4/libcuda.so.1 none"}, path: []string{"/opt", "/o2", "/o3", "/o4"}},
		{name: "a link to ours", plant: []string{libc, "link opt/libcuda.so.1 " + ours + "/libcuda.so.1", "elf usr/local/nvidia/lib64/libcuda.so.1 x86-64"}, path: []string{"/opt"}},
		{
			name: "hwcaps in LD_LIBRARY_PATH", plant: []string{libc, "elf opt/glibc-hwcaps/x86-64-v3/libcuda.so.1 x86-64"}, path: []string{"/opt"},
			want: []Shadow{cuda("/opt/glibc-hwcaps/x86-64-v3/libcuda.so.1")},
		},
		{
			name: "hwcaps wins after ldconfig", plant: []string{libc, "elf lib64/glibc-hwcaps/x86-64-v3/libcuda.so.1 x86-64"},
			want: []Shadow{later("/lib64/glibc-hwcaps/x86-64-v3/libcuda.so.1")},
		},
		{
			name: "one file, two ways", plant: []string{"dir usr/lib64", "link lib64 usr/lib64", "elf usr/lib64/libc.so.6 x86-64", "elf usr/lib64/glibc-hwcaps/x86-64-v3/libcuda.so.1 x86-64"},
			want: []Shadow{{Name: "libcuda.so.1", Path: "/lib64/glibc-hwcaps/x86-64-v3/libcuda.so.1", Real: "/usr/lib64/glibc-hwcaps/x86-64-v3/libcuda.so.1", Later: true}},
		},
		{
			name: "hwcaps in ld.so.conf", plant: []string{libc, "file etc/ld.so.conf /opt", "elf opt/glibc-hwcaps/x86-64-v2/libcuda.so.1 x86-64", "elf opt/libcuda.so.1 x86-64"},
			want: []Shadow{later("/opt/glibc-hwcaps/x86-64-v2/libcuda.so.1")},
		},
		{
			name: "an /etc that cannot be written", etc: EtcForeign,
			plant: []string{libc, "file etc/ld.so.conf /opt", "elf opt/libcuda.so.1 x86-64", "elf cached/libcuda.so.1 x86-64", "elf lib64/libcuda.so.1 x86-64"},
			cache: []string{"/cached/libcuda.so.1", "/gone/libcuda.so.1"},
			want:  []Shadow{cuda("/cached/libcuda.so.1"), cuda("/lib64/libcuda.so.1"), later("/opt/libcuda.so.1")},
		},
		{
			name: "an /etc that cannot be written, ours in it", etc: EtcForeign,
			plant: []string{libc, "file etc/ld.so.conf /a|" + ours + "|/b", "elf a/libcuda.so.1 x86-64", "elf b/libcuda.so.1 x86-64"},
			want:  []Shadow{later("/a/libcuda.so.1")},
		},
		{name: "musl's default directories", plant: []string{musl, "elf usr/lib/libcuda.so.1 x86-64"}, want: []Shadow{cuda("/usr/lib/libcuda.so.1")}},
		{name: "musl's path file", plant: []string{musl, "elf usr/lib/libcuda.so.1 x86-64", "elf a/libcuda.so.1 x86-64", "file etc/ld-musl-x86_64.path /a:" + ours + ":/usr/lib"}, want: []Shadow{cuda("/a/libcuda.so.1")}},
		{name: "scratch", plant: []string{"elf opt/libcuda.so.1 x86-64"}, path: []string{"/opt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			top := plant(t, append(tt.plant, "dir etc")...)
			if tt.cache != nil {
				plantCache(t, top, tt.cache...)
			}
			r := openRoot(t, top)
			f := inspect(t, r)
			if tt.etc != EtcOwn {
				f.Etc = tt.etc
			}
			if diff := cmp.Diff(tt.want, Shadowed(r, f, ourUpdate(), tt.path)); diff != "" {
				t.Errorf("Shadowed() differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestShadowedOnlyWhatIsOurs looks for nothing that is not put in.
func TestShadowedOnlyWhatIsOurs(t *testing.T) {
	t.Parallel()
	r := openRoot(t, plant(t, "elf lib64/libc.so.6 x86-64", "elf opt/libcuda.so.1 x86-64"))
	u := Update{Dirs: []string{ours}, Libraries: ourUpdate().Libraries[1:]}
	if got := Shadowed(r, inspect(t, r), u, []string{"/opt"}); got != nil {
		t.Errorf("Shadowed() = %v, want none", got)
	}
}

func BenchmarkLoader(b *testing.B) {
	top := plant(
		b, "link lib usr/lib", "elf usr/lib/x86_64-linux-gnu/libc.so.6 x86-64", "file etc/ld.so.conf include /etc/ld.so.conf.d/*.conf|",
		"file etc/ld.so.conf.d/libc.conf /usr/local/lib", "file etc/ld.so.conf.d/x86_64-linux-gnu.conf /usr/local/lib/x86_64-linux-gnu|/lib/x86_64-linux-gnu|/usr/lib/x86_64-linux-gnu",
	)
	paths := []string{"/lib/x86_64-linux-gnu/libc.so.6"}
	for i := range 999 {
		paths = append(paths, "/lib/x86_64-linux-gnu/lib"+string(rune('a'+i%26))+string(rune('a'+i/26%26))+"-part.so."+string(rune('0'+i%10)))
	}
	plantCache(b, top, paths...)
	cache, err := os.ReadFile(top + cachePath)
	if err != nil {
		b.Fatal(err)
	}
	r := openRoot(b, top)
	b.Run("Inspect", func(b *testing.B) {
		for b.Loop() {
			inspect(b, r)
		}
	})
	b.Run("Shadowed", func(b *testing.B) {
		f := inspect(b, r)
		for b.Loop() {
			Shadowed(r, f, ourUpdate(), []string{"/usr/local/cuda/lib64"})
		}
	})
	b.Run("Apply", func(b *testing.B) {
		f := inspect(b, r)
		for b.Loop() {
			b.StopTimer()
			for _, name := range []string{cachePath, confPath, dropInDir + "/" + dropInName} {
				_ = os.Remove(top + name)
			}
			if err := os.WriteFile(top+cachePath, cache, 0o644); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if _, err := ourUpdate().Apply(r, f); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Second", func(b *testing.B) {
		f := inspect(b, r)
		for b.Loop() {
			if _, err := ourUpdate().Apply(r, f); err != nil {
				b.Fatal(err)
			}
		}
	})
}
