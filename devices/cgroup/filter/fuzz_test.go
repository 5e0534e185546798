package filter

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Dumps come from the kernel, yet nothing about them is taken for granted.
func FuzzClean(f *testing.F) {
	p, err := Compose([]Rule{char(195, 0, "rw"), char(510, 1, "r")}, denyAll())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Encode())
	f.Add(blind(p, rand.New(rand.NewPCG(5, 6))).Encode())
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		dump, err := Decode(b)
		if err != nil {
			if dump != nil {
				t.Fatal("Decode: a program with an error")
			}
			return
		}
		clean, err := Clean(dump)
		if err != nil {
			if clean != nil {
				t.Fatal("Clean: a program with an error")
			}
			return
		}
		if len(clean) > len(dump) {
			t.Fatalf("Clean: %d instructions from %d", len(clean), len(dump))
		}
		for _, i := range clean {
			if i.Dst == regAX {
				t.Fatalf("Clean left register 11: %+v", i)
			}
		}
		rules, body := Split(clean)
		if len(rules) > 0 {
			again, err := Compose(rules, body)
			if err != nil || !bytes.Equal(again.Encode(), clean.Encode()) {
				t.Fatalf("Split: rules %v do not give the program again (%v)", rules, err)
			}
		}
		_, _ = clean.Run(Access{Type: Char, Bits: Read, Major: 195})
	})
}

// The program against the matcher on rules made of the fuzzer's bytes.
func FuzzPrologue(f *testing.F) {
	f.Add([]byte{195, 0, 0, 6, 195, 0, 255, 6, 254, 1, 1, 7}, uint16(Char), uint16(Read|Write), uint32(195), uint32(255))
	f.Add([]byte{1, 0, 3, 1}, uint16(Block), uint16(Mknod), uint32(1), uint32(3))
	f.Fuzz(func(t *testing.T, b []byte, typ, bits uint16, major, minor uint32) {
		var rules []Rule
		for ; len(b) >= 4 && len(rules) < 64; b = b[4:] {
			if b[3]&7 == 0 {
				continue
			}
			rules = append(rules, char(uint32(b[0]), uint32(binary.BigEndian.Uint16(b[1:3])), accessText(uint16(b[3]&7))))
		}
		if len(rules) == 0 || bits == 0 {
			return
		}
		p, err := Compose(rules, denyAll())
		if err != nil {
			t.Fatal(err)
		}
		a := Access{typ, bits, major, minor}
		got, err := p.Run(a)
		if want := matches(rules, a); got != want || err != nil {
			t.Fatalf("%v on %+v: got %v, %v, want %v", rules, a, got, err, want)
		}
	})
}
