package compat

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
)

func TestTreeLookup(t *testing.T) {
	t.Parallel()
	nodes := []node{
		file("a/b/file", "x"), link("abs", "/a/b"), link("rel", "a/b"), link("a/up", ".."), link("out", "../../../../a"),
		link("loop", "loop"), link("ping", "pong"), link("pong", "/ping"), link("dangling", "/missing/x"), link("to-file", "a/b/file"),
		link("control", "a/b\x1b"), link("twice", "abs/../b/file"), link("root", "/"),
	}
	for _, tt := range []struct {
		name, path string
		want       string // "" is an error
	}{
		{"plain", "/a/b/file", "a/b/file"},
		{"no-slash", "a/b/file", "a/b/file"},
		{"double-slash", "//a///b/./file", "a/b/file"},
		{"root", "/", "."},
		{"above-root", "/../../a", "a"},
		{"absolute-link", "/abs/file", "a/b/file"},
		{"relative-link", "/rel/file", "a/b/file"},
		{"parent-link", "/a/up/a/b", "a/b"},
		{"escaping-link", "/out/b", "a/b"},
		{"link-then-parent", "/abs/../b", "a/b"},
		{"link-in-link", "/twice", "a/b/file"},
		{"link-to-root", "/root/root/a", "a"},
		{"final-link", "/to-file", "a/b/file"},
		{"loop", "/loop", ""},
		{"ping-pong", "/ping/x", ""},
		{"dangling", "/dangling", ""},
		{"missing", "/a/c", ""},
		{"below-a-file", "/a/b/file/x", ""},
		{"control-in-target", "/control", ""},
		{"control-in-path", "/a\n", ""},
		{"nul", "/a\x00", ""},
		{"not-utf8", "/a\xff", ""},
		{"empty", "", ""},
		{"too-long", "/" + strings.Repeat("a", maxPath), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachFS(t, nodes, func(t *testing.T, root fs.FS) {
				got, info, err := newTree(root).lookup(tt.path)
				if err != nil {
					got = ""
				} else if info == nil {
					t.Fatal("lookup() gave no information")
				}
				if got != tt.want {
					t.Errorf("lookup(%q) = %q, %v; want %q", tt.path, got, err, tt.want)
				}
			})
		})
	}
}

func TestTreeRead(t *testing.T) {
	t.Parallel()
	nodes := []node{file("small", "text"), file("empty", ""), file("big", strings.Repeat("x", 100)), dir("dir"), fifo("fifo"), link("link", "small"), link("link-fifo", "fifo")}
	for _, tt := range []struct {
		name, path, want string
		err              error
	}{
		{name: "small", path: "/small", want: "text"},
		{name: "empty", path: "/empty"},
		{name: "link", path: "/link", want: "text"},
		{name: "big", path: "/big", err: errTooLarge},
		{name: "directory", path: "/dir", err: errWrong},
		{name: "fifo", path: "/fifo", err: errWrong},
		{name: "link-to-fifo", path: "/link-fifo", err: errWrong},
		{name: "missing", path: "/missing", err: fs.ErrNotExist},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachFS(t, nodes, func(t *testing.T, root fs.FS) {
				got, err := newTree(root).read(tt.path, 50)
				if string(got) != tt.want || !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
					t.Errorf("read(%q) = %q, %v; want %q, %v", tt.path, got, err, tt.want, tt.err)
				}
			})
		})
	}
}

// A file system that cannot tell links still works, by the names as given.
func TestTreeWithoutLinks(t *testing.T) {
	t.Parallel()
	root := struct{ fs.FS }{onDisk(t, compatSet("usr/local/cuda/compat", "550.54.14", noNote())...)}
	got, warnings := FindOverlays(root)
	if len(got) != 1 || got[0].Dir != "/usr/local/cuda/compat" || len(got[0].Members) != 5 || warnings != nil {
		t.Errorf("FindOverlays() = %+v, %v", got, warnings)
	}
	if _, ok := newTree(root).dir("/usr/../usr"); !ok {
		t.Error("dir() of /usr/../usr is none")
	}
}

func TestTreeListLeavesOddNamesOut(t *testing.T) {
	t.Parallel()
	root := onDisk(t, file("d/b", ""), file("d/a", ""), file("d/\x1b[2J", ""), file("d/x\n", ""))
	var names []string
	for _, entry := range newTree(root).list("d", prefixed("")) {
		names = append(names, entry.Name())
	}
	if got := fmt.Sprint(names); got != "[a b]" {
		t.Errorf("list() = %s, want [a b]", got)
	}
	if entries := newTree(root).list("d/a", prefixed("")); len(entries) != 0 {
		t.Errorf("list() of a file = %v", entries)
	}
}

// Long chains of links and long directories end at the limits.
func TestTreeLimits(t *testing.T) {
	t.Parallel()
	nodes := []node{dir("d")}
	for i := range maxLinks + 5 {
		nodes = append(nodes, link(fmt.Sprintf("l%d", i), fmt.Sprintf("l%d", i+1)))
	}
	nodes = append(nodes, link("wide", strings.Repeat("d/../", 800)+"wide"))
	eachFS(t, nodes, func(t *testing.T, root fs.FS) {
		if _, _, err := newTree(root).lookup("/l0"); !errors.Is(err, errLoop) {
			t.Errorf("lookup of a chain of %d links = %v, want %v", maxLinks+5, err, errLoop)
		}
		start := time.Now()
		if _, _, err := newTree(root).lookup("/wide"); err == nil || time.Since(start) > 5*time.Second {
			t.Errorf("lookup of a wide loop = %v after %s", err, time.Since(start))
		}
		tired := newTree(root)
		tired.steps = maxSteps
		if _, _, err := tired.lookup("/d"); !errors.Is(err, errTooMuch) || !tired.exhausted() {
			t.Errorf("lookup after %d steps = %v, want %v", maxSteps, err, errTooMuch)
		}
		if entries := tired.list("d", prefixed("")); entries != nil {
			t.Errorf("list after %d steps = %v", maxSteps, entries)
		}
	})
}
