package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTreeMountPoint(t *testing.T) {
	t.Parallel()
	hostDir := driver(t)
	volume := plant(t, t.TempDir(), "file kept volume", "dir nvidia")
	tests := []struct {
		name  string
		plant []string
		binds [][2]string
		tmpfs []string
		ro    bool
		at    string
		as    any
		text  string // part of the error
		err   error
		want  string // where the tree is seen
	}{
		{name: "missing", want: "usr/local/nvidia"},
		{name: "exists", plant: []string{"dir usr/local/nvidia"}, want: "usr/local/nvidia"},
		{name: "with-content", plant: []string{"file usr/local/nvidia/lib64/libcuda.so.1 own"}, want: "usr/local/nvidia"},
		{name: "link", plant: []string{"link usr/local/nvidia ../../opt/nv", "dir opt/nv"}, want: "opt/nv"},
		{name: "absolute-link", plant: []string{"link usr/local/nvidia /opt/nv", "dir opt/nv"}, want: "opt/nv"},
		{name: "parent-link", plant: []string{"link usr/local /opt", "dir opt"}, want: "opt/nvidia"},
		{
			name: "link-to-own-parent", plant: []string{"link usr/local/nvidia .", "file usr/local/lib/own x"},
			as: new(*MountPointError), text: fullLink,
		},
		{name: "link-to-only-itself", plant: []string{"link usr/local/nvidia ."}, as: new(*MountPointError), text: fullLink},
		{name: "link-to-usr", plant: []string{"link usr/local/nvidia /usr"}, as: new(*MountPointError), text: fullLink},
		{
			name: "link-to-libraries", plant: []string{"link usr/local/nvidia ../lib", "file usr/lib/libc.so.6 x"},
			as: new(*MountPointError), text: fullLink,
		},
		{
			name: "parent-link-full", plant: []string{"link usr/local /opt", "file opt/nvidia/own x"},
			as: new(*MountPointError), text: fullLink,
		},
		{
			name: "link-to-full-volume", plant: []string{"link usr/local/nvidia /vol", "dir vol"}, binds: [][2]string{{volume, "vol"}},
			as: new(*MountPointError), text: fullLink,
		},
		{name: "file", plant: []string{"file usr/local/nvidia x"}, as: new(*MountPointError)},
		{name: "fifo", plant: []string{"fifo usr/local/nvidia"}, as: new(*MountPointError)},
		{name: "below-file", plant: []string{"file usr/local x"}, as: new(*MountPointError)},
		{name: "dangling", plant: []string{"link usr/local/nvidia nowhere"}, as: new(*MountPointError)},
		{name: "loop", plant: []string{"link usr/local/nvidia nvidia"}, err: ErrUnsafePath},
		{name: "root", at: "/", as: new(*MountPointError)},
		{name: "link-to-root", plant: []string{"link usr/local/nvidia ../../.."}, as: new(*MountPointError)},
		{name: "volume", plant: []string{"dir usr/local/nvidia"}, binds: [][2]string{{volume, "usr/local/nvidia"}}, want: "usr/local/nvidia"},
		{name: "in-volume", plant: []string{"dir usr/local"}, binds: [][2]string{{volume, "usr/local"}}, want: "usr/local/nvidia"},
		{name: "missing-in-volume", plant: []string{"dir usr"}, binds: [][2]string{{volume, "usr"}}, as: new(*ForeignMountError)},
		{name: "missing-in-tmpfs", plant: []string{"dir usr/local"}, tmpfs: []string{"usr/local"}, as: new(*ForeignMountError)},
		{name: "user-tmpfs", plant: []string{"dir usr/local/nvidia"}, tmpfs: []string{"usr/local/nvidia"}, want: "usr/local/nvidia"},
		{name: "read-only-missing", plant: []string{"dir usr"}, ro: true, as: new(*ReadOnlyError)},
		{name: "read-only-exists", plant: []string{"dir usr/local/nvidia"}, ro: true, want: "usr/local/nvidia"},
	}
	volumeBefore := snapshot(t, volume)
	for _, calls := range []string{"all", "none"} {
		for _, tt := range tests {
			t.Run(calls+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				calls := everyCalls()[calls]
				rootfs := plant(t, t.TempDir(), tt.plant...)
				before := snapshot(t, rootfs)
				r, b := box{Rootfs: rootfs, Binds: tt.binds, Tmpfs: tt.tmpfs, ReadOnly: tt.ro}.start(t, calls)
				tr := tree(t, openRoot(t, hostDir, calls), calls)
				if tt.at != "" {
					tr.At = tt.at
				}
				b.do(t, func() error {
					got, err := tr.Build(r, calls)
					switch {
					case tt.as != nil && !errors.As(err, tt.as):
						t.Errorf("Build: got %v, %v; want a %T", got, err, tt.as)
					case err != nil && !strings.Contains(err.Error(), tt.text):
						t.Errorf("Build: got %v; want %q", err, tt.text)
					case tt.as == nil && !errors.Is(err, tt.err):
						t.Errorf("Build: got %v, %v; want %v", got, err, tt.err)
					case tt.want != "" && got != Made:
						t.Errorf("Build: got %v; want it made, over what is there", got)
					case tt.want != "":
						sortedEqual(t, snapshot(t, filepath.Join(rootfs, tt.want)), treeContent)
					}
					return nil
				})
				if tt.want == "" {
					sortedEqual(t, snapshot(t, rootfs), before)
				}
				sortedEqual(t, snapshot(t, volume), volumeBefore)
			})
		}
	}
}

// TestTreeThroughLinkAgain builds a second and a third time where the first
// filled the empty directory that a link leads to.
func TestTreeThroughLinkAgain(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "link usr/local/nvidia ../../opt/nv", "dir opt/nv")
	host := openRoot(t, driver(t), Calls{})
	r, b := box{Rootfs: rootfs}.start(t, Calls{})
	first, second, third := tree(t, host, Calls{}), tree(t, host, Calls{}), tree(t, host, Calls{})
	third.Links = third.Links[1:]
	b.do(t, func() error {
		for i, tr := range []Tree{first, second, third} {
			want := []Outcome{Made, Kept, Replaced}[i]
			if got, err := tr.Build(r, Calls{}); err != nil || got != want {
				t.Errorf("Build %d: got %v, %v; want %v", i, got, err, want)
			}
		}
		return nil
	})
}

// TestTreeMountedElsewhere mounts on another directory than the path leads to,
// as after a swap: the mount is taken away.
func TestTreeMountedElsewhere(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "dir usr/local/nvidia", "dir other")
	host := openRoot(t, driver(t), Calls{})
	r, b := box{Rootfs: rootfs}.start(t, Calls{})
	tr := tree(t, host, Calls{})
	b.do(t, func() error {
		for _, at := range []string{"/usr/local/nvidia", "/missing"} {
			tr.At = at
			other, err := r.Dir("/other")
			if err != nil {
				t.Fatal(err)
			}
			err = tr.mount(r, other, Calls{})
			if wrong, ok := errors.AsType[*MountPointError](err); os.Getenv(roleVar) == "" && (!ok || wrong.Got != elsewhere) {
				t.Errorf("mount for %s: got %v; want a *MountPointError", at, err)
			}
			if list := mountsBelow(t, rootfs+"/other"); os.Getenv(roleVar) == "" && len(list) != 0 {
				t.Errorf("mounts left: %+v", list)
			}
		}
		return nil
	})
}
