package mounts

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlaceLink(t *testing.T) {
	t.Parallel()
	const target = "/usr/local/nvidia/lib64/libcuda.so.1"
	volume := plant(t, t.TempDir(), "link same "+target, "empty leftover", "link dangling nowhere", "file file x")
	ours := "Lrwxrwxrwx lib/name -> " + target
	tests := []struct {
		name   string
		plant  []string
		binds  [][2]string
		path   string
		over   string
		err    error
		reason string // part of it
		want   Outcome
		add    []string // lines instead of those with "name"
	}{
		{name: "nothing", plant: []string{"dir lib"}, path: "/lib/name", want: Made, add: []string{ours}},
		{name: "no-directory", path: "/lib/name", want: Made, add: []string{"drwxr-xr-x lib", ours}},
		{name: "same", plant: []string{"link lib/name " + target}, path: "/lib/name", want: Kept, add: []string{ours}},
		{name: "dangling", plant: []string{"link lib/name nowhere"}, path: "/lib/name", want: Replaced, add: []string{ours}},
		{name: "loop", plant: []string{"link lib/name name"}, path: "/lib/name", want: Replaced, add: []string{ours}},
		{name: "leftover", plant: []string{"empty lib/name"}, path: "/lib/name", want: Replaced, add: []string{ours}},
		{
			name: "image-file", plant: []string{"file lib/name own"}, path: "/lib/name", want: Left,
			reason: "regular file", add: []string{`-rw-r--r-- lib/name "own"`},
		},
		{
			name: "image-link", plant: []string{"link lib/name other", "file lib/other own"}, path: "/lib/name", want: Left,
			reason: `a link to "other"`, add: []string{"Lrwxrwxrwx lib/name -> other"},
		},
		{name: "link-to-leftover", plant: []string{"link lib/name other", "empty lib/other"}, path: "/lib/name", want: Replaced, add: []string{ours}},
		{name: "link-over", plant: []string{"link lib/name other", "file lib/other own"}, path: "/lib/name", over: "other", want: Replaced, add: []string{ours}},
		{
			name: "link-over-another", plant: []string{"link lib/name other", "file lib/other own"}, path: "/lib/name", over: "/compat", want: Left,
			reason: `a link to "other"`, add: []string{"Lrwxrwxrwx lib/name -> other"},
		},
		{
			name: "directory", plant: []string{"dir lib/name"}, path: "/lib/name", want: Left,
			reason: "directory", add: []string{"drwxr-xr-x lib/name"},
		},
		{
			name: "fifo", plant: []string{"fifo lib/name"}, path: "/lib/name", want: Left,
			reason: "FIFO", add: []string{"prw-rw-rw- lib/name"},
		},
		{
			name: "device", plant: []string{"char lib/name"}, path: "/lib/name", want: Left,
			reason: "character device", add: []string{"Dcrw-rw-rw- lib/name"},
		},
		{
			name: "through-directory-link", plant: []string{"link lib usr", "dir usr"}, path: "/lib/name", want: Made,
			add: []string{"Lrwxrwxrwx usr/name -> " + target},
		},
		{
			name: "volume-missing", plant: []string{"dir vol"}, binds: [][2]string{{volume, "vol"}}, path: "/vol/name", want: Left,
			reason: "another mount",
		},
		{
			name: "volume-missing-directory", plant: []string{"dir vol"}, binds: [][2]string{{volume, "vol"}}, path: "/vol/sub/name",
			want: Left, reason: "another mount",
		},
		{name: "volume-same", plant: []string{"dir vol"}, binds: [][2]string{{volume, "vol"}}, path: "/vol/same", want: Kept},
		{
			name: "volume-leftover", plant: []string{"dir vol"}, binds: [][2]string{{volume, "vol"}}, path: "/vol/leftover", want: Left,
			reason: "another mount",
		},
		{
			name: "volume-dangling", plant: []string{"dir vol"}, binds: [][2]string{{volume, "vol"}}, path: "/vol/dangling", want: Left,
			reason: "another mount",
		},
		{
			name: "mounted-leftover", plant: []string{"empty lib/name"}, binds: [][2]string{{filepath.Join(volume, "leftover"), "lib/name"}},
			path: "/lib/name", want: Left, reason: "mounted", add: []string{`-rw-r--r-- lib/name ""`},
		},
		{name: "directory-is-file", plant: []string{"file lib x"}, path: "/lib/name", err: ErrUnsafePath},
		{name: "directory-loops", plant: []string{"link lib lib"}, path: "/lib/name", err: ErrUnsafePath},
		{name: "directory-dangles", plant: []string{"link lib nowhere"}, path: "/lib/name", err: ErrUnsafePath},
		{name: "no-name", path: "/lib/..", err: errAny},
	}
	volumeBefore := snapshot(t, volume)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rootfs := plant(t, t.TempDir(), tt.plant...)
			var want []string
			for _, line := range snapshot(t, rootfs) {
				if !strings.Contains(line, "lib/name") {
					want = append(want, line)
				}
			}
			want = append(want, tt.add...)
			r, b := box{Rootfs: rootfs, Binds: tt.binds}.start(t, Calls{})
			l := Link{Path: tt.path, Target: target, Over: tt.over}
			b.do(t, func() error {
				got, reason, err := PlaceLink(r, l)
				if !isErr(err, tt.err) || got != tt.want || !strings.Contains(reason, tt.reason) || (reason == "") != (tt.want != Left) {
					t.Errorf("PlaceLink(%q): got %v, %q, %v; want %v, %q, %v", tt.path, got, reason, err, tt.want, tt.reason, tt.err)
				}
				if tt.err == nil && tt.want != Left {
					if again, _, err := PlaceLink(r, l); err != nil || again != Kept {
						t.Errorf("PlaceLink(%q) again: got %v, %v; want it kept", tt.path, again, err)
					}
				}
				return nil
			})
			sortedEqual(t, snapshot(t, rootfs), want)
			sortedEqual(t, snapshot(t, volume), volumeBefore)
		})
	}
}

func TestPlaceLinkReadOnly(t *testing.T) {
	t.Parallel()
	r, b := box{Rootfs: plant(t, t.TempDir(), "dir lib", "empty lib/leftover"), ReadOnly: true}.start(t, Calls{})
	b.do(t, func() error {
		for _, path := range []string{"/lib/new", "/none/new", "/lib/leftover"} {
			got, reason, err := PlaceLink(r, Link{Path: path, Target: "x"})
			if got != Left || reason != reasonReadOnly || err != nil {
				t.Errorf("PlaceLink(%q): got %v, %q, %v; want it left", path, got, reason, err)
			}
		}
		return nil
	})
}

// errAny stands for an error that only has to be one.
var errAny = errors.New("any error")

func isErr(err, want error) bool {
	if errors.Is(want, errAny) {
		return err != nil
	}
	return errors.Is(err, want)
}
