package ldcache

import "strings"

// order compares names and entries as the loader of one machine does.
type order struct{ signed bool }

// names is glibc's _dl_cache_libcmp: runs of digits compare as numbers, a
// digit is above every other byte, and anything else compares by bytes. The
// loader computes in int and lets the numbers wrap and the difference, too,
// so "libx.so.3000000000" is below "libx.so.1"; the same arithmetic here
// keeps its order. (Beyond int32 that order is not transitive: such names
// may be unfindable for the loader as well.)
func (o order) names(a, b string) int {
	i, j := 0, 0
	for i < len(a) {
		if j == len(b) {
			if isDigit(a[i]) {
				return 1
			}
			return o.bytes(a[i], 0)
		}
		switch da, db := isDigit(a[i]), isDigit(b[j]); {
		case da && db:
			var x, y int32
			x, i = number(a, i)
			y, j = number(b, j)
			if x != y {
				return int(x - y)
			}
		case da:
			return 1
		case db:
			return -1
		case a[i] != b[j]:
			return o.bytes(a[i], b[j])
		default:
			i++
			j++
		}
	}
	if j == len(b) {
		return 0
	}
	// The end of a is a NUL byte and ends the comparison, even before a
	// digit.
	return o.bytes(0, b[j])
}

// bytes subtracts as C subtracts two chars.
func (o order) bytes(a, b byte) int {
	if o.signed {
		return int(int8(a)) - int(int8(b))
	}
	return int(a) - int(b)
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// number reads the digits at i and returns what follows them.
func number(s string, i int) (n int32, end int) {
	for ; i < len(s) && isDigit(s[i]); i++ {
		n = n*10 + int32(s[i]-'0')
	}
	return n, i
}

// entries is the order of a cache: names and then flags descending, entries
// of glibc-hwcaps directories before plain ones, by the directory's name.
// The loader stops at the first plain entry, so this decides who wins.
// Entries that compare equal keep the order in which they were added.
func (o order) entries(a, b *Entry) int {
	if a.Name != b.Name {
		if c := o.names(b.Name, a.Name); c != 0 {
			return c
		}
	}
	switch {
	case a.Flags > b.Flags:
		return -1
	case a.Flags < b.Flags:
		return 1
	case a.HWCaps == b.HWCaps:
		return 0
	case a.HWCaps == "":
		return 1
	case b.HWCaps == "":
		return -1
	}
	return strings.Compare(a.HWCaps, b.HWCaps)
}
