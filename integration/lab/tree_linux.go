package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// nodes makes the host's device nodes. No driver answers behind them.
func (h *StandIn) nodes(t T) {
	t.Helper()
	need.Root(t)
	node := func(name string, major, minor int) {
		path := filepath.Join(h.Dir, "dev", name)
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(uint32(major), uint32(minor)))); err != nil {
			t.Fatalf("mknod %s: %v", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatalf("%v", err)
		}
	}
	node("null", 1, 3)
	node("nvidiactl", 195, 255)
	node("nvidia-modeset", 195, 254)
	node("nvidia-uvm", h.UVM, 0)
	node("nvidia-uvm-tools", h.UVM, 1)
	for _, g := range h.GPUs {
		node("nvidia"+itoa(g.Minor), 195, g.Minor)
	}
}

// linkOrCopy makes a second name for a file, or a copy where the two lie on
// different file systems. Links are made anew.
func linkOrCopy(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(from, to)
}

// copyFile copies one regular file with its mode.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Chmod(info.Mode().Perm())
}

// CopyTree copies a tree with owners, modes, times, links and nodes.
func CopyTree(t T, from, to string) {
	t.Helper()
	mkdir(t, to, ".")
	command(t, "", nil, "cp", "-a", from+"/.", to)
}

// Tree describes everything below a directory, one line per name: type, mode,
// owner, size, time of the last change and a hash of the content. Two equal
// descriptions mean that nothing was changed.
func Tree(t T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out[name], err = describe(path)
		return err
	})
	if err != nil {
		t.Fatalf("describe %s: %v", dir, err)
	}
	return out
}

func describe(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("stat %s: no system data", path)
	}
	changed := st.Ctim
	if info.Mode().IsRegular() && st.Nlink > 1 {
		changed = st.Mtim // Another name of the file was made or removed: that changes ctime.
	}
	text := fmt.Sprintf("%v %d:%d rdev=%x changed=%d.%09d", info.Mode(), st.Uid, st.Gid, st.Rdev, changed.Sec, changed.Nsec)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return text + " -> " + target, err
	case info.Mode().IsRegular():
		sum, err := hash(path)
		return fmt.Sprintf("%s size=%d %s", text, info.Size(), sum), err
	}
	return text, nil
}

func hash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// Leftovers lists the empty regular files below a directory that carry a name
// of the driver's: what other tools leave behind in images.
func Leftovers(t T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		ours := strings.HasPrefix(name, "libcuda") || strings.HasPrefix(name, "libnv") ||
			strings.HasPrefix(name, "nvidia") || strings.Contains(name, "_nvidia.so")
		if !e.Type().IsRegular() || !ours {
			return nil
		}
		info, err := e.Info()
		if err == nil && info.Size() == 0 {
			out = append(out, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatalf("look for leftovers in %s: %v", dir, err)
	}
	return out
}

// HostMounts returns the machine's mount table, without the counters that
// other processes may change.
func HostMounts(t T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(text)
}
