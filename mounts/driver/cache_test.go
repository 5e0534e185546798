package driver

import (
	"debug/elf"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/mounts/ldcache"
)

// TestListing takes the driver's entries of one machine out of a cache, as
// distributions write it.
func TestListing(t *testing.T) {
	t.Parallel()
	c := ldcache.New("test")
	c.Merge([]ldcache.Entry{
		{Name: "libcuda.so.1", Path: "/a/libcuda.so.1", Flags: 0x303},
		{Name: "libcuda.so.1", Path: "/b/libcuda.so.1", Flags: 0x3},
		{Name: "libcuda.so.1", Path: "/c/libcuda.so.1", Flags: 0xa03},
		{Name: "libnvidia-tls.so.535.309.01", Path: "/a/libnvidia-tls.so.535.309.01", Flags: 0x301},
		{Name: "libnvidia-ml.so.1", Path: "/a/hwcap/libnvidia-ml.so.1", Flags: 0x303, HWCap: 1 << 3},
		{Name: "libc.so.6", Path: "/a/libc.so.6", Flags: 0x303},
		{Name: "libnvidia-glob", Path: "/a/libnvidia-glob", Flags: 0x303},
		{Name: "libother.so.535.309.01", Path: "/a/libother.so.535.309.01", Flags: 0x303},
	}, "/nowhere")
	l := listing{all: c, written: 1}
	for _, tt := range []struct {
		name    string
		machine elf.Machine
		want    []string
	}{
		{name: "x86-64", machine: elf.EM_X86_64, want: []string{"/a/libother.so.535.309.01", "/a/libnvidia-tls.so.535.309.01", "/a/libcuda.so.1"}},
		{name: "i386", machine: elf.EM_386, want: []string{"/b/libcuda.so.1"}},
		{name: "arm64", machine: elf.EM_AARCH64, want: []string{"/c/libcuda.so.1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := machineOf(tt.machine)
			if err != nil {
				t.Fatalf("machineOf: %v", err)
			}
			var got []string
			for _, e := range l.of(m, v535) {
				got = append(got, e.path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("of (-want +got):\n%s", diff)
			}
		})
	}
	if got := (listing{}).of(machines[0], v535); got != nil {
		t.Errorf("of without a cache: got %v", got)
	}
}

func TestReadCache(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		host string
		want string // in the problem
	}{
		{name: "good", host: "cache libc.so.6 /lib/libc.so.6"},
		{name: "none", want: "/etc/ld.so.cache (there is none)"},
		{name: "junk", host: "junk /etc/ld.so.cache", want: "not a loader cache"},
		{name: "empty", host: "empty /etc/ld.so.cache", want: "not a loader cache"},
		{name: "directory", host: "dir /etc/ld.so.cache", want: "directory"},
		{name: "fifo", host: "fifo /etc/ld.so.cache", want: "FIFO"},
		{name: "loop", host: "link /etc/ld.so.cache ld.so.cache", want: "too many levels"},
		{name: "dangling", host: "link /etc/ld.so.cache /nowhere", want: "/etc/ld.so.cache (there is none)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := readCache(open(t, host(t, tt.host)))
			if !strings.Contains(got.problem, tt.want) || (tt.want == "") != (got.problem == "") {
				t.Errorf("readCache: got problem %q, want %q", got.problem, tt.want)
			}
			if (got.all != nil) != (tt.want == "") {
				t.Errorf("readCache: got cache %v with problem %q", got.all, got.problem)
			}
		})
	}
}

func TestFresh(t *testing.T) {
	t.Parallel()
	now := time.Now().UnixNano()
	for _, tt := range []struct {
		name  string
		cache int64
		dir   dir
		want  bool
	}{
		{name: "older-directory", cache: now, dir: dir{mtime: now - 1, inCache: true}, want: true},
		{name: "same-time", cache: now, dir: dir{mtime: now, inCache: true}},
		{name: "younger-directory", cache: now, dir: dir{mtime: now + 1, inCache: true}},
		{name: "not-in-the-cache", cache: now, dir: dir{mtime: now - 1, viaCache: true}},
		{name: "ostree", cache: now, dir: dir{mtime: 0, inCache: true}},
		{name: "no-cache", dir: dir{mtime: now, inCache: true}},
	} {
		if got := (listing{written: tt.cache}).fresh(&tt.dir); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestCacheOfThisMachine reads what this machine's own ldconfig wrote.
func TestCacheOfThisMachine(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(loaderCache); err != nil {
		t.Logf("no %s here: %v", loaderCache, err)
		return
	}
	if got := readCache(open(t, "/")); got.problem != "" || got.all.Len() == 0 {
		t.Errorf("readCache(/): got %q", got.problem)
	}
}
