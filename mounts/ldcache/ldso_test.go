package ldcache

import "strings"

// ldso finds a name as an x86-64 or i386 loader of glibc 2.36 does, written
// after what the loader does rather than with the code under test: only the
// new format, only plain bytes. The processor supports the glibc-hwcaps
// directories that levels lists, best first. It returns "" for nothing found.
func ldso(file []byte, name string, flags int32, levels ...string) string {
	text := string(file)
	count := int(u32(text, newCountAt))
	field := func(i, off int) uint32 { return u32(text, newHeaderSize+i*newEntrySize+off) }
	str := func(off uint32) string { s, _, _ := strings.Cut(text[off:], "\x00"); return s }

	left, right := 0, count-1
	for left <= right {
		middle := (left + right) / 2
		c := libcmp(name, str(field(middle, 4)))
		if c < 0 {
			left = middle + 1
			continue
		} else if c > 0 {
			right = middle - 1
			continue
		}
		for middle > 0 && libcmp(name, str(field(middle-1, 4))) == 0 {
			middle--
		}
		best, priority := "", len(levels)
		for ; middle <= right && libcmp(name, str(field(middle, 4))) == 0; middle++ {
			f := int32(field(middle, 0))
			if f != flags && (flags != 3 || f != 1) {
				continue
			}
			hwcap := uint64(field(middle, 20))<<32 | uint64(field(middle, 16))
			if hwcap>>62 == 1 {
				for p, level := range levels[:priority] {
					if level == hwcapName(text, uint32(hwcap)) {
						best, priority = str(field(middle, 8)), p
						break
					}
				}
				continue
			}
			if priority < len(levels) {
				break
			}
			if hwcap != 0 {
				continue
			}
			best = str(field(middle, 8))
			if f == flags {
				break
			}
		}
		return best
	}
	return ""
}

// hwcapName returns string n of the tag 1 extension.
func hwcapName(text string, n uint32) string {
	at := int(u32(text, newExtensionAt))
	if at == 0 {
		return ""
	}
	for i := range int(u32(text, at+4)) {
		s := at + 8 + 16*i
		if u32(text, s) == tagHWCaps && 4*n < u32(text, s+12) {
			name := u32(text, int(u32(text, s+8)+4*n))
			name2, _, _ := strings.Cut(text[name:], "\x00")
			return name2
		}
	}
	return ""
}

// libcmp compares two names with a NUL behind each, byte by byte as the
// loader's C code does.
func libcmp(p, q string) int {
	p, q = p+"\x00", q+"\x00"
	digit := func(s string) bool { return s[0] >= '0' && s[0] <= '9' }
	read := func(s *string) (n int32) {
		for digit(*s) {
			n, *s = n*10+int32((*s)[0]-'0'), (*s)[1:]
		}
		return n
	}
	for p[0] != 0 {
		switch {
		case digit(p) && digit(q):
			if d := read(&p) - read(&q); d != 0 {
				return int(d)
			}
		case digit(p):
			return 1
		case digit(q):
			return -1
		case p[0] != q[0]:
			return int(int8(p[0])) - int(int8(q[0]))
		default:
			p, q = p[1:], q[1:]
		}
	}
	return int(int8(p[0])) - int(int8(q[0]))
}
