package mounts

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLeftovers finds what a run that was killed before its rename left, and
// what an image has in its place.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	hostDir := driver(t)
	tests := []struct {
		name string
		left string // at etc/.gpu-hook.name
		want error
	}{
		{name: "nothing"},
		{name: "file", left: "file etc/.gpu-hook.name half"},
		{name: "empty", left: "empty etc/.gpu-hook.name"},
		{name: "fifo", left: "fifo etc/.gpu-hook.name"},
		{name: "link-not-followed", left: "link etc/.gpu-hook.name /kept"},
		{name: "dangling", left: "link etc/.gpu-hook.name nowhere"},
		{name: "directory", left: "dir etc/.gpu-hook.name", want: unix.EISDIR},
	}
	ways := []struct {
		name  string
		plant string
		do    func(*Root, *Prepared) (Outcome, error)
		want  string
	}{
		{"write", "file etc/name old", func(r *Root, _ *Prepared) (Outcome, error) {
			return r.WriteFile("/etc", "name", []byte("new"), 0o644)
		}, `-rw-r--r-- etc/name "new"`},
		{"link", "empty etc/name", func(r *Root, _ *Prepared) (Outcome, error) {
			outcome, _, err := PlaceLink(r, Link{Path: "/etc/name", Target: "x"})
			return outcome, err
		}, "Lrwxrwxrwx etc/name -> x"},
		{"mount", "link etc/name nowhere", func(r *Root, p *Prepared) (Outcome, error) {
			outcome, _, err := PlaceFile(r, "/etc/name", p, 0)
			return outcome, err
		}, `-rw-r--r-- etc/name ""`},
	}
	for _, way := range ways {
		for _, tt := range tests {
			t.Run(way.name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				rootfs := plant(t, t.TempDir(), way.plant, "file kept kept")
				if tt.left != "" {
					plant(t, rootfs, tt.left)
				}
				before := snapshot(t, rootfs)
				r, b := box{Rootfs: rootfs}.start(t, Calls{})
				p := prepare(t, openRoot(t, hostDir, Calls{}), "bin/nvidia-smi", Calls{})
				b.do(t, func() error {
					got, err := way.do(r, p)
					if !errors.Is(err, tt.want) || err == nil && got != Replaced {
						t.Errorf("got %v, %v; want %v", got, err, tt.want)
					}
					return nil
				})
				want := before
				if tt.want == nil {
					want = []string{before[0], "drwxr-xr-x etc", way.want, `-rw-r--r-- kept "kept"`}
				}
				sortedEqual(t, snapshot(t, rootfs), want)
			})
		}
	}
}

// TestLongName writes a file whose name leaves no room for a prefix.
func TestLongName(t *testing.T) {
	t.Parallel()
	r, b := box{Rootfs: plant(t, t.TempDir(), "dir etc")}.start(t, Calls{})
	name := strings.Repeat("n", unix.NAME_MAX)
	b.do(t, func() error {
		if got, err := r.WriteFile("/etc", name, []byte("x"), 0o644); err != nil || got != Made {
			t.Errorf("WriteFile: got %v, %v; want it made", got, err)
		}
		return nil
	})
}

// TestReplaceAgain lets another hook rename or make the temporary file.
func TestReplaceAgain(t *testing.T) {
	t.Parallel()
	rootfs := plant(t, t.TempDir(), "dir etc")
	r := openRoot(t, rootfs, Calls{})
	s, _, err := r.spot("/etc/name")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.replace(func(string) error { return nil }); !errors.Is(err, errMoved) {
		t.Errorf("replace with a file gone: got %v; want errMoved", err)
	}
	if err := s.replace(func(string) error { return unix.EEXIST }); !errors.Is(err, errMoved) {
		t.Errorf("replace with a file made again and again: got %v; want errMoved", err)
	}
	if left, _ := filepath.Glob(rootfs + "/etc/*"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}
