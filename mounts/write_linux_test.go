package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
)

func TestWriteFile(t *testing.T) {
	t.Parallel()
	volume := plant(t, t.TempDir(), "file name volume")
	tests := []struct {
		name    string
		plant   []string
		dir     string
		binds   [][2]string
		as      any
		outcome Outcome
		want    []string // snapshot, "" = as planted
	}{
		{
			name: "new", dir: "/etc", plant: []string{"dir etc"}, outcome: Made,
			want: []string{"drwxr-xr-x etc", `-rw-r--r-- etc/name "new"`},
		},
		{
			name: "new-directory", dir: "/etc/conf.d", plant: []string{"dir etc"}, outcome: Made,
			want: []string{"drwxr-xr-x etc", "drwxr-xr-x etc/conf.d", `-rw-r--r-- etc/conf.d/name "new"`},
		},
		{name: "same", dir: "/etc", plant: []string{"file etc/name new"}, outcome: Kept},
		{
			name: "other-same-size", dir: "/etc", plant: []string{"file etc/name old"}, outcome: Replaced,
			want: []string{"drwxr-xr-x etc", `-rw-r--r-- etc/name "new"`},
		},
		{
			name: "other", dir: "/etc", plant: []string{"file etc/name longer content"}, outcome: Replaced,
			want: []string{"drwxr-xr-x etc", `-rw-r--r-- etc/name "new"`},
		},
		{
			name: "empty", dir: "/etc", plant: []string{"empty etc/name"}, outcome: Replaced,
			want: []string{"drwxr-xr-x etc", `-rw-r--r-- etc/name "new"`},
		},
		{
			name: "dangling-link", dir: "/etc", plant: []string{"link etc/name nowhere"}, outcome: Replaced,
			want: []string{"drwxr-xr-x etc", `-rw-r--r-- etc/name "new"`},
		},
		{
			name: "link-not-followed", dir: "/etc", plant: []string{"link etc/name /target", "file target kept"}, outcome: Replaced,
			want: []string{"drwxr-xr-x etc", `-rw-r--r-- etc/name "new"`, `-rw-r--r-- target "kept"`},
		},
		{
			name: "through-directory-link", dir: "/etc", plant: []string{"link etc usr/etc", "dir usr/etc"}, outcome: Made,
			want: []string{"drwxr-xr-x usr", "drwxr-xr-x usr/etc", "Lrwxrwxrwx etc -> usr/etc", `-rw-r--r-- usr/etc/name "new"`},
		},
		{name: "directory", dir: "/etc", plant: []string{"dir etc/name/below"}, as: new(*WrongKindError)},
		{name: "fifo", dir: "/etc", plant: []string{"fifo etc/name"}, as: new(*WrongKindError)},
		{name: "device", dir: "/etc", plant: []string{"char etc/name"}, as: new(*WrongKindError)},
		{name: "volume", dir: "/vol", plant: []string{"dir vol"}, binds: [][2]string{{volume, "vol"}}, as: new(*ForeignMountError)},
		{
			name: "link-into-volume", dir: "/etc", plant: []string{"dir vol", "link etc vol"},
			binds: [][2]string{{volume, "vol"}}, as: new(*ForeignMountError),
		},
		{
			name: "missing-in-volume", dir: "/vol/sub", plant: []string{"dir vol"},
			binds: [][2]string{{volume, "vol"}}, as: new(*ForeignMountError),
		},
		{
			name: "mounted-file", dir: "/etc", plant: []string{"empty etc/name"},
			binds: [][2]string{{filepath.Join(volume, "name"), "etc/name"}}, as: new(*ForeignMountError),
		},
		{name: "directory-is-file", dir: "/etc", plant: []string{"file etc x"}, as: new(*PathError)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rootfs := plant(t, t.TempDir(), tt.plant...)
			before := snapshot(t, rootfs)
			r, b := box{Rootfs: rootfs, Binds: tt.binds}.start(t, Calls{})
			b.do(t, func() error {
				got, err := r.WriteFile(tt.dir, "name", []byte("new"), 0o644)
				if tt.as != nil && !errors.As(err, tt.as) || tt.as == nil && err != nil || got != tt.outcome {
					t.Errorf("WriteFile: got %v, %v; want %v, %T", got, err, tt.outcome, tt.as)
				}
				if tt.as != nil {
					return nil
				}
				if again, err := r.WriteFile(tt.dir, "name", []byte("new"), 0o644); err != nil || again != Kept {
					t.Errorf("WriteFile again: got %v, %v; want it kept", again, err)
				}
				return nil
			})
			want := before
			if tt.want != nil {
				want = append([]string{before[0]}, tt.want...)
			}
			sortedEqual(t, snapshot(t, rootfs), want)
			if data, err := os.ReadFile(filepath.Join(volume, "name")); err != nil || string(data) != "volume" {
				t.Errorf("volume: got %q, %v; want it unchanged", data, err)
			}
		})
	}
}

func TestWriteFileKeepsInode(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "file f same")
	r := openRoot(t, rootfs, Calls{})
	inode := func() uint64 {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(rootfs, "f"), &st); err != nil {
			t.Fatal(err)
		}
		return st.Ino
	}
	before := inode()
	if got, err := r.WriteFile("/", "f", []byte("same"), 0o644); err != nil || got != Kept || inode() != before {
		t.Errorf("WriteFile of the same: got %v, %v, inode %d; want inode %d", got, err, inode(), before)
	}
	if got, err := r.WriteFile("/", "f", []byte("same"), 0o600); err != nil || got != Replaced || inode() == before {
		t.Errorf("WriteFile with another mode: got %v, %v; want it replaced", got, err)
	}
}

func TestWriteFileNames(t *testing.T) {
	t.Parallel()
	r := openRoot(t, plant(t, t.TempDir(), "dir etc"), Calls{})
	for _, name := range []string{"", ".", "..", "a/b", "../etc/x", "/x"} {
		if got, err := r.WriteFile("/etc", name, nil, 0o644); err == nil {
			t.Errorf("WriteFile with the name %q: got %v; want an error", name, got)
		}
	}
}

func TestWriteFileReadOnly(t *testing.T) {
	t.Parallel()
	r, b := box{Rootfs: plant(t, t.TempDir(), "dir etc"), ReadOnly: true}.start(t, Calls{})
	b.do(t, func() error {
		for _, dir := range []string{"/etc", "/etc/new"} {
			_, err := r.WriteFile(dir, "f", []byte("x"), 0o644)
			if _, ok := errors.AsType[*ReadOnlyError](err); !ok {
				t.Errorf("WriteFile in %s: got %v; want a *ReadOnlyError", dir, err)
			}
		}
		return nil
	})
}

// TestWriteFileFails makes writing and renaming fail: no temporary file may stay.
func TestWriteFileFails(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "dir run")
	r, b := box{Rootfs: rootfs, Tmpfs: []string{"run"}}.start(t, Calls{})
	b.do(t, func() error {
		run, err := r.Sub("/run")
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		if got, err := run.WriteFile("/", "f", make([]byte, 64<<10), 0o644); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("WriteFile on a full file system: got %v, %v; want ENOSPC", got, err)
		}
		plant(t, rootfs, "dir run/dir", "empty run/temp")
		s, _, err := run.spot("/dir")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.rename("temp"); !errors.Is(err, unix.EISDIR) {
			t.Errorf("rename onto a directory: got %v; want EISDIR", err)
		}
		sortedEqual(t, snapshot(t, filepath.Join(rootfs, "run")), []string{"dtrwxrwxrwx .", "drwxr-xr-x dir"})
		return nil
	})
}

// TestWriteFileLabel sets a label where the kernel has no SELinux: root may set
// the attribute on ext4 all the same, and elsewhere that is ignored.
func TestWriteFileLabel(t *testing.T) {
	t.Parallel()
	rootfs := t.TempDir()
	r, b := box{Rootfs: rootfs}.start(t, Calls{})
	r.SetLabel("system_u:object_r:container_file_t:s0:c1,c2")
	b.do(t, func() error {
		if _, err := r.WriteFile("/etc/conf.d", "f", []byte("x"), 0o644); err != nil {
			t.Errorf("WriteFile: %v", err)
		}
		if _, _, err := PlaceLink(r, Link{Path: "/etc/l", Target: "f"}); err != nil {
			t.Errorf("PlaceLink: %v", err)
		}
		return nil
	})
	for _, name := range []string{"etc", "etc/conf.d", "etc/conf.d/f", "etc/l"} {
		buf := make([]byte, 100)
		n, err := unix.Lgetxattr(filepath.Join(rootfs, name), labelName, buf)
		if errors.Is(err, unix.EOPNOTSUPP) {
			t.Log("this file system has no labels")
			return
		}
		if err != nil || !strings.HasPrefix(string(buf[:n]), "system_u:object_r:container_file_t") {
			t.Errorf("label of %s: got %q, %v", name, buf[:max(n, 0)], err)
		}
	}
}

func TestOutcomeString(t *testing.T) {
	t.Parallel()
	got := []string{Made.String(), Kept.String(), Replaced.String(), Left.String(), Outcome(9).String()}
	want := []string{"made", "kept", "replaced", "left", "outcome 9"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}
