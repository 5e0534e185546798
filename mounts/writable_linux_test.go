package mounts

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPlaceWritable mounts a directory of pipes so that programs can write
// there but run nothing from it, and one of data so that they cannot.
func TestPlaceWritable(t *testing.T) {
	t.Parallel()
	hostDir := plant(t, t.TempDir(), "file pipes/control x")
	for _, name := range []string{"all", "none"} {
		for _, writable := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				calls := everyCalls()[name]
				rootfs := plant(t, t.TempDir(), "dir tmp")
				r, b := box{Rootfs: rootfs}.start(t, calls)
				p, err := Prepare(Source{Root: openRoot(t, hostDir, calls), Path: "/pipes", Writable: writable}, calls)
				if err != nil {
					t.Fatalf("Prepare: %v", err)
				}
				defer p.Close()
				b.do(t, func() error {
					if outcome, why, err := PlaceFile(r, "/tmp/pipes", p, 0); err != nil || outcome != Made {
						t.Errorf("PlaceFile: %v %s, %v", outcome, why, err)
						return nil
					}
					var st unix.Statfs_t
					if err := unix.Statfs(filepath.Join(rootfs, "tmp/pipes"), &st); err != nil {
						return err
					}
					readOnly, noExec := st.Flags&unix.ST_RDONLY != 0, st.Flags&unix.ST_NOEXEC != 0
					if readOnly == writable || noExec != writable || st.Flags&unix.ST_NOSUID == 0 || st.Flags&unix.ST_NODEV == 0 {
						t.Errorf("flags %#x with writable %v", st.Flags, writable)
					}
					return nil
				})
			})
		}
	}
}
