package loader

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/ldcache"
)

// plant makes a root, one thing a line:
//
//	dir a/b | file a/b TEXT | link a/b TARGET | fifo a | elf a/b x86-64|i386|arm64|arm
//
// In TEXT, | stands for a newline.
func plant(t testing.TB, lines ...string) string {
	t.Helper()
	top := t.TempDir()
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		name, value, _ := strings.Cut(rest, " ")
		file := filepath.Join(top, name)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			switch word {
			case "dir":
				err = os.MkdirAll(file, 0o755)
			case "file":
				err = os.WriteFile(file, []byte(strings.ReplaceAll(value, "|", "\n")), 0o644)
			case "link":
				err = os.Symlink(value, file)
			case "fifo":
				err = unix.Mkfifo(file, 0o644)
			case "elf":
				err = os.WriteFile(file, elfHead(value), 0o755)
			default:
				t.Fatalf("plant %q: unknown word", line)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// elfHead is the start of an ELF file.
func elfHead(name string) []byte {
	head := make([]byte, 64)
	copy(head, elf.ELFMAG)
	head[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	class, machine := elf.ELFCLASS64, elf.EM_X86_64
	switch name {
	case "i386":
		class, machine = elf.ELFCLASS32, elf.EM_386
	case "arm64":
		machine = elf.EM_AARCH64
	case "arm":
		class, machine = elf.ELFCLASS32, elf.EM_ARM
	}
	head[elf.EI_CLASS] = byte(class)
	binary.LittleEndian.PutUint16(head[18:], uint16(machine))
	return head
}

// plantCache writes a loader cache of x86-64 libraries, named by their paths.
func plantCache(t testing.TB, top string, paths ...string) {
	t.Helper()
	c := ldcache.New("ldconfig")
	entries := make([]ldcache.Entry, 0, len(paths))
	for _, p := range paths {
		e := ldcache.Entry{Name: filepath.Base(p), Path: p, Flags: 0x303}
		if _, level, ok := strings.Cut(filepath.Dir(p), "glibc-hwcaps/"); ok {
			e.HWCaps, e.HWCap = level, 1<<62
		}
		entries = append(entries, e)
	}
	c.Merge(entries)
	if err := os.MkdirAll(top+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(top+cachePath, c.Encode(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func openRoot(t testing.TB, top string) *mounts.Root {
	t.Helper()
	r, err := mounts.OpenRoot(top, mounts.Calls{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func inspect(t testing.TB, r *mounts.Root) Facts {
	t.Helper()
	f, err := Inspect(r, elf.EM_X86_64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// snapshot describes every file below top, so that two can be compared: the
// inode tells a file that was written anew from one that was left.
func snapshot(t testing.TB, top string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return fmt.Errorf("stat %s", p)
		}
		text := fmt.Sprintf("%v inode %d size %d mtime %v", info.Mode(), st.Ino, info.Size(), info.ModTime().UnixNano())
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(p)
			out[p] = text + " " + target
			return err
		}
		out[p] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// inside is set in a child process that has a mount namespace of its own.
const inside = "GPUHOOK_LOADER_INSIDE"

// ownNamespace runs the calling test a second time, in a process with a mount
// namespace of its own, and reports whether this is that process. The test
// must not be a subtest.
func ownNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatalf("make mounts private: %v", err)
		}
		return true
	}
	need.Root(t)
	need.MountNS(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("in a namespace of its own: %v\n%s", err, out)
	} else if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("in a namespace of its own nothing passed:\n%s", out)
	}
	return false
}

// bind mounts one path of the machine on another.
func bind(t *testing.T, from, to string, flags uintptr) {
	t.Helper()
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		t.Fatalf("bind %s on %s: %v", from, to, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) })
	if flags != 0 {
		if err := unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatalf("remount %s: %v", to, err)
		}
	}
}
