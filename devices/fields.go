package devices

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxValue bounds one value of a "label: value" file. The longest model names
// have some 60 bytes.
const maxValue = 128

// fields yields the "label: value" lines of a driver file, with blanks and tabs
// around both cut off. A value is cut at [maxValue] bytes and anything that is
// not printable in it becomes a question mark, so that it can go into a message.
func fields(data []byte) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.Lines(string(data)) {
			label, value, ok := strings.Cut(line, ":")
			if !ok {
				continue
			}
			if !yield(strings.TrimSpace(label), cleanValue(value)) {
				return
			}
		}
	}
}

func cleanValue(value string) string {
	value = strings.TrimSpace(value)
	if len(value) > maxValue {
		value = value[:maxValue]
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, value)
}
