package compat

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// node is one entry of an image described by a test.
type node struct {
	kind, path, text string
}

func file(path, text string) node   { return node{"file", path, text} }
func link(path, target string) node { return node{"link", path, target} }
func dir(path string) node          { return node{"dir", path, ""} }
func fifo(path string) node         { return node{"fifo", path, ""} }

// onDisk makes the image in a directory of its own.
func onDisk(tb testing.TB, nodes ...node) fs.FS {
	tb.Helper()
	root := tb.TempDir()
	for _, n := range nodes {
		full := filepath.Join(root, n.path)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		if err == nil {
			switch n.kind {
			case "file":
				err = os.WriteFile(full, []byte(n.text), 0o644)
			case "link":
				err = os.Symlink(n.text, full)
			case "dir":
				err = os.MkdirAll(full, 0o755)
			case "fifo":
				err = syscall.Mkfifo(full, 0o644)
			}
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return os.DirFS(root)
}

// inMemory makes the image as a map.
func inMemory(nodes ...node) fs.FS {
	image := fstest.MapFS{}
	for _, n := range nodes {
		mode := map[string]fs.FileMode{"file": 0o644, "link": fs.ModeSymlink | 0o777, "dir": fs.ModeDir | 0o755, "fifo": fs.ModeNamedPipe | 0o644}[n.kind]
		image[n.path] = &fstest.MapFile{Data: []byte(n.text), Mode: mode}
	}
	return image
}

// eachFS runs a test on both.
func eachFS(t *testing.T, nodes []node, test func(t *testing.T, root fs.FS)) {
	t.Helper()
	t.Run("disk", func(t *testing.T) { t.Parallel(); test(t, onDisk(t, nodes...)) })
	t.Run("memory", func(t *testing.T) { t.Parallel(); test(t, inMemory(nodes...)) })
}

// environ looks up variables in NAME=value entries.
func environ(entries ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, entry := range entries {
			if n, value, ok := strings.Cut(entry, "="); ok && n == name {
				return value, true
			}
		}
		return "", false
	}
}

// traced records the files that are opened.
type traced struct {
	fs.ReadLinkFS
	opened map[string]bool
}

func (t traced) Open(name string) (fs.File, error) {
	t.opened[path.Clean(name)] = true
	return t.ReadLinkFS.Open(name)
}
