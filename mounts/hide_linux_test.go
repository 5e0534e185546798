package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHideDir(t *testing.T) {
	t.Parallel()
	volume := plant(t, t.TempDir(), "file libcuda.so x")
	tests := []struct {
		name  string
		plant []string
		binds [][2]string
		path  string
		err   error
		want  Outcome
	}{
		{name: "directory", plant: []string{"file compat/libcuda.so x"}, path: "/compat", want: Made},
		{name: "empty", plant: []string{"dir compat"}, path: "/compat", want: Made},
		{name: "link", plant: []string{"file cuda-12.4/compat/libcuda.so x", "link cuda cuda-12.4"}, path: "/cuda/compat", want: Made},
		{name: "volume", plant: []string{"dir compat"}, binds: [][2]string{{volume, "compat"}}, path: "/compat", want: Made},
		{name: "missing", path: "/compat", want: Left},
		{name: "dangling", plant: []string{"link compat none"}, path: "/compat", want: Left},
		{name: "file", plant: []string{"file compat x"}, path: "/compat", err: ErrUnsafePath},
		{name: "loop", plant: []string{"link compat compat"}, path: "/compat", err: ErrUnsafePath},
		{name: "root", plant: []string{"link compat /"}, path: "/compat", err: errAny},
	}
	for way, calls := range everyCalls() {
		for _, tt := range tests {
			t.Run(way+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				rootfs := plant(t, t.TempDir(), tt.plant...)
				before := snapshot(t, rootfs)
				r, b := box{Rootfs: rootfs, Binds: tt.binds}.start(t, calls)
				b.do(t, func() error {
					got, err := HideDir(r, tt.path)
					if got != tt.want || !isErr(err, tt.err) {
						t.Fatalf("HideDir: got %v, %v; want %v, %v", got, err, tt.want, tt.err)
					}
					if tt.want != Made {
						return nil
					}
					resolved, err := r.Resolve(tt.path)
					if err != nil {
						t.Fatal(err)
					}
					dir := filepath.Join(rootfs, resolved)
					if left := snapshot(t, dir); len(left) != 1 {
						t.Errorf("hidden directory shows %q", left)
					}
					if err := os.WriteFile(dir+"/new", nil, 0o644); !errors.Is(err, unix.EROFS) {
						t.Errorf("write into the hidden directory: got %v; want EROFS", err)
					}
					if again, err := HideDir(r, tt.path); again != Kept || err != nil {
						t.Errorf("HideDir again: got %v, %v; want it kept", again, err)
					}
					return nil
				})
				sortedEqual(t, snapshot(t, rootfs), before)
			})
		}
	}
}
