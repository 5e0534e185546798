package fault

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLine is the longest line in bytes. Docker, containerd and kubelet pass
// messages of a few kilobytes on; a person reads less than one.
const maxLine = 1000

// prefix starts every line: the reader sees it inside the runtime's own message.
const prefix = "gpu-hook: "

// Line is err as the one line for standard error and the log, without a
// newline: "gpu-hook: WHAT: WHY; WHAT TO DO". Control characters, line and
// direction marks and broken UTF-8 are escaped. A text that is too long loses
// its middle: the start says what went wrong, the end what to do.
func Line(err error) string {
	if err == nil {
		return ""
	}
	why, cure := err.Error(), ""
	var f *Error
	if errors.As(err, &f) && error(f) == err { //nolint:errorlint // the outermost error itself
		why, cure = f.why(), CureOf(f)
	} else if c := CureOf(err); c != "" && !strings.HasSuffix(why, "; "+c) {
		cure = c
	}
	why, cure = Escape(why), Escape(cure)
	if cure != "" {
		cure = "; " + cut(cure, maxLine/2)
	}
	return prefix + cut(why, maxLine-len(prefix)-len(cure)) + cure
}

// Escape makes s safe for a terminal and keeps it on one line: whatever
// [strconv.IsPrint] does not call printable becomes a Go escape, invalid UTF-8
// becomes \x.. of its bytes.
func Escape(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			const hex = "0123456789abcdef"
			b.WriteString(`\x`)
			b.WriteByte(hex[s[0]>>4])
			b.WriteByte(hex[s[0]&0xf])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[n:]
	}
	return b.String()
}

// cut shortens s to at most limit bytes, at a character's boundary.
func cut(s string, limit int) string {
	const dots = "..."
	if len(s) <= limit {
		return s
	}
	end := limit - len(dots)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + dots
}
