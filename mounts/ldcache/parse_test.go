package ldcache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"
)

// patch returns a copy of data with a number at off replaced.
func patch(data []byte, off int, n uint32) []byte {
	data = bytes.Clone(data)
	binary.LittleEndian.PutUint32(data[off:], n)
	return data
}

// TestParseDamage follows what real loaders were seen to do with damaged
// files: use them, use a part of them, or do without.
func TestParseDamage(t *testing.T) {
	t.Parallel()
	whole := readFile(t, "hwcaps-new")
	compat := readFile(t, "compat")
	old := readFile(t, "old")
	extension := int(binary.LittleEndian.Uint32(whole[newExtensionAt:]))
	behindOld := align(oldHeaderSize+oldEntrySize*int(binary.LittleEndian.Uint32(compat[oldCountAt:])), compatAlign)
	swapped := bytes.Clone(whole)
	copy(swapped[newHeaderSize:], whole[newHeaderSize+3*newEntrySize:newHeaderSize+4*newEntrySize])

	const used, partly, rejected = "used", "partly", "rejected"
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{name: "whole", data: whole, want: used},
		{name: "empty", data: nil, want: rejected},
		{name: "header alone", data: whole[:newHeaderSize], want: rejected},
		{name: "text", data: bytes.Repeat([]byte("no cache "), 20), want: rejected},
		{name: "zeros", data: make([]byte, 4096), want: rejected},
		{name: "magic of another version", data: bytes.Replace(whole, []byte("cache1.1"), []byte("cache1.2"), 1), want: rejected},
		{name: "count too large", data: patch(whole, newCountAt, 1000), want: rejected},
		{name: "count overflows", data: patch(whole, newCountAt, 0xffffffff), want: rejected},
		{name: "count smaller", data: patch(whole, newCountAt, 3), want: used},
		{name: "endian unset", data: patch(whole, newEndianAt, 0), want: used},
		{name: "endian invalid", data: patch(whole, newEndianAt, 1), want: rejected},
		{name: "endian big", data: patch(whole, newEndianAt, 3), want: rejected},
		{name: "endian byte with unknown bits", data: patch(whole, newEndianAt, 0x82), want: used},
		{name: "extension offset misaligned", data: patch(whole, newExtensionAt, uint32(extension+1)), want: used},
		{name: "extension offset outside", data: patch(whole, newExtensionAt, 0xfffffffc), want: used},
		{name: "extension magic", data: patch(whole, extension, 1), want: used},
		{name: "extension count", data: patch(whole, extension+4, 0xffffffff), want: used},
		{name: "extension cut off", data: whole[:extension+10], want: used},
		{name: "strings cut off", data: whole[:extension-200], want: partly},
		{name: "last string without end", data: whole[:extension-4], want: partly},
		{name: "key outside", data: patch(whole, newHeaderSize+4, 0xffff), want: partly},
		{name: "value outside", data: patch(whole, newHeaderSize+8, 0xffffffff), want: partly},
		{name: "out of order", data: swapped, want: partly},
		{name: "old", data: old, want: used},
		{name: "old, header alone", data: old[:oldHeaderSize], want: rejected},
		{name: "old count too large", data: patch(old, oldCountAt, 0x10000000), want: rejected},
		{name: "old strings cut off", data: old[:len(old)-1], want: partly},
		{name: "compat, endian big", data: patch(compat, behindOld+newEndianAt, 3), want: rejected},
		{name: "compat, count too large", data: patch(compat, behindOld+newCountAt, 0xffffffff), want: partly},
		{name: "compat, new magic gone: the old entries", data: patch(compat, behindOld, 0), want: used},
		{name: "compat, cut before the new header", data: compat[:behindOld+8], want: partly},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := Parse(tt.data)
			got := used
			switch {
			case err != nil && c != nil:
				t.Fatalf("Parse() = %v, %v: a cache beside an error", c, err)
			case errors.Is(err, ErrRejected):
				got = rejected
			case err != nil:
				t.Fatalf("Parse() = %v, want ErrRejected", err)
			case c.Damage() != nil:
				got = partly
			}
			if got != tt.want {
				t.Errorf("Parse() is %s (%v), want %s", got, err, tt.want)
			}
		})
	}
}

// TestParseOddOld reads what glibc 2.31 writes as "old" for an odd number of
// entries: every offset is 4 bytes too far. Its own loader finds nothing in it.
func TestParseOddOld(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/odd-2.31.bad")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Lookup("libone.so.1", 0x303); got != nil || c.Damage() == nil {
		t.Errorf("Lookup() = %q, Damage() = %v, want nothing found and damage", got, c.Damage())
	}
}

// TestParseBadExtension checks that bad extensions cost the hwcaps entries
// and nothing else.
func TestParseBadExtension(t *testing.T) {
	t.Parallel()
	c, err := Parse(patch(readFile(t, "hwcaps-new"), newExtensionAt, 3))
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Collect(c.All())
	if !slices.Equal(got, plainEntries) {
		t.Errorf("All() = %v, want the plain entries", got)
	}
	if again, _ := Parse(c.Encode()); !slices.Equal(slices.Collect(again.All()), plainEntries) {
		t.Error("an entry without its directory's name was written")
	}
}

func TestParseLastSectionCounts(t *testing.T) {
	t.Parallel()
	c := New("first")
	c.Merge([]Entry{{Name: "libx.so.1", Path: "/x/libx.so.1", Flags: 0x303}})
	data := c.Encode()
	at := int(binary.LittleEndian.Uint32(data[newExtensionAt:]))
	section := bytes.Clone(data[at+8 : at+8+sectionSize])
	data = append(patch(data, at+4, 2)[:at+8+sectionSize], section...)
	binary.LittleEndian.PutUint32(data[at+8+8:], 0)
	binary.LittleEndian.PutUint32(data[at+8+12:], 3)
	binary.LittleEndian.PutUint32(data[at+8+sectionSize+8:], 6)
	binary.LittleEndian.PutUint32(data[at+8+sectionSize+12:], 5)
	again, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if want := newMagic[6:11]; again.Generator != want {
		t.Errorf("Generator = %q, want %q", again.Generator, want)
	}
}
