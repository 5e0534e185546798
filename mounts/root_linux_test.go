package mounts

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
)

// bothWays are the two resolvers.
func bothWays() map[string]Calls {
	return map[string]Calls{"openat2": {}, "pathrs": {NoOpenat2: true}}
}

func TestRootResolves(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	plant(t, top, "file outside/secret canary")
	rootfs := plant(t, filepath.Join(top, "rootfs"),
		"file etc/passwd inside",
		"file usr/lib/libc.so.6 libc",
		"link lib usr/lib",
		"link abs /usr/lib/libc.so.6",
		"link up ../../../../etc/passwd",
		"link escape ../outside/secret",
		"link hostpath "+filepath.Join(top, "outside/secret"),
		"link chain abs",
		"link loop loop",
		"link dangling nowhere",
		"link root /",
		"link etc/dotdot ../lib/../lib/libc.so.6",
	)
	long := strings.Repeat("a", 256)
	tests := []struct {
		name, path string
		want       string // resolved path
		content    string
		err        error
	}{
		{name: "plain", path: "/etc/passwd", want: "/etc/passwd", content: "inside"},
		{name: "relative", path: "etc/passwd", want: "/etc/passwd", content: "inside"},
		{name: "many-slashes", path: "//etc///passwd", want: "/etc/passwd", content: "inside"},
		{name: "dotdot-clamps", path: "../../etc/passwd", want: "/etc/passwd", content: "inside"},
		{name: "link-directory", path: "/lib/libc.so.6", want: "/usr/lib/libc.so.6", content: "libc"},
		{name: "absolute-link", path: "/abs", want: "/usr/lib/libc.so.6", content: "libc"},
		{name: "chain", path: "/chain", want: "/usr/lib/libc.so.6", content: "libc"},
		{name: "link-up-clamps", path: "/up", want: "/etc/passwd", content: "inside"},
		{name: "not-lexical", path: "/lib/../lib/libc.so.6", want: "/usr/lib/libc.so.6", content: "libc"},
		{name: "link-with-dotdot", path: "/etc/dotdot", want: "/usr/lib/libc.so.6", content: "libc"},
		{name: "escape", path: "/escape", err: fs.ErrNotExist},
		{name: "host-path-link", path: "/hostpath", err: fs.ErrNotExist},
		{name: "dangling", path: "/dangling", err: fs.ErrNotExist},
		{name: "missing", path: "/no/such", err: fs.ErrNotExist},
		{name: "loop", path: "/loop", err: ErrUnsafePath},
		{name: "loop-errno", path: "/loop", err: unix.ELOOP},
		{name: "below-file", path: "/etc/passwd/x", err: ErrUnsafePath},
		{name: "through-root-link", path: "/root/root/etc/passwd", want: "/etc/passwd", content: "inside"},
		{name: "long-name", path: long, err: unix.ENAMETOOLONG},
		{name: "nul-byte", path: "etc\x00passwd", err: unix.EINVAL},
		{name: "empty", path: "", want: "/"},
		{name: "slash", path: "/", want: "/"},
	}
	for way, calls := range bothWays() {
		r := openRoot(t, rootfs, calls)
		for _, tt := range tests {
			t.Run(way+"/"+tt.name, func(t *testing.T) {
				got, err := r.Resolve(tt.path)
				if tt.err != nil {
					if !errors.Is(err, tt.err) {
						t.Fatalf("Resolve(%q): got %q, %v; want %v", tt.path, got, err, tt.err)
					}
					if f, err := r.Open(tt.path); !errors.Is(err, tt.err) {
						t.Errorf("Open(%q): got %v, %v; want %v", tt.path, f, err, tt.err)
					}
					return
				}
				if err != nil || got != tt.want {
					t.Fatalf("Resolve(%q): got %q, %v; want %q", tt.path, got, err, tt.want)
				}
				if tt.content == "" {
					return
				}
				data, err := r.ReadFile(tt.path, 100)
				if err != nil || string(data) != tt.content {
					t.Errorf("ReadFile(%q): got %q, %v; want %q", tt.path, data, err, tt.content)
				}
			})
		}
	}
}

func TestRootReadlink(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "link a/abs /usr/lib/x", "link b a", "file file x", "link loop loop")
	for way, calls := range bothWays() {
		r := openRoot(t, rootfs, calls)
		tests := []struct {
			name, path string
			err        error
			want       string
		}{
			{name: "absolute", path: "/a/abs", want: "/usr/lib/x"},
			{name: "through-link", path: "/b/abs", want: "/usr/lib/x"},
			{name: "link-to-directory", path: "/b", want: "a"},
			{name: "trailing-slash", path: "/b/", want: "a"},
			{name: "loop", path: "/loop", want: "loop"},
			{name: "file", path: "/file", err: ErrUnsafePath},
			{name: "missing", path: "/none", err: fs.ErrNotExist},
		}
		for _, tt := range tests {
			t.Run(way+"/"+tt.name, func(t *testing.T) {
				got, err := r.Readlink(tt.path)
				if got != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("Readlink(%q): got %q, %v; want %q, %v", tt.path, got, err, tt.want, tt.err)
				}
			})
		}
	}
}

func TestRootReadDir(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	rootfs := plant(t, filepath.Join(top, "rootfs"), "file d/b 12345", "file d/a 1", "link d/c ../../outside", "fifo d/f")
	plant(t, top, "file outside x")
	for way, calls := range bothWays() {
		t.Run(way, func(t *testing.T) {
			entries, err := openRoot(t, rootfs, calls).ReadDir("/d")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				info, err := e.Info()
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fs.FormatFileInfo(info)[:10]+" "+e.Name())
			}
			want := []string{"-rw-r--r-- a", "-rw-r--r-- b", "Lrwxrwxrwx c", "prw-rw-rw- f"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ReadDir (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRootDirIsKept(t *testing.T) {
	t.Parallel()
	r := openRoot(t, plant(t, t.TempDir(), "dir a/b", "file f x", "fifo p"), Calls{})
	first, err := r.Dir("/a/b")
	if err != nil {
		t.Fatal(err)
	}
	if second, err := r.Dir("a/b"); err != nil || first != second {
		t.Errorf("Dir twice: got %p and %p, %v; want one handle", first, second, err)
	}
	for _, path := range []string{"f", "p"} {
		if _, err := r.Dir(path); !errors.Is(err, unix.ENOTDIR) || !errors.Is(err, ErrUnsafePath) {
			t.Errorf("Dir(%q): got %v; want ENOTDIR", path, err)
		}
	}
	r.retire()
	if second, err := r.Dir("a/b"); err != nil || first == second {
		t.Errorf("Dir after retire: got the same handle, %v; want another", err)
	}
	if _, err := first.Stat(); err != nil {
		t.Errorf("handle from before retire: %v", err)
	}
}

func TestRootSub(t *testing.T) {
	t.Parallel()
	r := openRoot(t, plant(t, t.TempDir(), "file top x", "file a/b/c y"), Calls{})
	sub, err := r.Sub("/a")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if got, err := sub.Resolve("../../b/c"); err != nil || got != "/b/c" {
		t.Errorf("Resolve in a sub root: got %q, %v; want /b/c", got, err)
	}
	if _, err := sub.Open("../top"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open above a sub root: got %v; want it not to exist", err)
	}
}

// TestRootIsHost opens the machine's own root, as for a host's driver files.
func TestRootIsHost(t *testing.T) {
	t.Parallel()
	r := openRoot(t, "/", Calls{})
	if got, err := r.Resolve("/proc/../etc/."); err != nil || got != "/etc" {
		t.Errorf("Resolve: got %q, %v; want /etc", got, err)
	}
	if os.Getenv(roleVar) != "" {
		return // pathrs-lite reads magic links as text, and stays inside
	}
	if _, err := r.Open("/proc/self/exe"); !errors.Is(err, ErrUnsafePath) {
		t.Errorf("Open of a magic link: got %v; want ErrUnsafePath", err)
	}
}

func TestRootOpenRootErrors(t *testing.T) {
	t.Parallel()
	dir := plant(t, t.TempDir(), "file f x")
	if _, err := OpenRoot(filepath.Join(dir, "none"), Calls{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenRoot of nothing: got %v", err)
	}
	if _, err := OpenRoot(filepath.Join(dir, "f"), Calls{}); !errors.Is(err, ErrUnsafePath) {
		t.Errorf("OpenRoot of a file: got %v", err)
	}
	if _, err := OpenRootIn(1<<30, "/", Calls{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenRootIn of no process: got %v", err)
	}
}

// TestRootReadFromBox reads the container's files without joining it.
func TestRootReadFromBox(t *testing.T) {
	t.Parallel()
	volume := plant(t, t.TempDir(), "file name volume")
	rootfs := plant(t, t.TempDir(), "file vol/name image")
	for way, calls := range bothWays() {
		t.Run(way, func(t *testing.T) {
			r, _ := box{Rootfs: rootfs, Binds: [][2]string{{volume, "vol"}}}.start(t, calls)
			f, err := r.Open("/vol/name")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if data, err := io.ReadAll(f); err != nil || string(data) != "volume" {
				t.Errorf("read: got %q, %v; want the content of the container's mount", data, err)
			}
			if got, err := r.Resolve("/vol/name"); err != nil || got != "/vol/name" {
				t.Errorf("Resolve: got %q, %v", got, err)
			}
		})
	}
}
