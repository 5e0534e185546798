package mounts

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// roleVar makes the test binary something else than the tests.
const roleVar = "GPUHOOK_MOUNTS_TEST"

func TestMain(m *testing.M) {
	unix.Umask(0)
	role, data, _ := strings.Cut(os.Getenv(roleVar), " ")
	switch role {
	case "box":
		if err := runBox(data); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case "old-kernel":
		if err := forgetCalls(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	// Keeps tests off the first thread, which /proc/self is about: some join
	// other namespaces on theirs.
	runtime.LockOSThread()
	os.Exit(m.Run())
}

// plant makes files below a directory, one a line of spec:
//
//	dir a/b | file a/b CONTENT | empty a/b | link a/b TARGET | fifo a | sock a | char a
func plant(t testing.TB, top string, spec ...string) string {
	t.Helper()
	for _, line := range spec {
		word, rest, _ := strings.Cut(line, " ")
		name, value, _ := strings.Cut(rest, " ")
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch word {
		case "dir":
			err = os.MkdirAll(path, 0o755)
		case "file", "empty":
			err = os.WriteFile(path, []byte(value), 0o644)
		case "link":
			err = os.Symlink(value, path)
		case "fifo":
			err = unix.Mkfifo(path, 0o666)
		case "sock":
			err = unix.Mknod(path, unix.S_IFSOCK|0o666, 0)
		case "char":
			need.Root(t)
			err = unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
		default:
			t.Fatalf("unknown word in %q", line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// snapshot lists everything below a directory, one a line, to compare trees.
func snapshot(t testing.TB, top string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(top, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %s", info.Mode(), rel)
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", data)
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + target
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// everyCalls are the fallbacks that tests run through.
func everyCalls() map[string]Calls {
	return map[string]Calls{
		"all":              {},
		"no-openat2":       {NoOpenat2: true},
		"no-open-tree":     {NoOpenTree: true},
		"no-fsopen":        {NoFsopen: true},
		"no-mount-setattr": {NoMountSetattr: true},
		"no-mount-id":      {NoMountID: true},
		"none":             {NoOpenat2: true, NoOpenTree: true, NoFsopen: true, NoMountSetattr: true, NoMountID: true},
	}
}

func openRoot(t testing.TB, dir string, c Calls) *Root {
	t.Helper()
	r, err := OpenRoot(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// prepareLate prepares a file that is cloned when it is mounted.
func prepareLate(t testing.TB, r *Root, path string, c Calls) *Prepared {
	t.Helper()
	return prepareSource(t, Source{Root: r, Path: path, Late: true}, c)
}

func prepare(t testing.TB, r *Root, path string, c Calls) *Prepared {
	t.Helper()
	return prepareSource(t, Source{Root: r, Path: path}, c)
}

func prepareSource(t testing.TB, s Source, c Calls) *Prepared {
	t.Helper()
	p, err := Prepare(s, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}
