package mounts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
)

func TestMkdirAll(t *testing.T) {
	t.Parallel()
	volume := t.TempDir()
	tests := []struct {
		name string
		path string
		err  error
		as   any // pointer to the type of error wanted
		want []string
	}{
		{name: "exists", path: "/usr/lib", want: nil},
		{name: "one", path: "/usr/new", want: []string{"usr/new"}},
		{name: "chain", path: "/new/a/b", want: []string{"new", "new/a", "new/a/b"}},
		{name: "through-link", path: "/lib/new", want: []string{"usr/lib/new"}},
		{name: "absolute-link", path: "/abs/new", want: []string{"usr/lib/new"}},
		{name: "dotdot-clamps", path: "/../../new", want: []string{"new"}},
		{name: "foreign-exists", path: "/vol", want: nil},
		{name: "foreign-missing", path: "/vol/new", as: new(*ForeignMountError)},
		{name: "foreign-through-link", path: "/to-vol/new/deep", as: new(*ForeignMountError)},
		{name: "below-file", path: "/file/new", err: unix.ENOTDIR},
		{name: "is-file", path: "/file", err: ErrUnsafePath},
		{name: "dangling", path: "/dangling", as: new(*WrongKindError)},
		{name: "below-dangling", path: "/dangling/new", as: new(*WrongKindError)},
		{name: "loop", path: "/loop/new", err: unix.ELOOP},
		{name: "long-name-below-missing", path: "/new/" + strings.Repeat("x", 256), err: unix.ENAMETOOLONG},
		{name: "missing-dotdot", path: "/none/../new", err: fs.ErrNotExist},
		{name: "fifo", path: "/fifo/new", err: unix.ENOTDIR},
	}
	for way, calls := range bothWays() {
		for _, tt := range tests {
			t.Run(way+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				rootfs := plant(t, t.TempDir(), "dir usr/lib", "link lib usr/lib", "link abs /usr/lib", "dir vol",
					"link to-vol vol", "file file x", "link dangling nowhere/at/all", "link loop loop", "fifo fifo")
				before := snapshot(t, rootfs)
				r, b := box{Rootfs: rootfs, Binds: [][2]string{{volume, "vol"}}}.start(t, calls)
				b.do(t, func() error {
					d, err := r.MkdirAll(tt.path)
					switch {
					case tt.as != nil:
						if !errors.As(err, tt.as) {
							t.Errorf("MkdirAll(%q): got %v; want a %T", tt.path, err, tt.as)
						}
					case !errors.Is(err, tt.err):
						t.Errorf("MkdirAll(%q): got %v; want %v", tt.path, err, tt.err)
					case err == nil:
						if info, err := d.Stat(); err != nil || !info.IsDir() {
							t.Errorf("MkdirAll(%q): got %v, %v; want a directory", tt.path, info, err)
						}
						if again, err := r.MkdirAll(tt.path); err != nil || again != d {
							t.Errorf("MkdirAll(%q) again: got %v, %v; want the same handle", tt.path, again, err)
						}
					}
					return nil
				})
				want := before
				for _, dir := range tt.want {
					want = append(want, "drwxr-xr-x "+dir)
				}
				sortedEqual(t, snapshot(t, rootfs), want)
				if left := snapshot(t, volume); len(left) != 1 {
					t.Errorf("the volume was changed: %q", left)
				}
			})
		}
	}
}

func TestMkdirAllReadOnly(t *testing.T) {
	t.Parallel()
	for way, calls := range bothWays() {
		t.Run(way, func(t *testing.T) {
			r, _ := box{Rootfs: plant(t, t.TempDir(), "dir etc"), ReadOnly: true}.start(t, calls)
			if _, err := r.MkdirAll("/etc/new"); !errors.Is(err, unix.EROFS) {
				t.Errorf("MkdirAll: got %v; want a *ReadOnlyError", err)
			} else if _, ok := errors.AsType[*ReadOnlyError](err); !ok {
				t.Errorf("MkdirAll: got %T; want a *ReadOnlyError", err)
			}
		})
	}
}

func TestMkdirAllUndo(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "dir usr")
	r := openRoot(t, rootfs, Calls{})
	_, made, err := r.mkdirAll("/usr/a/b/c")
	if err != nil {
		t.Fatal(err)
	}
	plant(t, rootfs, "file usr/a/kept x")
	made.remove()
	if _, err := os.Lstat(filepath.Join(rootfs, "usr/a/b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("usr/a/b: got %v; want it removed", err)
	}
	if _, err := os.Lstat(filepath.Join(rootfs, "usr/a/kept")); err != nil {
		t.Errorf("somebody else's file: %v; want it kept", err)
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	volume := plant(t, t.TempDir(), "dir below")
	rootfs := plant(t, t.TempDir(), "dir etc", "dir vol", "dir run", "link to-vol vol/below")
	for way, calls := range map[string]Calls{"statx": {}, "fdinfo": {NoMountID: true}} {
		r, b := box{Rootfs: rootfs, Binds: [][2]string{{volume, "vol"}}, Tmpfs: []string{"run"}}.start(t, calls)
		tests := []struct {
			name, path string
			want       bool
		}{
			{name: "root", path: "/", want: true},
			{name: "directory", path: "/etc", want: true},
			{name: "volume", path: "/vol", want: false},
			{name: "below-volume", path: "/vol/below", want: false},
			{name: "link-into-volume", path: "/to-vol", want: false},
			{name: "tmpfs", path: "/run", want: false},
		}
		for _, tt := range tests {
			t.Run(way+"/"+tt.name, func(t *testing.T) {
				d, err := r.Dir(tt.path)
				if err != nil {
					t.Fatal(err)
				}
				b.do(t, func() error {
					got, err := r.Owns(d)
					if err != nil || got != tt.want {
						t.Errorf("Owns(%q): got %v, %v; want %v", tt.path, got, err, tt.want)
					}
					return nil
				})
			})
		}
	}
}

func TestParseMountID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data string
		want       uint64
		fails      bool
	}{
		{name: "file", data: "pos:\t0\nflags:\t012100000\nmnt_id:\t29\nino:\t2\n", want: 29},
		{name: "last-line-cut", data: "mnt_id:\t7", want: 7},
		{name: "missing", data: "pos:\t0\n", fails: true},
		{name: "empty", data: "", fails: true},
		{name: "no-number", data: "mnt_id:\tx\n", fails: true},
		{name: "too-large", data: "mnt_id:\t99999999999999999999\n", fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseMountID([]byte(tt.data))
			if got != tt.want || (err != nil) != tt.fails {
				t.Errorf("parseMountID(%q): got %d, %v; want %d", tt.data, got, err, tt.want)
			}
		})
	}
}

func FuzzParseMountID(f *testing.F) {
	f.Add([]byte("pos:\t0\nflags:\t012100000\nmnt_id:\t29\nino:\t2\n"))
	f.Add([]byte("mnt_id:"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if id, err := parseMountID(data); err != nil && id != 0 {
			t.Errorf("parseMountID(%q): got %d with the error %v", data, id, err)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for _, p := range []string{"/usr/lib/x", "x", "/", "..", "a/../b/", "//a//b//", ""} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		_, name, ok := split(path)
		if ok && !fs.ValidPath(name) && !hasInvalidUTF8(name) || ok && name == "." {
			t.Errorf("split(%q): name %q is no single component", path, name)
		}
		if rel := inside(path); rel == "" || rel[0] == '/' {
			t.Errorf("inside(%q): got %q", path, rel)
		}
	})
}

func hasInvalidUTF8(s string) bool { return string([]rune(s)) != s }

func sortedEqual(t *testing.T, got, want []string) {
	t.Helper()
	byPath := func(list []string) map[string]bool {
		set := map[string]bool{}
		for _, line := range list {
			set[line] = true
		}
		return set
	}
	if diff := cmp.Diff(byPath(want), byPath(got)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}
