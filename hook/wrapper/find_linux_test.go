package wrapper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/hook/fault"
)

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		write(t, path, text)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	self := program("self/gpu-hook", "the wrapper", 0o755)
	program("copy/runc", "the wrapper", 0o755)
	program("other/runc", "the runtime", 0o755)
	program("other/crun", "another one", 0o755)
	program("text/runc", "no program", 0o644)
	if err := os.MkdirAll(filepath.Join(dir, "link"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "link/runc")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "folder/runc"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		dirs  string
		names string
		want  string // "" = an error
	}{
		{"first-name", "other", "crun runc", "other/crun"},
		{"second-name", "other", "youki runc", "other/runc"},
		{"second-directory", "none other", "runc", "other/runc"},
		{"not-by-link", "link other", "runc", "other/runc"},
		{"not-a-copy", "copy other", "runc", "other/runc"},
		{"not-a-text", "text other", "runc", "other/runc"},
		{"not-a-folder", "folder other", "runc", "other/runc"},
		{"absolute", "", "/other/crun", "other/crun"},
		{"absolute-missing", "other", "/none/crun crun", "other/crun"},
		{"itself-only", "link copy", "runc", ""},
		{"nothing", "other", "youki", ""},
		{"no-names", "other", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var dirs, names []string
			for _, d := range strings.Fields(tt.dirs) {
				dirs = append(dirs, filepath.Join(dir, d))
			}
			for _, n := range strings.Fields(tt.names) {
				if strings.HasPrefix(n, "/") {
					n = dir + n
				}
				names = append(names, n)
			}
			got, err := finder{dirs: dirs, self: self}.find(names)
			if tt.want == "" {
				var missing *NoRuntimeError
				if !errors.As(err, &missing) || fault.CodeOf(err) != fault.Other || fault.CureOf(err) == "" {
					t.Fatalf("find = %q, %v; want a NoRuntimeError with its cure", got, err)
				}
				return
			}
			if want := filepath.Join(dir, tt.want); got != want || err != nil {
				t.Errorf("find = %q, %v, want %q", got, err, want)
			}
		})
	}
}
