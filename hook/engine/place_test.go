package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// place is a directory that stands for a host, with gpu-hook installed.
type place struct {
	t   *testing.T
	dir string
}

const testBinary = "/usr/local/bin/gpu-hook"

func newPlace(t *testing.T, files map[string]string) place {
	t.Helper()
	p := place{t, t.TempDir()}
	p.put(testBinary, "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(p.dir, testBinary), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		p.put(name, content)
	}
	return p
}

func (p place) put(name, content string) {
	p.t.Helper()
	full := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p place) get(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// tree is every file with its content, mode and link target.
func (p place) tree() map[string]string {
	p.t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(p.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(p.dir, name)
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			tree[rel] = "-> " + target
			return err
		}
		data, err := os.ReadFile(name)
		tree[rel] = info.Mode().String() + " " + string(data)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return tree
}

func (p place) same(want map[string]string, when string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.tree()); diff != "" {
		p.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// configure runs Configure in the place and fails the test where it fails.
func (p place) configure(o Options) Report {
	p.t.Helper()
	r, err := p.try(o)
	if err != nil {
		p.t.Fatalf("Configure(%+v): %v", o, err)
	}
	return r
}

func (p place) try(o Options) (Report, error) {
	o.Root = p.dir
	if o.Binary == "" {
		o.Binary = testBinary
	}
	return Configure(o)
}

func codes(r Report) []string {
	var list []string
	for _, w := range r.Warnings {
		list = append(list, w.Code)
	}
	return list
}

func printed(t *testing.T, r Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// cycle is what must hold for every file: a dry run changes nothing and says
// what the run does, a second run finds nothing, --remove gives the bytes back.
func cycle(t *testing.T, files map[string]string, o Options) Report {
	t.Helper()
	p := newPlace(t, files)
	before := p.tree()
	dry := o
	dry.DryRun = true
	foretold := p.configure(dry)
	p.same(before, "after --dry-run")
	done := p.configure(o)
	if diff := cmp.Diff(foretold.Changes, done.Changes, cmp.AllowUnexported(Change{})); diff != "" {
		t.Errorf("the dry run foretold other changes (-dry +done):\n%s", diff)
	}
	if len(done.Changes) == 0 {
		t.Error("nothing was changed")
	}
	after := p.tree()
	if again := p.configure(o); len(again.Changes) != 0 {
		t.Errorf("the second run changed something:\n%s", printed(t, again))
	}
	p.same(after, "after the second run")
	remove := Options{Engine: o.Engine, File: o.File, Remove: true}
	dry = remove
	dry.DryRun = true
	p.configure(dry)
	p.same(after, "after --remove --dry-run")
	p.configure(remove)
	p.same(before, "after --remove")
	if again := p.configure(remove); len(again.Changes) != 0 {
		t.Errorf("the second --remove changed something:\n%s", printed(t, again))
	}
	return done
}

// variants are a file as it is, with the line ends of Windows, and without an
// end of its last line.
func variants(content string) map[string]string {
	return map[string]string{
		"lf": content, "crlf": strings.ReplaceAll(content, "\n", "\r\n"), "unended": strings.TrimSuffix(content, "\n"),
		"blank-lines": "\n\n" + content + "\n\n",
	}
}

// fixtures are the files of a directory of testdata.
func fixtures(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", dir))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join("testdata", dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))] = string(data)
	}
	return files
}

// wantFile checks where an error points.
func wantFile(t *testing.T, err error, path string, line int, reason string) {
	t.Helper()
	var f *FileError
	if !errors.As(err, &f) {
		t.Fatalf("error is %v, want a FileError", err)
	}
	if f.Path != path || f.Line != line || !strings.Contains(f.Reason, reason) || f.Cure() == "" {
		t.Errorf("error is %q (line %d, cure %q), want %s:%d ... %s", f, f.Line, f.Cure(), path, line, reason)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has more than one line: %q", err)
	}
}
