package loader

import (
	"slices"
	"strings"
)

// muslDefaults is where musl looks when it has no path file; a path file
// replaces it (musl's ldso/dynlink.c, 1.2.3).
func muslDefaults() []string { return []string{"/lib", "/usr/local/lib", "/usr/lib"} }

// maxMuslPath is the limit on a path file in bytes; those seen have one line.
const maxMuslPath = 1 << 20

// muslDirs splits a path file. Newlines and colons separate; there are no
// comments, and spaces belong to the name.
func muslDirs(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ':' })
}

// withMuslDirs returns the path file with dirs at its end, and whether that is
// a change. Without a file (exists is false) the defaults come first; an empty
// file means that the loader searches nowhere, and stays that way but for us.
func withMuslDirs(text string, exists bool, dirs []string) (string, bool) {
	if !exists {
		return strings.Join(append(muslDefaults(), dirs...), "\n") + "\n", true
	}
	have := muslDirs(text)
	changed := false
	for _, dir := range dirs {
		if slices.Contains(have, dir) {
			continue
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += dir + "\n"
		have = append(have, dir)
		changed = true
	}
	return text, changed
}
