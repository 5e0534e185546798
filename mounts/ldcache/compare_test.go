package ldcache

import "testing"

func TestOrderNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		a, b     string
		unsigned bool
		want     int
	}{
		{name: "equal", a: "libc.so.6", b: "libc.so.6", want: 0},
		{name: "bytes", a: "liba.so", b: "libb.so", want: -1},
		{name: "numbers not text", a: "libx.so.10", b: "libx.so.9", want: 1},
		{name: "leading zeros count nothing", a: "libx.so.007", b: "libx.so.7", want: 0},
		{name: "digit above letter", a: "lib1.so", b: "libz.so", want: 1},
		{name: "letter below digit", a: "libz.so", b: "lib1.so", want: -1},
		{name: "digit above punctuation", a: "libb1x", b: "libb_x", want: 1},
		{name: "prefix first", a: "libx.so", b: "libx.so.1", want: -1},
		{name: "longer last", a: "libx.so.1", b: "libx.so", want: 1},
		{name: "digit after the end", a: "libx", b: "libx1", want: -1},
		{name: "end before a digit", a: "libx1", b: "libx", want: 1},
		{name: "empty", a: "", b: "", want: 0},
		{name: "numbers wrap", a: "libx.so.3000000000", b: "libx.so.5", want: -1},
		{name: "numbers wrap twice", a: "libx.so.99999999999", b: "libx.so.5", want: 1},
		{name: "signed char", a: "lib\xc3\xa4", b: "libz", want: -1},
		{name: "unsigned char", a: "lib\xc3\xa4", b: "libz", unsigned: true, want: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := order{signed: !tt.unsigned}
			if got := sign(o.names(tt.a, tt.b)); got != tt.want {
				t.Errorf("names(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
			}
			if got := sign(o.names(tt.b, tt.a)); got != -tt.want {
				t.Errorf("names(%q, %q) = %d, want %d", tt.b, tt.a, got, -tt.want)
			}
		})
	}
}

func TestOrderEntries(t *testing.T) {
	t.Parallel()
	plain := Entry{Name: "libx.so.1", Flags: 0x303}
	i386 := Entry{Name: "libx.so.1", Flags: 0x3}
	v2 := Entry{Name: "libx.so.1", Flags: 0x303, HWCaps: "x86-64-v2"}
	v3 := Entry{Name: "libx.so.1", Flags: 0x303, HWCaps: "x86-64-v3"}
	tests := []struct {
		name string
		a, b Entry
		want int
	}{
		{name: "higher names first", a: Entry{Name: "liby.so.1"}, b: plain, want: -1},
		{name: "higher flags first", a: plain, b: i386, want: -1},
		{name: "flags before hwcaps", a: plain, b: Entry{Name: "libx.so.1", Flags: 3, HWCaps: "a"}, want: -1},
		{name: "hwcaps before plain", a: v3, b: plain, want: -1},
		{name: "hwcaps by name", a: v2, b: v3, want: -1},
		{name: "same", a: plain, b: plain, want: 0},
		{name: "equal as numbers", a: Entry{Name: "lib01"}, b: Entry{Name: "lib1"}, want: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := order{signed: true}
			if got := o.entries(&tt.a, &tt.b); got != tt.want {
				t.Errorf("entries(a, b) = %d, want %d", got, tt.want)
			}
			if got := o.entries(&tt.b, &tt.a); got != -tt.want {
				t.Errorf("entries(b, a) = %d, want %d", got, -tt.want)
			}
		})
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
