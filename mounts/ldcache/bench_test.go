package ldcache

import (
	"fmt"
	"testing"
)

// BenchmarkMerge is what a container start pays, for caches of the sizes seen
// in images: 100 entries in a small one, 1,000 in a large one.
func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		data, ours := benchCache(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				c, err := Parse(data)
				if err != nil || c.Damage() != nil {
					b.Fatal(err)
				}
				c.Merge(ours, ourDir)
				c.Encode()
			}
		})
	}
}

// BenchmarkLookup is what finding the driver on the host pays.
func BenchmarkLookup(b *testing.B) {
	data, ours := benchCache(1000)
	b.ReportAllocs()
	for b.Loop() {
		c, err := Parse(data)
		if err != nil {
			b.Fatal(err)
		}
		for i := range ours {
			c.Lookup(ours[i].Name, 0x303)
		}
	}
}

func benchCache(n int) ([]byte, []Entry) {
	entries := make([]Entry, 0, n)
	for i := range n {
		name := fmt.Sprintf("lib%c%c-example%d.so.%d", 'a'+i%26, 'a'+i/26%26, i/676, i%7)
		entries = append(entries, Entry{Name: name, Path: "/usr/lib/x86_64-linux-gnu/" + name, Flags: 0x303})
	}
	c := New("ldconfig (Debian GLIBC 2.36-9+deb12u10) stable release version 2.36")
	c.Merge(entries)
	ours := make([]Entry, 0, 26)
	for i := range 26 {
		name := fmt.Sprintf("libnvidia-part%d.so.1", i)
		ours = append(ours, Entry{Name: name, Path: ourDir + "/" + name, Flags: 0x303})
	}
	return c.Encode(), ours
}
