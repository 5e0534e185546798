package ldcache

import (
	"bytes"
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ourDir = "/usr/local/nvidia/lib64"

func ourEntries(flags int32, names ...string) []Entry {
	entries := make([]Entry, 0, len(names))
	for _, n := range names {
		entries = append(entries, Entry{Name: n, Path: ourDir + "/" + n, Flags: flags})
	}
	return entries
}

func TestMerge(t *testing.T) {
	t.Parallel()
	entry := func(flags int32, path, name string) Entry {
		return Entry{Name: name, Path: path + "/" + name, Flags: flags}
	}
	v3 := entry(0x303, "/lib/glibc-hwcaps/x86-64-v3", "libcuda.so.1")
	v3.HWCaps, v3.HWCap = "x86-64-v3", hwcapExtension
	legacy := entry(0x303, "/lib/haswell", "libm.so.6")
	legacy.HWCap, legacy.OSVersion = 0x0004000000000000, 0x30200
	tests := []struct {
		name string
		have []Entry
		ours []Entry
		dirs []string
		want []Entry
	}{
		{
			name: "into nothing",
			ours: ourEntries(0x303, "libcuda.so", "libcuda.so.1"),
			want: ourEntries(0x303, "libcuda.so.1", "libcuda.so"),
		},
		{
			name: "the image's own goes, hwcaps copies too",
			have: []Entry{v3, entry(0x303, "/lib", "libcuda.so.1"), entry(0x303, "/lib", "libc.so.6")},
			ours: ourEntries(0x303, "libcuda.so.1"),
			want: []Entry{entry(0x303, ourDir, "libcuda.so.1"), entry(0x303, "/lib", "libc.so.6")},
		},
		{
			name: "another class stays",
			have: []Entry{entry(0x303, "/lib", "libcuda.so.1"), entry(0x3, "/lib32", "libcuda.so.1")},
			ours: ourEntries(0x303, "libcuda.so.1"),
			want: []Entry{entry(0x303, ourDir, "libcuda.so.1"), entry(0x3, "/lib32", "libcuda.so.1")},
		},
		{
			name: "ELF and libc6 are one class on i386",
			have: []Entry{entry(0x303, "/lib", "libcuda.so.1"), entry(0x1, "/lib32", "libcuda.so.1")},
			ours: ourEntries(0x3, "libcuda.so.1"),
			want: []Entry{entry(0x303, "/lib", "libcuda.so.1"), entry(0x3, ourDir, "libcuda.so.1")},
		},
		{
			name: "stale ones below our directory go",
			have: []Entry{entry(0x303, ourDir, "libold.so.1"), entry(0x303, ourDir+"er", "libx.so.1"), entry(0x303, ourDir+"/sub", "liba.so")},
			ours: ourEntries(0x303, "libcuda.so.1"),
			dirs: []string{ourDir + "/"},
			want: []Entry{entry(0x303, ourDir+"er", "libx.so.1"), entry(0x303, ourDir, "libcuda.so.1")},
		},
		{
			name: "hwcaps, osversion and legacy hwcap are kept",
			have: []Entry{legacy, v3},
			ours: ourEntries(0x303, "libnvidia-ml.so.1"),
			want: []Entry{entry(0x303, ourDir, "libnvidia-ml.so.1"), legacy, v3},
		},
		{
			name: "equal entries keep their order",
			have: []Entry{entry(0x303, "/b", "libx.so.1"), entry(0x303, "/a", "libx.so.1"), entry(0x303, "/c", "libx.so.1")},
			want: []Entry{entry(0x303, "/b", "libx.so.1"), entry(0x303, "/a", "libx.so.1"), entry(0x303, "/c", "libx.so.1")},
		},
		{
			name: "names that compare equal: ours first",
			have: []Entry{entry(0x303, "/b", "libcuda.so.01")},
			ours: ourEntries(0x303, "libcuda.so.1"),
			want: []Entry{entry(0x303, ourDir, "libcuda.so.1"), entry(0x303, "/b", "libcuda.so.01")},
		},
		{
			name: "out of order is sorted",
			have: []Entry{entry(0x303, "/b", "liba.so.1"), entry(0x303, "/b", "libb.so.1")},
			want: []Entry{entry(0x303, "/b", "libb.so.1"), entry(0x303, "/b", "liba.so.1")},
		},
		{
			name: "arm64",
			have: []Entry{entry(0xa03, "/b", "lib\xc3\xa4.so.1"), entry(0xa03, "/b", "libz.so.1")},
			ours: ourEntries(0xa03, "libcuda.so.1"),
			want: []Entry{entry(0xa03, "/b", "lib\xc3\xa4.so.1"), entry(0xa03, "/b", "libz.so.1"), entry(0xa03, ourDir, "libcuda.so.1")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := New("test")
			c.entries = tt.have
			ours := slices.Clone(tt.ours)
			c.Merge(tt.ours, tt.dirs...)
			if diff := cmp.Diff(tt.want, slices.Collect(c.All())); diff != "" {
				t.Errorf("Merge() differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(ours, tt.ours); diff != "" {
				t.Errorf("Merge() changed its argument (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMergeGolden merges into what real ldconfigs wrote: every loader gets
// ours, and for each other name what it got before; a second time changes no
// byte.
func TestMergeGolden(t *testing.T) {
	t.Parallel()
	for _, file := range goldenNames(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			c := parseFile(t, file)
			if err := c.Damage(); err != nil {
				t.Fatal(err)
			}
			c.Merge(nil)
			before := c.Encode()
			ours := ourEntries(0x303, "libcuda.so.1", "libnvidia-ml.so.1", "libcuda.so")
			c = parseFile(t, file)
			c.Merge(ours, ourDir)
			after := c.Encode()
			levels := []string{"x86-64-v3", "x86-64-v2"}
			for _, e := range plainEntries {
				want := ldso(before, e.Name, e.Flags&^2|2, levels...)
				if e.Name == "libcuda.so.1" {
					want = ourDir + "/libcuda.so.1"
				}
				if got := ldso(after, e.Name, e.Flags&^2|2, levels...); got != want || got == "" {
					t.Errorf("%s = %q, want %q", e.Name, got, want)
				}
			}
			for _, e := range ours {
				if got := ldso(after, e.Name, 0x303, levels...); got != e.Path {
					t.Errorf("%s = %q, want ours", e.Name, got)
				}
			}
			again, err := Parse(after)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Damage(); err != nil {
				t.Errorf("Damage() after Encode = %v", err)
			}
			again.Merge(ours, ourDir)
			if !bytes.Equal(again.Encode(), after) {
				t.Error("a second merge changed the bytes")
			}
		})
	}
}

// TestSearchFindsAll is the reason for the order: whatever the names, the
// loader's binary search finds each.
func TestSearchFindsAll(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const alphabet = "ab-_.+0129ZP"
	for round := range 200 {
		entries := make([]Entry, 0, 64)
		for range cap(entries) {
			name := []byte("lib")
			for range 1 + r.IntN(6) {
				name = append(name, alphabet[r.IntN(len(alphabet))])
			}
			flags := []int32{0x303, 0x3, 0x1}[r.IntN(3)]
			entries = append(entries, Entry{Name: string(name), Path: fmt.Sprintf("/d%d/%s", r.IntN(9), name), Flags: flags})
		}
		c := New("")
		c.Merge(entries[:40])
		c.Merge(entries[40:], ourDir)
		data := c.Encode()
		parsed, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := parsed.Damage(); err != nil {
			t.Fatalf("round %d: Damage() = %v", round, err)
		}
		for e := range c.All() {
			flags := e.class()
			got := ldso(data, e.Name, flags)
			if got == "" {
				t.Fatalf("round %d: %q for %#x is not found", round, e.Name, flags)
			}
			if paths := parsed.Lookup(e.Name, flags); !slices.Contains(paths, got) || !slices.Contains(paths, e.Path) {
				t.Fatalf("round %d: Lookup(%q) = %q, the loader takes %q", round, e.Name, paths, got)
			}
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		class  int
		mach   int
		want   int32
		wantOK bool
	}{
		{name: "x86-64", class: 2, mach: 62, want: 0x303, wantOK: true},
		{name: "x32", class: 1, mach: 62, want: 0x803, wantOK: true},
		{name: "i386", class: 1, mach: 3, want: 0x3, wantOK: true},
		{name: "arm64", class: 2, mach: 183, want: 0xa03, wantOK: true},
		{name: "armhf", class: 1, mach: 40, want: 0x903, wantOK: true},
		{name: "riscv64", class: 2, mach: 243},
		{name: "i386 with 64 bits", class: 2, mach: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := Flags(elf.Machine(tt.mach), elf.Class(tt.class))
			if got != tt.want || ok != tt.wantOK {
				t.Errorf("Flags() = %#x, %v, want %#x, %v", got, ok, tt.want, tt.wantOK)
			}
		})
	}
}
