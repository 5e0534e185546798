package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/mounts"
)

func TestTreeFind(t *testing.T) {
	t.Parallel()
	dir := host(t, `
		file /usr/lib/real
		link /lib usr/lib
		link /usr/lib/one real
		link /usr/lib/two one
		link /usr/lib/absolute /usr/lib/real
		link /usr/lib/parent ../lib/real
		link /usr/lib/clamped ../../../../usr/lib/real
		link /usr/lib/alternative /etc/alternatives/x
		link /etc/alternatives/x /usr/lib/real
		link /usr/lib/dangling nowhere
		link /usr/lib/far /no/where
		link /usr/lib/loop loop
		link /usr/lib/dots ..
		empty /usr/lib/empty
		link /usr/lib/to-empty empty
		fifo /usr/lib/fifo
		socket /usr/lib/socket
		dir /usr/lib/dir`)
	for _, tt := range []struct {
		name string
		want string
		mode uint32
		err  error
	}{
		{name: "real", want: "/usr/lib/real", mode: unix.S_IFREG},
		{name: "one", want: "/usr/lib/real", mode: unix.S_IFREG},
		{name: "two", want: "/usr/lib/real", mode: unix.S_IFREG},
		{name: "absolute", want: "/usr/lib/real", mode: unix.S_IFREG},
		{name: "parent", want: "/usr/lib/real", mode: unix.S_IFREG},
		{name: "clamped", want: "/usr/lib/real", mode: unix.S_IFREG},
		{name: "alternative", want: "/usr/lib/real", mode: unix.S_IFREG},
		{name: "dots", want: "/usr", mode: unix.S_IFDIR},
		{name: "fifo", want: "/usr/lib/fifo", mode: unix.S_IFIFO},
		{name: "socket", want: "/usr/lib/socket", mode: unix.S_IFSOCK},
		{name: "dir", want: "/usr/lib/dir", mode: unix.S_IFDIR},
		{name: "missing", err: fs.ErrNotExist},
		{name: "dangling", err: fs.ErrNotExist},
		{name: "far", err: fs.ErrNotExist},
		{name: "empty", err: errEmpty},
		{name: "to-empty", err: fs.ErrNotExist},
		{name: "loop", err: unix.ELOOP},
		{name: strings.Repeat("x", 300), err: unix.ENAMETOOLONG},
	} {
		for _, calls := range []mounts.Calls{{}, {NoOpenat2: true}} {
			t.Run(fmt.Sprintf("%.20s/%v", tt.name, calls.NoOpenat2), func(t *testing.T) {
				t.Parallel()
				root, err := mounts.OpenRoot(dir, calls)
				if err != nil {
					t.Fatalf("open host: %v", err)
				}
				defer root.Close()
				tr := newTree(root)
				f, err := tr.find(tr.dir("/lib"), tt.name)
				if !errors.Is(err, tt.err) {
					t.Fatalf("find: got %v, want %v", err, tt.err)
				}
				if err != nil {
					return
				}
				if got := tr.path(f); got != tt.want || !f.isKind(tt.mode) {
					t.Errorf("find: got %s of mode %o, want %s of %o", got, f.mode, tt.want, tt.mode)
				}
			})
		}
	}
}

func TestTreeDir(t *testing.T) {
	t.Parallel()
	tr := newTree(open(t, host(t, `
		file /usr/lib/real
		link /lib usr/lib
		link /outside /../../..
		link /broken /nowhere
		dir /opt/nvidia/lib64`)))
	if a, b := tr.dir("/usr/lib"), tr.dir("/lib"); a == nil || a != b {
		t.Errorf("dir: /usr/lib and /lib are %v and %v, want one", a, b)
	}
	if got := tr.real(tr.dir("/lib")); got != "/usr/lib" {
		t.Errorf("real(/lib): got %q, want /usr/lib", got)
	}
	if got := tr.real(tr.dir("/outside")); got != "/" {
		t.Errorf("real(/outside): got %q, want the root itself", got)
	}
	if got := tr.join(tr.dir("/outside"), "usr"); got != "/usr" {
		t.Errorf("join: got %q, want /usr", got)
	}
	for _, missing := range []string{"/nowhere", "/usr/lib/real", "/broken", "/run/opengl-driver/lib"} {
		if got := tr.dir(missing); got != nil {
			t.Errorf("dir(%s): got %v, want none", missing, got)
		}
	}
	if _, asked := tr.dirs["/run/opengl-driver"]; !asked {
		t.Error("dir: the marker /run/opengl-driver was not asked for first")
	}
	if got := tr.dir("/opt/nvidia/lib64"); got == nil {
		t.Error("dir: got none below a marker that exists")
	}
	if len(tr.denied) > 0 {
		t.Errorf("denied: got %q", tr.denied)
	}
}

// TestTreeList: a directory is read once, whatever happens to it meanwhile.
func TestTreeList(t *testing.T) {
	t.Parallel()
	dir := host(t, "file /a/one\nfile /a/two\nfile /b/x")
	tr := newTree(open(t, dir))
	first := slices.Sorted(slices.Values(tr.list(tr.dir("/a"))))
	if diff := cmp.Diff([]string{"one", "two"}, first); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if err := unix.Unlink(dir + "/a/one"); err != nil {
		t.Fatalf("unlink: %v", err)
	}
	if got := tr.list(tr.dir("/a")); len(got) != 2 {
		t.Errorf("list again: got %q, want the same", got)
	}
	if !tr.has(tr.dir("/b"), "x") || tr.has(tr.dir("/a"), "one") {
		t.Error("has: got the wrong answer")
	}
}

// TestFreshCacheIsTrusted: where the cache knows every library, no directory
// of libraries is read. That is what keeps a host with 3,000 libraries fast.
func TestFreshCacheIsTrusted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		host string
		want bool // read
	}{
		{name: "fresh", host: "old\n" + cacheLines(ubuntu, v535, "")},
		{name: "stale", host: cacheLines(ubuntu, v535, "") + "stale", want: true},
		{name: "silent", host: "old\ncache libc.so.6 " + ubuntu + "/libc.so.6", want: true},
		{name: "broken", host: "old\nnocache", want: true},
		{name: "none", host: "old", want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, m, err := newSearch(open(t, host(t, driverLines(ubuntu, v535, "")+tt.host)), query("compute", "video", "graphics"))
			if err != nil {
				t.Fatalf("newSearch: %v", err)
			}
			p := s.newPass(m)
			if err := p.anchor(); err != nil {
				t.Fatalf("anchor: %v", err)
			}
			if got := len(p.libraries()); got != 26 {
				t.Errorf("libraries: got %d, want 26", got)
			}
			if got := s.tree.dir(ubuntu).wasRead; got != tt.want {
				t.Errorf("directory read: got %v, want %v", got, tt.want)
			}
		})
	}
}
