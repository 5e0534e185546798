package loader

import (
	"path"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// The file that ldconfig starts from, and limits on what it may lead to. The
// largest configuration seen (a desktop with 20 drop-ins) has 40 directories.
const (
	confPath     = "/etc/ld.so.conf"
	maxConf      = 1 << 20 // bytes of one file
	maxConfFiles = 256
	maxConfDirs  = 1024
)

// files is what reading a configuration needs of a root.
type files interface {
	read(unsafePath string) ([]byte, error)
	names(unsafePath string) ([]string, error) // of a directory, sorted
}

type rootFiles struct{ root *mounts.Root }

func (f rootFiles) read(unsafePath string) ([]byte, error) {
	return f.root.ReadFile(unsafePath, maxConf)
}

func (f rootFiles) names(unsafePath string) ([]string, error) {
	entries, err := f.root.ReadDir(unsafePath)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// confDirs returns the directories that /etc/ld.so.conf names, in its order,
// each once. What cannot be read is passed over, as ldconfig does. The syntax
// is that of parse_conf in glibc's elf/ldconfig.c: comments from #, "include"
// with shell patterns, "hwcap" lines (of no use here), else a directory,
// perhaps with "=TYPE" behind it.
func confDirs(f files) []string {
	c := conf{files: f, left: maxConfFiles}
	c.file(confPath)
	return c.dirs
}

type conf struct {
	files
	left int // files that may still be read
	dirs []string
}

func (c *conf) file(name string) {
	if c.left--; c.left < 0 {
		return
	}
	text, err := c.read(name)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		line = directive(line)
		if patterns, ok := keyword(line, "include"); ok {
			for _, pattern := range strings.Fields(patterns) {
				c.include(path.Dir(name), pattern)
			}
			continue
		}
		if _, ok := keyword(strings.ToLower(line), "hwcap"); ok {
			continue
		}
		dir, _, _ := strings.Cut(line, "=")
		dir = path.Clean(strings.TrimSpace(dir))
		if strings.HasPrefix(dir, "/") && len(c.dirs) < maxConfDirs && !slices.Contains(c.dirs, dir) {
			c.dirs = append(c.dirs, dir)
		}
	}
}

// include reads the files that match. Patterns stand in the last component
// only; ldconfig's glob takes them anywhere, which nobody was seen to use.
func (c *conf) include(from, pattern string) {
	if !strings.HasPrefix(pattern, "/") {
		pattern = from + "/" + pattern
	}
	dir, last := path.Split(pattern)
	if !strings.ContainsAny(last, `*?[\`) {
		c.file(pattern)
		return
	}
	names, err := c.names(dir)
	if err != nil {
		return
	}
	for _, name := range names {
		hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(last, ".")
		if ok, err := path.Match(last, name); err == nil && ok && !hidden {
			c.file(dir + name)
		}
	}
}

// directive cuts comment and surrounding space off a line.
func directive(line string) string {
	line, _, _ = strings.Cut(line, "#")
	return strings.TrimSpace(line)
}

// keyword returns what follows a word and a space or tab.
func keyword(line, word string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(line, word)
	return rest, ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t')
}
