package hook

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/mounts"
)

// TestBuildRefusesMountPoint: what mounting would end with is known when the
// plan is made, so that "gpu-hook plan" ends as the hook would.
func TestBuildRefusesMountPoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		kind     PlaceKind
		wantCode fault.Code
	}{
		{"missing", Absent, fault.Done},
		{"directory", Dir, fault.Done},
		{"link to a directory", Link, fault.Done},
		{"file", File, fault.Mount},
		{"empty file", Empty, fault.Mount},
		{"dangling link", Dangling, fault.Mount},
		{"FIFO", Other, fault.Mount},
		{"missing on a read-only file system", ReadOnly, fault.Mount},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := someFacts()
			f.Places = Places{"/usr/local/nvidia": {Kind: tt.kind}}
			_, err := Build(f)
			if got := fault.CodeOf(err); got != tt.wantCode {
				t.Errorf("Build ended with %d (%v), want %d", got, err, tt.wantCode)
			}
			if err != nil && fault.CureOf(err) == "" {
				t.Errorf("no cure in %v", err)
			}
		})
	}
}

// TestCheckDir: an image whose system directories are something else is refused
// with a line that names the directory.
func TestCheckDir(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		make     func(root string) error
		wantCode fault.Code
	}{
		{"missing", func(string) error { return nil }, fault.Done},
		{"directory", func(r string) error { return os.Mkdir(filepath.Join(r, "usr"), 0o755) }, fault.Done},
		{"link to a directory", func(r string) error {
			if err := os.Mkdir(filepath.Join(r, "x"), 0o755); err != nil {
				return err
			}
			return os.Symlink("/x", filepath.Join(r, "usr"))
		}, fault.Done},
		{"file", func(r string) error { return os.WriteFile(filepath.Join(r, "usr"), nil, 0o644) }, fault.Path},
		{"dangling link", func(r string) error { return os.Symlink("nowhere", filepath.Join(r, "usr")) }, fault.Path},
		{"loop", func(r string) error { return os.Symlink("usr", filepath.Join(r, "usr")) }, fault.Path},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := tt.make(dir); err != nil {
				t.Fatal(err)
			}
			root, err := mounts.OpenRoot(dir, mounts.Calls{})
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			if err := checkDir(root, "/usr"); fault.CodeOf(err) != tt.wantCode {
				t.Errorf("checkDir = %v, want code %d", err, tt.wantCode)
			}
		})
	}
}
