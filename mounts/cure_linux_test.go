package mounts

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPathErrorCure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  PathError
		want string // part of the cure, "" for none
	}{
		{"full", PathError{"write", "/etc/x", unix.ENOSPC}, "make room on the container's root file system"},
		{"quota", PathError{"create link", "/x", unix.EDQUOT}, "make room on the container's root file system"},
		{"too-many-mounts", PathError{"clone mount of", "/x", unix.ENOSPC}, "fs.mount-max"},
		{"move-mount", PathError{"mount on", "/x", fmt.Errorf("move_mount: %w", unix.EPERM)}, "CAP_SYS_ADMIN"},
		{"open-tree", PathError{"clone mount of", "/x", unix.EPERM}, "CAP_SYS_ADMIN"},
		{"setns", PathError{opNamespace, "/proc/9/ns/mnt", fmt.Errorf("setns: %w", unix.EPERM)}, "CAP_SYS_ADMIN"},
		{"write-denied", PathError{"write", "/etc/x", unix.EPERM}, ""},
		{"process", PathError{opOpenRoot, "/proc/9/root", unix.EACCES}, "CAP_SYS_PTRACE"},
		{"process-eperm", PathError{opOpenRoot, "/proc/9/root", unix.EPERM}, "CAP_SYS_PTRACE"},
		{"image-proc", PathError{"open", "/proc/9/root", unix.EACCES}, ""},
		{"descriptors", PathError{"open", "/x", unix.EMFILE}, "LimitNOFILE"},
		{"descriptors-of-all", PathError{"open", "/x", unix.ENFILE}, "fs.file-max"},
		{"loop", PathError{"open", "/a/b", unix.ELOOP}, `repair the image: what "/a/b" leads through must be a directory`},
		{"file", PathError{"open", "/a\n", unix.ENOTDIR}, `"/a\n" leads`},
		{"host-file", PathError{opOpenRoot, "/etc/passwd", unix.ENOTDIR}, ""},
		{"leftover", PathError{opLeftover, "/etc/.gpu-hook.x", unix.EISDIR}, "remove it from the image"},
		{"busy", PathError{"lock", "/", ErrBusy}, "start the container again"},
		{"changed", PathError{"open", "/x", ErrChanged}, ""},
		{"missing", PathError{"open", "/x", unix.ENOENT}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := tt.err.Cure()
			if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") || strings.Contains(got, "\n") {
				t.Errorf("Cure of %v: got %q; want %q", &tt.err, got, tt.want)
			}
		})
	}
}

// TestOpenRootCure goes through the functions that make such errors.
func TestOpenRootCure(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"/none", plant(t, t.TempDir(), "file f x") + "/f"} {
		_, err := OpenRoot(dir, Calls{})
		if e, ok := errors.AsType[*PathError](err); !ok || e.Op != opOpenRoot || e.Cure() != "" {
			t.Errorf("OpenRoot %s: got %v; want a *PathError of the host without a cure", dir, err)
		}
	}
	_, err := OpenNamespace(1 << 30)
	if _, ok := errors.AsType[*PathError](err); !ok || !errors.Is(err, unix.ENOENT) {
		t.Errorf("OpenNamespace of no process: got %v; want a *PathError", err)
	}
}
