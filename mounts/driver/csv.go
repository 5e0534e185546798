package driver

import (
	"fmt"
	"path"
	"strings"
)

// listEntry is one line of a Tegra file list: "lib, /usr/lib/.../libcuda.so.1.1".
type listEntry struct {
	kind string // dev, lib, dir or sym
	path string // absolute and clean; may be a shell pattern
}

// maxListed bounds the entries of one list. NVIDIA's l4t.csv of release 36 has
// some 300.
const maxListed = 10_000

// parseList reads a file list as Jetson's packages put them down
// (type, comma, path; spaces around both). A line that is none of them is
// passed over and reported; the rest counts.
func parseList(data []byte) (entries []listEntry, problems []string) {
	line := 0
	for text := range strings.SplitSeq(string(data), "\n") {
		line++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		kind, name, ok := strings.Cut(text, ",")
		kind, name = strings.TrimSpace(kind), strings.TrimSpace(name)
		switch {
		case len(entries) == maxListed:
			return entries, append(problems, fmt.Sprintf("line %d: more than %d entries", line, maxListed))
		case !ok || kind != "dev" && kind != "lib" && kind != "dir" && kind != "sym":
			problems = append(problems, fmt.Sprintf("line %d: %.200q is not dev, lib, dir or sym with a path", line, text))
		case !path.IsAbs(name) || strings.ContainsRune(name, 0) || path.Clean(name) == "/":
			problems = append(problems, fmt.Sprintf("line %d: %.200q is not an absolute path", line, name))
		default:
			entries = append(entries, listEntry{kind: kind, path: path.Clean(name)})
		}
	}
	return entries, problems
}
