package loader

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestApplyVolumes has user volumes at the loader's places: they stay as they
// are to the byte.
func TestApplyVolumes(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	libc := "elf lib64/libc.so.6 x86-64"
	tests := []struct {
		name   string
		volume []string
		at     string
		flags  uintptr
		root   []string
		want   []string
	}{
		{name: "etc", volume: []string{"file ld.so.conf /x", "file ld.so.cache text"}, at: "/etc", root: []string{"dir etc"}, want: []string{"loader-etc-foreign"}},
		{name: "read-only-etc", volume: []string{"file ld.so.conf /x"}, at: "/etc", flags: unix.MS_RDONLY, root: []string{"dir etc"}, want: []string{"loader-etc-foreign"}},
		{name: "drop-ins", volume: []string{"file x.conf /x"}, at: dropInDir, root: []string{"dir etc/ld.so.conf.d"}, want: []string{"loader-etc-foreign"}},
		{name: "cache", volume: []string{"file c text"}, at: cachePath, root: []string{"file etc/ld.so.cache x"}, want: []string{"loader-cache-foreign"}},
		{name: "configuration", volume: []string{"file c /x"}, at: confPath, root: []string{"file etc/ld.so.conf x"}, want: []string{"loader-etc-foreign"}},
		{name: "link-into-volume", volume: []string{"file ld.so.conf /x"}, at: "/vol", root: []string{"dir vol", "link etc vol"}, want: []string{"loader-etc-foreign"}},
		{name: "cache-linked-into-volume", volume: []string{"file cache text"}, at: "/vol", root: []string{"dir vol", "link etc/ld.so.cache /vol/cache"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top, volume := plant(t, append([]string{libc}, tt.root...)...), plant(t, tt.volume...)
			bind(t, top, top, 0)
			from := volume
			if info, err := os.Stat(top + tt.at); err == nil && !info.IsDir() {
				from += "/c"
			}
			bind(t, from, top+tt.at, tt.flags)
			r := openRoot(t, top)
			before := snapshot(t, volume)
			warnings, err := ourUpdate().Apply(r, inspect(t, r))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, codes(warnings)); diff != "" {
				t.Errorf("warnings differ (-want +got):\n%s%v", diff, warnings)
			}
			if diff := cmp.Diff(before, snapshot(t, volume)); diff != "" {
				t.Errorf("the volume was changed (-before +after):\n%s", diff)
			}
		})
	}
	t.Run("read-only-root", func(t *testing.T) {
		for _, lines := range [][]string{{libc, "dir etc"}, {libc}, {"elf lib/ld-musl-x86_64.so.1 x86-64"}} {
			top := plant(t, lines...)
			bind(t, top, top, unix.MS_RDONLY)
			r := openRoot(t, top)
			warnings, err := ourUpdate().Apply(r, inspect(t, r))
			if err != nil || !slices.Contains(codes(warnings), "loader-etc-read-only") {
				t.Errorf("Apply() = %v, %v", warnings, err)
			}
		}
	})
}
