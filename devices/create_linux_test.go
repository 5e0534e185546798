package devices

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// openDir returns a folder in which nodes can be made.
func openDir(t testing.TB) *os.File {
	t.Helper()
	path := t.TempDir()
	canMknod(t, path)
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func stat(t testing.TB, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st
}

var aNode = Node{Path: "/dev/nvidia0", Major: 195, Minor: 0, Mode: 0o626, UID: 5, GID: 44}

func TestCreate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		first func(path string) error
		want  Outcome
	}{
		{"nothing", func(string) error { return nil }, Made},
		{"same", func(p string) error { return unix.Mknod(p, unix.S_IFCHR|0o600, int(unix.Mkdev(195, 0))) }, Kept},
		{"other-minor", func(p string) error { return unix.Mknod(p, unix.S_IFCHR|0o600, int(unix.Mkdev(195, 1))) }, Replaced},
		{"block", func(p string) error { return unix.Mknod(p, unix.S_IFBLK|0o600, int(unix.Mkdev(195, 0))) }, Replaced},
		{"file", func(p string) error { return os.WriteFile(p, nil, 0o600) }, Replaced},
		{"fifo", func(p string) error { return unix.Mkfifo(p, 0o600) }, Replaced},
		{"dangling-link", func(p string) error { return os.Symlink("/nowhere", p) }, Replaced},
		{"link-to-file", func(p string) error { return os.Symlink("canary", p) }, Replaced},
		{"link-to-device", func(p string) error { return os.Symlink("/dev/null", p) }, Replaced},
		{"empty-directory", func(p string) error { return os.Mkdir(p, 0o755) }, Replaced},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := openDir(t)
			path := filepath.Join(dir.Name(), "nvidia0")
			put(t, filepath.Join(dir.Name(), "canary"), "sings")
			before := stat(t, filepath.Join(dir.Name(), "canary"))
			if err := tc.first(path); err != nil {
				t.Fatal(err)
			}
			for _, want := range []Outcome{tc.want, Kept} {
				got, err := Create(dir, "nvidia0", aNode)
				if err != nil || got != want {
					t.Fatalf("Create() = %v, %v, want %v", got, err, want)
				}
				st := stat(t, path)
				if st.Mode != unix.S_IFCHR|0o626 || st.Uid != 5 || st.Gid != 44 || st.Rdev != unix.Mkdev(195, 0) {
					t.Errorf("node has mode %o, owner %d:%d, device %#x", st.Mode, st.Uid, st.Gid, st.Rdev)
				}
			}
			after := stat(t, filepath.Join(dir.Name(), "canary"))
			if after.Mode != before.Mode || after.Uid != before.Uid || after.Ino != before.Ino {
				t.Errorf("the canary changed: %+v, was %+v", after, before)
			}
		})
	}
}

func TestCreateErrors(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	put(t, filepath.Join(dir.Name(), "full", "x"), "x")
	for _, tc := range []struct {
		name, want string
		is         error
	}{
		{"", "single path component", errBadName},
		{"..", "single path component", errBadName},
		{"a/b", "single path component", errBadName},
		{"/dev/null", "single path component", errBadName},
		{strings.Repeat("x", 300), "file name too long", unix.ENAMETOOLONG},
		{"full", "remove what is at /dev/nvidia0 (c 195:0): directory not empty", unix.ENOTEMPTY},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			outcome, err := Create(dir, tc.name, aNode)
			var nodeErr *NodeError
			if outcome != 0 || !errors.As(err, &nodeErr) || !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Create(%q) = %v, %v, want a NodeError with %q", tc.name, outcome, err, tc.want)
			}
			if errors.Is(err, ErrNoMknod) {
				t.Errorf("Create(%q) = %v, which says to bind instead", tc.name, err)
			}
		})
	}
}

func TestCreateClosedDirectory(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	dir.Close()
	if _, err := Create(dir, "nvidia0", aNode); !errors.Is(err, unix.EBADF) {
		t.Errorf("Create() in a closed directory = %v, want EBADF", err)
	}
}

// thread runs fn on an operating system thread that is thrown away.
func thread(fn func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- fn()
	}()
	return <-done
}

func TestCreateOnNodev(t *testing.T) {
	t.Parallel()
	need.MountNS(t)
	at := t.TempDir()
	canMknod(t, at)
	err := thread(func() error {
		if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		if err := unix.Mount("none", at, "tmpfs", unix.MS_NODEV, "size=1m"); err != nil {
			return err
		}
		dir, err := os.Open(at)
		if err != nil {
			return err
		}
		defer dir.Close()
		_, err = Create(dir, "nvidia0", aNode)
		return err
	})
	if !errors.Is(err, ErrNoMknod) || !strings.Contains(err.Error(), "mounted nodev") {
		t.Errorf("Create() on nodev = %v, want ErrNoMknod", err)
	}
}

func TestCreateWithoutCapability(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	err := thread(func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&header, &data[0]); err != nil {
			return err
		}
		data[0].Effective &^= 1 << unix.CAP_MKNOD
		if err := unix.Capset(&header, &data[0]); err != nil {
			return err
		}
		_, err := Create(dir, "nvidia0", aNode)
		return err
	})
	want := "mknod /dev/nvidia0 (c 195:0): device nodes cannot be made here: operation not permitted"
	if !errors.Is(err, ErrNoMknod) || !errors.Is(err, fs.ErrPermission) || err.Error() != want {
		t.Errorf("Create() without CAP_MKNOD = %v, want %s", err, want)
	}
}

// TestChmodThroughProc forces what kernels before 6.6 need.
func TestChmodThroughProc(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	path := filepath.Join(dir.Name(), "nvidia0")
	if _, err := Create(dir, "nvidia0", aNode); err != nil {
		t.Fatal(err)
	}
	err := thread(func() error {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return chmodProc(fd, 0o604)
	})
	if st := stat(t, path); err != nil || st.Mode&0o777 != 0o604 {
		t.Errorf("chmodProc() = %v, mode %o, want 604", err, st.Mode&0o777)
	}
}

// TestCreateWhileNamesAreSwapped has somebody in the container put links to a
// file of the host in the place of the node all the time. Whatever Create says,
// the file stays as it is, and success means that the node was right.
func TestCreateWhileNamesAreSwapped(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	canary := filepath.Join(t.TempDir(), "canary")
	put(t, canary, "sings")
	before := stat(t, canary)
	path := filepath.Join(dir.Name(), "nvidia0")
	link, plain := path+".link", path+".file"
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Symlink(canary, link)
			_ = os.Rename(link, path)
			_ = os.WriteFile(plain, nil, 0o600)
			_ = os.Rename(plain, path)
			_ = os.Remove(path)
		}
	}()
	tries := map[string]int{}
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		outcome, err := Create(dir, "nvidia0", aNode)
		var nodeErr *NodeError
		switch {
		case err == nil:
			tries[outcome.String()]++
		case errors.As(err, &nodeErr):
			tries["error"]++
		default:
			t.Fatalf("Create() = %v, want a NodeError", err)
		}
	}
	close(stop)
	<-stopped
	after := stat(t, canary)
	if after.Mode != before.Mode || after.Uid != before.Uid || after.Gid != before.Gid || after.Nlink != 1 {
		t.Errorf("the canary changed: %+v, was %+v", after, before)
	}
	if data, err := os.ReadFile(canary); err != nil || string(data) != "sings" {
		t.Errorf("the canary says %q, %v", data, err)
	}
	t.Logf("outcomes: %v", tries)
}

func TestOutcomeString(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		outcome Outcome
		want    string
	}{
		{Made, "made"},
		{Kept, "kept"},
		{Replaced, "replaced"},
		{0, "Outcome(0)"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			t.Parallel()
			if got := tc.outcome.String(); got != tc.want {
				t.Errorf("String() = %q, want %q", got, tc.want)
			}
		})
	}
}

func BenchmarkCreateKept(b *testing.B) {
	dir := openDir(b)
	for b.Loop() {
		if _, err := Create(dir, "nvidia0", aNode); err != nil {
			b.Fatal(err)
		}
	}
}
