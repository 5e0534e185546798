package devices

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// canMknod ends the test where no device node can be made below a folder.
func canMknod(t testing.TB, dir string) {
	t.Helper()
	need.Root(t)
	probe := filepath.Join(dir, "probe")
	if err := unix.Mknod(probe, unix.S_IFCHR|0o600, int(unix.Mkdev(gpuMajor, 0))); err != nil {
		need.Lacks(t, "root", fmt.Sprintf("mknod %s: %v", probe, err))
	}
	if err := os.Remove(probe); err != nil {
		t.Fatal(err)
	}
}

// makeNode makes a stand-in host's node from "MAJOR MINOR MODE UID GID".
func makeNode(t testing.TB, path, text string) {
	t.Helper()
	var major, minor, mode uint32
	var uid, gid int
	if _, err := fmt.Sscanf(text, "%d %d %o %d %d", &major, &minor, &mode, &uid, &gid); err != nil {
		t.Fatalf("node %s: %v", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	canMknod(t, filepath.Dir(path))
	if err := unix.Mknod(path, unix.S_IFCHR|mode, int(unix.Mkdev(major, minor))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, os.FileMode(mode)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}
