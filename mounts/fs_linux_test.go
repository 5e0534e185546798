package mounts

import (
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

func TestFSContract(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "file a/b/c content", "file a/x y", "link a/link b/c", "dir empty")
	for way, calls := range bothWays() {
		t.Run(way, func(t *testing.T) {
			if err := fstest.TestFS(openRoot(t, rootfs, calls).FS(), "a/b/c", "a/x", "a/link", "empty"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFSErrors(t *testing.T) {
	t.Parallel()
	need.Root(t)
	fsys := openRoot(t, plant(t, t.TempDir(), "fifo fifo", "link loop loop", "dir d"), Calls{}).FS()
	tests := []struct {
		name, path string
		want       error
	}{
		{name: "missing", path: "none", want: fs.ErrNotExist},
		{name: "absolute", path: "/d", want: fs.ErrInvalid},
		{name: "dotdot", path: "d/../d", want: fs.ErrInvalid},
		{name: "loop", path: "loop", want: ErrUnsafePath},
		{name: "fifo", path: "fifo", want: ErrUnsafePath},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, openErr := fsys.Open(tt.path)
			_, readErr := fs.ReadFile(fsys, tt.path)
			for _, err := range []error{openErr, readErr} {
				if _, ok := errors.AsType[*fs.PathError](err); !ok || !errors.Is(err, tt.want) {
					t.Errorf("%q: got %#v; want a *fs.PathError with %v", tt.path, err, tt.want)
				}
			}
		})
	}
	if _, err := fs.ReadFile(fsys, "d"); !errors.Is(err, ErrUnsafePath) {
		t.Errorf("ReadFile of a directory: got %v", err)
	}
}

// TestFSReadAt opens an ELF file: debug/elf wants an io.ReaderAt.
func TestFSReadAt(t *testing.T) {
	t.Parallel()
	f, err := openRoot(t, "/proc/self", Calls{}).FS().Open("maps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	if !ok {
		t.Fatalf("%T has no ReadAt", f)
	}
	if _, err := elf.NewFile(at); err == nil {
		t.Error("a text file is an ELF file")
	}
}
