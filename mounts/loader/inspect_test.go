package loader

import (
	"debug/elf"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/mounts"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	const multi = "/usr/lib/x86_64-linux-gnu"
	debian := []string{
		"link lib usr/lib", "link lib64 usr/lib64", "elf usr/lib/x86_64-linux-gnu/libc.so.6 x86-64",
		"elf usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 x86-64", "dir etc",
		"link usr/lib64/ld-linux-x86-64.so.2 ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	}
	tests := []struct {
		name  string
		plant []string
		cache []string
		host  elf.Machine
		want  Facts
	}{
		{name: "empty root", want: Facts{Machine: elf.EM_X86_64, Etc: EtcAbsent}},
		{name: "Debian", plant: debian, want: Facts{Kind: Glibc, LibDir: multi}},
		{
			name: "Debian before the merge", plant: []string{"dir etc", "elf lib/x86_64-linux-gnu/libc.so.6 x86-64"},
			want: Facts{Kind: Glibc, LibDir: "/lib/x86_64-linux-gnu"},
		},
		{
			name: "with a cache", plant: append([]string{"elf opt/libc/libc.so.6 x86-64"}, debian...),
			cache: []string{"/opt/libc/libc.so.6"}, want: Facts{Kind: Glibc, LibDir: "/opt/libc", Cache: CacheGood},
		},
		{
			name: "the cache's file is missing", plant: debian, cache: []string{"/opt/libc/libc.so.6"},
			want: Facts{Kind: Glibc, LibDir: multi, Cache: CacheGood},
		},
		{
			name: "the cache's file is of another class", plant: append([]string{"elf opt/libc/libc.so.6 i386"}, debian...),
			cache: []string{"/opt/libc/libc.so.6"}, want: Facts{Kind: Glibc, LibDir: multi, Cache: CacheGood},
		},
		{
			name: "the cache's file is a FIFO", plant: append([]string{"fifo opt/libc/libc.so.6"}, debian...),
			cache: []string{"/opt/libc/libc.so.6"}, want: Facts{Kind: Glibc, LibDir: multi, Cache: CacheGood},
		},
		{
			name:  "from ld.so.conf",
			plant: []string{"elf opt/glibc/lib/libc.so.6 x86-64", "file etc/ld.so.conf /nowhere|/opt/glibc/lib"},
			want:  Facts{Kind: Glibc, LibDir: "/opt/glibc/lib"},
		},
		{
			name: "Fedora", plant: []string{"link lib64 usr/lib64", "link lib usr/lib", "elf usr/lib64/libc.so.6 x86-64", "dir usr/lib", "dir etc"},
			want: Facts{Kind: Glibc, LibDir: "/usr/lib64"},
		},
		{
			name: "Arch", plant: []string{"link lib64 usr/lib", "link lib usr/lib", "elf usr/lib/libc.so.6 x86-64", "link usr/lib64 lib", "dir etc"},
			want: Facts{Kind: Glibc, LibDir: "/usr/lib"},
		},
		{
			name: "libc.so.6 a link", plant: []string{"dir etc", "link lib/x86_64-linux-gnu/libc.so.6 /opt/libc-2.27.so", "elf opt/libc-2.27.so x86-64"},
			want: Facts{Kind: Glibc, LibDir: "/lib/x86_64-linux-gnu"},
		},
		{
			name: "no /etc", plant: []string{"elf lib/x86_64-linux-gnu/libc.so.6 x86-64"},
			want: Facts{Kind: Glibc, LibDir: "/lib/x86_64-linux-gnu", Etc: EtcAbsent},
		},
		{
			name: "32-bit programs too", plant: append([]string{"elf usr/lib32/libc.so.6 i386", "link usr/lib/ld-linux.so.2 /usr/lib32/ld-linux.so.2", "elf usr/lib32/ld-linux.so.2 i386"}, debian...),
			want: Facts{Kind: Glibc, LibDir: multi, LibDir32: "/usr/lib32"},
		},
		{
			name: "32-bit libc without its loader", plant: append([]string{"elf usr/lib32/libc.so.6 i386"}, debian...),
			want: Facts{Kind: Glibc, LibDir: multi},
		},
		{
			name: "32-bit image", plant: []string{"dir etc", "elf lib/i386-linux-gnu/libc.so.6 i386", "elf lib/ld-linux.so.2 i386"},
			want: Facts{Kind: Glibc, Machine: elf.EM_386, LibDir32: "/lib/i386-linux-gnu"},
		},
		{
			name: "arm64", host: elf.EM_AARCH64, plant: []string{"dir etc", "elf lib/aarch64-linux-gnu/libc.so.6 arm64"},
			want: Facts{Kind: Glibc, Machine: elf.EM_AARCH64, LibDir: "/lib/aarch64-linux-gnu"},
		},
		{
			name: "arm64 with 32-bit programs", host: elf.EM_AARCH64,
			plant: []string{"dir etc", "elf lib/aarch64-linux-gnu/libc.so.6 arm64", "elf lib/arm-linux-gnueabihf/libc.so.6 arm", "elf lib/ld-linux-armhf.so.3 arm"},
			want:  Facts{Kind: Glibc, Machine: elf.EM_AARCH64, LibDir: "/lib/aarch64-linux-gnu", LibDir32: "/lib/arm-linux-gnueabihf"},
		},
		{
			name: "foreign", plant: []string{"dir etc", "elf lib/aarch64-linux-gnu/libc.so.6 arm64", "elf lib/ld-linux-aarch64.so.1 arm64"},
			want: Facts{Machine: elf.EM_AARCH64},
		},
		{name: "foreign musl", plant: []string{"dir etc", "elf lib/ld-musl-aarch64.so.1 arm64"}, want: Facts{Machine: elf.EM_AARCH64}},
		{name: "foreign static", plant: []string{"dir etc", "elf bin/busybox arm64", "link bin/sh busybox"}, want: Facts{Machine: elf.EM_AARCH64}},
		{name: "scratch", plant: []string{"elf bin/sh x86-64", "dir etc"}, want: Facts{}},
		{
			name: "musl", plant: []string{"dir etc", "elf lib/ld-musl-x86_64.so.1 x86-64"},
			want: Facts{Kind: Musl, LibDir: "/lib", MuslPath: "/etc/ld-musl-x86_64.path"},
		},
		{
			name: "musl elsewhere", plant: []string{"dir etc", "elf usr/local/lib/ld-musl-x86_64.so.1 x86-64"},
			want: Facts{Kind: Musl, LibDir: "/usr/local/lib", MuslPath: "/usr/local/etc/ld-musl-x86_64.path"},
		},
		{
			name: "musl under glibc's name", plant: []string{"dir etc", "elf lib/ld-musl-x86_64.so.1 x86-64", "elf lib/libgcompat.so.0 x86-64", "link lib/libc.so.6 libgcompat.so.0"},
			want: Facts{Kind: Musl, LibDir: "/lib", MuslPath: "/etc/ld-musl-x86_64.path"},
		},
		{name: "musl beside glibc", plant: append([]string{"elf usr/lib/ld-musl-x86_64.so.1 x86-64"}, debian...), want: Facts{Kind: Glibc, LibDir: multi}},
		{name: "cache is a directory", plant: append([]string{"dir etc/ld.so.cache"}, debian...), want: Facts{Kind: Glibc, LibDir: multi, Cache: CacheNotFile}},
		{name: "cache is a FIFO", plant: append([]string{"fifo etc/ld.so.cache"}, debian...), want: Facts{Kind: Glibc, LibDir: multi, Cache: CacheNotFile}},
		{name: "cache is a dangling link", plant: append([]string{"link etc/ld.so.cache /run/cache"}, debian...), want: Facts{Kind: Glibc, LibDir: multi}},
		{name: "cache is a loop", plant: append([]string{"link etc/ld.so.cache ld.so.cache"}, debian...), want: Facts{Kind: Glibc, LibDir: multi}},
		{name: "cache is empty", plant: append([]string{"file etc/ld.so.cache"}, debian...), want: Facts{Kind: Glibc, LibDir: multi, Cache: CacheRejected}},
		{name: "cache is a link to text", plant: append([]string{"link etc/ld.so.cache ../run/cache", "file run/cache " + strings.Repeat("text", 99)}, debian...), want: Facts{Kind: Glibc, LibDir: multi, Cache: CacheRejected}},
		{name: "/etc is a file", plant: []string{"file etc x", "elf lib64/libc.so.6 x86-64"}, want: Facts{Kind: Glibc, LibDir: "/lib64", Etc: EtcNotDirectory}},
		{name: "/etc is a dangling link", plant: []string{"link etc usr/etc", "elf lib64/libc.so.6 x86-64"}, want: Facts{Kind: Glibc, LibDir: "/lib64", Etc: EtcNotDirectory}},
		{name: "/etc is a link", plant: []string{"link etc usr/etc", "dir usr/etc", "elf lib64/libc.so.6 x86-64"}, want: Facts{Kind: Glibc, LibDir: "/lib64"}},
		{name: "/etc is a loop", plant: []string{"link etc etc", "elf lib64/libc.so.6 x86-64"}, want: Facts{Kind: Glibc, LibDir: "/lib64", Etc: EtcNotDirectory}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.host == elf.EM_NONE {
				tt.host = elf.EM_X86_64
			}
			if tt.want.Machine == elf.EM_NONE {
				tt.want.Machine = elf.EM_X86_64
			}
			top := plant(t, tt.plant...)
			if tt.cache != nil {
				plantCache(t, top, tt.cache...)
			}
			got, err := Inspect(openRoot(t, top), tt.host)
			if err != nil {
				t.Fatal(err)
			}
			unread := cmpopts.IgnoreUnexported(Facts{})
			if diff := cmp.Diff(tt.want, got, unread, cmpopts.IgnoreFields(Facts{}, "CacheFault")); diff != "" {
				t.Errorf("Inspect() differs (-want +got):\n%s", diff)
			}
			if good := got.Cache == CacheGood || got.Cache == CacheAbsent; good != (got.CacheFault == nil) {
				t.Errorf("the cache is %v, its fault %v", got.Cache, got.CacheFault)
			}
		})
	}
}

func TestInspectDamagedCache(t *testing.T) {
	t.Parallel()
	top := plant(t)
	plantCache(t, top, "/lib64/liba.so.1", "/lib64/libb.so.1")
	data, err := os.ReadFile(top + cachePath)
	if err != nil {
		t.Fatal(err)
	}
	data[48+4+2] = 0xff // a key far outside
	if err := os.WriteFile(top+cachePath, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if f := inspect(t, openRoot(t, top)); f.Cache != CacheDamaged || f.CacheFault == nil {
		t.Errorf("the cache is %v (%v), want damaged", f.Cache, f.CacheFault)
	}
}

func TestInspectLargeCache(t *testing.T) {
	t.Parallel()
	top := plant(t, "file etc/ld.so.cache")
	if err := os.Truncate(top+cachePath, MaxCache+1); err != nil {
		t.Fatal(err)
	}
	if f := inspect(t, openRoot(t, top)); f.Cache != CacheTooLarge {
		t.Errorf("the cache is %v, want too-large", f.Cache)
	}
}

func TestInspectUnknownHost(t *testing.T) {
	t.Parallel()
	for _, m := range []elf.Machine{elf.EM_NONE, elf.EM_SPARCV9, elf.EM_RISCV, elf.EM_386} {
		_, err := Inspect(openRoot(t, plant(t)), m)
		if want := new(MachineError); !errors.As(err, &want) {
			t.Errorf("Inspect(%v) = %v, want a MachineError", m, err)
		}
	}
}

// TestInspectMounts looks at what lies on other mounts than the root's.
func TestInspectMounts(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	root := func(lines ...string) (string, *mounts.Root) {
		top := plant(t, append([]string{"dir etc"}, lines...)...)
		bind(t, top, top, 0)
		return top, openRoot(t, top)
	}
	top, r := root()
	bind(t, t.TempDir(), top+"/etc", 0)
	if f := inspect(t, r); f.Etc != EtcForeign {
		t.Errorf("/etc on a volume is %v", f.Etc)
	}
	top, r = root("file etc/ld.so.cache text")
	bind(t, top+cachePath, top+cachePath, 0)
	if f := inspect(t, r); f.Cache != CacheForeign || f.Etc != EtcOwn {
		t.Errorf("a bound cache is %v, /etc is %v", f.Cache, f.Etc)
	}
	top, r = root("dir vol", "link etc/ld.so.cache /vol/cache")
	bind(t, plant(t, "file cache text"), top+"/vol", 0)
	if f := inspect(t, r); f.Cache != CacheRejected {
		t.Errorf("a cache that is a link into a volume is %v", f.Cache)
	}
	top = plant(t, "dir etc")
	bind(t, top, top, unix.MS_RDONLY)
	if f := inspect(t, openRoot(t, top)); f.Etc != EtcReadOnly {
		t.Errorf("/etc on a read-only mount is %v", f.Etc)
	}
	top = plant(t)
	bind(t, top, top, unix.MS_RDONLY)
	if f := inspect(t, openRoot(t, top)); f.Etc != EtcReadOnly {
		t.Errorf("no /etc on a read-only mount is %v", f.Etc)
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add(elfHead("x86-64"))
	f.Add(elfHead("i386")[:19])
	f.Add([]byte("#!/bin/sh\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		m, c, ok := identify(head)
		if !ok && (m != elf.EM_NONE || c != elf.ELFCLASSNONE) {
			t.Fatalf("identify(%q) = %v, %v beside false", head, m, c)
		}
		if ok && len(head) < headerSize {
			t.Fatalf("identify(%q) is ok", head)
		}
	})
}
