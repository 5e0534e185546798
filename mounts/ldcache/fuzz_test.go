package ldcache

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzMerge feeds any bytes through Parse, Merge and Encode. Nothing may
// panic; what parses must come out as a cache in which the loader finds ours,
// and the same again the second time.
func FuzzMerge(f *testing.F) {
	for _, name := range goldenNames(f) {
		data := readFile(f, name)
		f.Add(data)
		f.Add(data[:len(data)/2])
		f.Add(data[:len(data)-3])
	}
	f.Add([]byte(newMagic))
	f.Add([]byte(oldMagic + "\x00\x01\x00\x00\x00"))
	ours := ourEntries(0x303, "libcuda.so.1", "libnvidia-ml.so.1")

	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			if c != nil {
				t.Fatalf("Parse() = %v beside %v", c, err)
			}
			return
		}
		c.Lookup("libcuda.so.1", 0x303)
		lazy := slices.Collect(c.All())
		damage := c.Damage()
		if loaded := slices.Collect(c.All()); !slices.Equal(lazy, loaded) {
			t.Fatalf("All() = %v before, %v after loading", lazy, loaded)
		}
		c.Merge(ours, ourDir)
		out := c.Encode()
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("Parse(Encode()) = %v", err)
		}
		again.Merge(ours, ourDir)
		second := again.Encode()
		if damage != nil || longNumber(lazy) {
			return
		}
		if !bytes.Equal(out, second) {
			t.Fatalf("second merge differs:\n%q\n%q", out, second)
		}
		for _, e := range ours {
			if got := again.Lookup(e.Name, e.Flags); len(got) == 0 || got[0] != e.Path {
				t.Fatalf("Lookup(%q) = %q, want ours first", e.Name, got)
			}
			if got := ldso(out, e.Name, e.Flags); got != e.Path {
				t.Fatalf("the loader takes %q for %q, want ours", got, e.Name)
			}
		}
	})
}

// longNumber reports whether a name holds a number that may leave int32, or a
// byte whose order depends on the machine: glibc's order of those is not
// transitive, or not known here.
func longNumber(entries []Entry) bool {
	for _, e := range entries {
		digits := 0
		for i := range len(e.Name) {
			if e.Name[i] >= 0x80 {
				return true
			}
			if digits++; !isDigit(e.Name[i]) {
				digits = 0
			}
			if digits > 9 {
				return true
			}
		}
	}
	return false
}
