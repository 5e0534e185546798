package ldcache

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plainEntries is what testdata/make.sh puts into every cache, in ldconfig's
// order.
var plainEntries = []Entry{
	{Name: "libtwo.so.2", Path: "/opt/own/lib/libtwo.so.2", Flags: 0x303},
	{Name: "libthree.so.3", Path: "/opt/own/lib32/libthree.so.3", Flags: 0x1},
	{Name: "libone.so.10", Path: "/lib/libone.so.10", Flags: 0x303},
	{Name: "libone.so.9", Path: "/lib/libone.so.9", Flags: 0x303},
	{Name: "libone.so.1", Path: "/opt/own/lib/libone.so.1", Flags: 0x303},
	{Name: "libone.so.1", Path: "/lib/libone.so.1", Flags: 0x303},
	{Name: "libone.so.1", Path: "/opt/own/lib32/libone.so.1", Flags: 0x1},
	{Name: "libcuda.so.1", Path: "/lib/libcuda.so.1", Flags: 0x303},
	{Name: "libb1x.so.1", Path: "/lib/libb1x.so.1", Flags: 0x303},
	{Name: "libbig.so.5", Path: "/lib/libbig.so.5", Flags: 0x303},
	{Name: "libbig.so.3000000000", Path: "/lib/libbig.so.3000000000", Flags: 0x303},
	{Name: "libb_x.so.1", Path: "/lib/libb_x.so.1", Flags: 0x303},
	{Name: "libb.so.1", Path: "/lib/libb.so.1", Flags: 0x303},
	{Name: "libb-x.so.1", Path: "/lib/libb-x.so.1", Flags: 0x303},
}

// hwcapsEntries is the same after glibc-hwcaps directories were added.
func hwcapsEntries() []Entry {
	const dir = "/opt/own/lib/glibc-hwcaps/"
	entries := slices.Insert(slices.Clone(plainEntries), 7, Entry{
		Name: "libcuda.so.1", Path: dir + "x86-64-v2/libcuda.so.1",
		Flags: 0x303, HWCap: 1 << 62, HWCaps: "x86-64-v2",
	})
	return slices.Insert(entries, 0, Entry{
		Name: "libtwo.so.2", Path: dir + "x86-64-v2/libtwo.so.2",
		Flags: 0x303, HWCap: 1 << 62, HWCaps: "x86-64-v2",
	}, Entry{
		Name: "libtwo.so.2", Path: dir + "x86-64-v3/libtwo.so.2",
		Flags: 0x303, HWCap: 1<<62 | 2<<32 | 1, HWCaps: "x86-64-v3",
	})
}

const generator236 = "ldconfig (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36"

func TestGolden(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		generator string
		want      []Entry
	}{
		{name: "old", want: plainEntries},
		{name: "compat", generator: generator236, want: plainEntries},
		{name: "new", generator: generator236, want: plainEntries},
		{name: "old-2.31", want: plainEntries},
		{name: "compat-2.31", want: plainEntries},
		{name: "new-2.31", want: plainEntries},
		{name: "hwcaps-compat", generator: generator236, want: hwcapsEntries()},
		{name: "hwcaps-new", generator: generator236, want: hwcapsEntries()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := parseFile(t, tt.name)
			if c.Generator != tt.generator {
				t.Errorf("Generator = %q, want %q", c.Generator, tt.generator)
			}
			lazy := slices.Collect(c.All())
			if diff := cmp.Diff(tt.want, lazy); diff != "" {
				t.Errorf("All() differs (-want +got):\n%s", diff)
			}
			if err := c.Damage(); err != nil {
				t.Errorf("Damage() = %v, want nil", err)
			}
			if diff := cmp.Diff(lazy, slices.Collect(c.All())); diff != "" {
				t.Errorf("All() after loading differs (-lazy +loaded):\n%s", diff)
			}
			again, err := Parse(c.Encode())
			if err != nil {
				t.Fatalf("Parse(Encode()) = %v", err)
			}
			if diff := cmp.Diff(tt.want, slices.Collect(again.All())); diff != "" {
				t.Errorf("entries after Encode differ (-want +got):\n%s", diff)
			}
			if again.Generator != tt.generator {
				t.Errorf("Generator after Encode = %q, want %q", again.Generator, tt.generator)
			}
		})
	}
}

// TestGoldenLoaderView compares what a loader gets from glibc's own bytes and
// from ours, for every name.
func TestGoldenLoaderView(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"new", "new-2.31", "hwcaps-new"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := readFile(t, name)
			c := parseFile(t, name)
			c.Merge(nil)
			after := c.Encode()
			for _, e := range plainEntries {
				for _, flags := range []int32{0x303, 0x3} {
					for _, levels := range [][]string{nil, {"x86-64-v2"}, {"x86-64-v3", "x86-64-v2"}} {
						want := ldso(before, e.Name, flags, levels...)
						if got := ldso(after, e.Name, flags, levels...); got != want {
							t.Errorf("%s for %#x with %v = %q, want %q", e.Name, flags, levels, got, want)
						}
						if flags == e.Flags && want == "" {
							t.Errorf("%s for %#x is not found at all", e.Name, flags)
						}
					}
				}
			}
		})
	}
}

func TestLookupGolden(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		ask   string
		flags int32
		want  []string
	}{
		{name: "two directories", ask: "libone.so.1", flags: 0x303, want: []string{"/opt/own/lib/libone.so.1", "/lib/libone.so.1"}},
		{name: "i386 takes any ELF", ask: "libone.so.1", flags: 0x3, want: []string{"/opt/own/lib32/libone.so.1"}},
		{name: "other class only", ask: "libthree.so.3", flags: 0x303},
		{name: "hwcaps left out", ask: "libtwo.so.2", flags: 0x303, want: []string{"/opt/own/lib/libtwo.so.2"}},
		{name: "arm64 has none", ask: "libone.so.1", flags: 0xa03},
		{name: "first", ask: "libtwo.so.2", flags: 0x303, want: []string{"/opt/own/lib/libtwo.so.2"}},
		{name: "last", ask: "libb-x.so.1", flags: 0x303, want: []string{"/lib/libb-x.so.1"}},
		{name: "wrapped number", ask: "libbig.so.3000000000", flags: 0x303, want: []string{"/lib/libbig.so.3000000000"}},
		{name: "absent", ask: "libnone.so.1", flags: 0x303},
		{name: "above all", ask: "z", flags: 0x303},
		{name: "below all", ask: "", flags: 0x303},
	}
	for _, file := range []string{"old", "compat", "new", "hwcaps-compat", "hwcaps-new"} {
		for _, tt := range tests {
			t.Run(file+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				c := parseFile(t, file)
				if diff := cmp.Diff(tt.want, c.Lookup(tt.ask, tt.flags)); diff != "" {
					t.Errorf("Lookup(%q, %#x) differs (-want +got):\n%s", tt.ask, tt.flags, diff)
				}
				c.Merge(nil)
				if diff := cmp.Diff(tt.want, c.Lookup(tt.ask, tt.flags)); diff != "" {
					t.Errorf("Lookup(%q, %#x) after Merge differs (-want +got):\n%s", tt.ask, tt.flags, diff)
				}
			})
		}
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".cache"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parseFile(t testing.TB, name string) *Cache {
	t.Helper()
	c, err := Parse(readFile(t, name))
	if err != nil {
		t.Fatalf("Parse(%s) = %v", name, err)
	}
	return c
}

// goldenNames lists the files in testdata without their suffix.
func goldenNames(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.cache")
	if err != nil || len(files) < 5 {
		t.Fatalf("Glob(testdata/*.cache) = %v, %v", files, err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".cache")
	}
	return files
}
