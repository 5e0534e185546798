package loader

import (
	"bytes"
	"strings"
)

// Our drop-in, by a name that sorts early, and the line that includes it. The
// line names the file itself and comes first: then neither a directory written
// before Debian's own include line, nor a drop-in that sorts earlier, nor the
// collation of ldconfig's locale (which passes over "-") puts anything in front.
const (
	dropInDir   = "/etc/ld.so.conf.d"
	dropInName  = "00-gpu-hook.conf"
	includeLine = "include " + dropInDir + "/" + dropInName
)

// dropIn returns the text of the drop-in.
func dropIn(dirs []string) []byte {
	return []byte("# The NVIDIA driver's libraries, put here by gpu-hook.\n" + strings.Join(dirs, "\n") + "\n")
}

// withInclude returns the configuration with our include line first and only
// there, and whether that is a change.
func withInclude(conf []byte) ([]byte, bool) {
	seen, first := 0, false
	directives := 0
	for line := range bytes.Lines(conf) {
		switch directive(string(line)) {
		case "":
			continue
		case includeLine:
			seen++
			first = first || directives == 0
		}
		directives++
	}
	if first && seen == 1 {
		return conf, false
	}
	out := make([]byte, 0, len(includeLine)+1+len(conf))
	out = append(append(out, includeLine...), '\n')
	for line := range bytes.Lines(conf) {
		if directive(string(line)) != includeLine {
			out = append(out, line...)
		}
	}
	return out, true
}
