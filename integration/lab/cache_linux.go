package lab

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CacheVar names the folder in which downloads and builds are kept.
const CacheVar = "GPUHOOK_CACHE"

// Cache returns the folder for what is downloaded or built once: GPUHOOK_CACHE,
// else /var/cache/gpu-hook where that can be written, else the user's cache.
func Cache(t T) string {
	t.Helper()
	if dir := os.Getenv(CacheVar); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			t.Fatalf("%v", err)
		}
		mkdir(t, abs, ".")
		return abs
	}
	const system = "/var/cache/gpu-hook"
	if err := os.MkdirAll(system, 0o755); err == nil && unix.Access(system, unix.W_OK) == nil {
		return system
	}
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatalf("%v", err)
	}
	dir := filepath.Join(user, "gpu-hook")
	mkdir(t, dir, ".")
	return dir
}

// Temp returns an empty folder that goes away with the test. It lies beside
// the cache: on a real disk, as overlayfs wants it, and where files of the
// cache can be hard-linked instead of copied.
func Temp(t T) string {
	t.Helper()
	work := filepath.Join(Cache(t), "work")
	mkdir(t, work, ".")
	dir, err := os.MkdirTemp(work, "t")
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("remove the work folder: %v", err)
		}
	})
	return dir
}

// Once returns the folder name of the cache. Where it is missing, fill makes it
// in a new folder that gets the name when it is complete; other processes that
// want it wait meanwhile. A recipe that changes must change its name.
func Once(t T, name string, fill func(dir string)) string {
	t.Helper()
	dir := filepath.Join(Cache(t), name)
	if exists(t, dir) {
		return dir
	}
	mkdir(t, filepath.Dir(dir), ".")
	lock, err := os.OpenFile(dir+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer func() { _ = lock.Close() }() // Closing gives the lock back.
	for {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		t.Fatalf("lock %s: %v", lock.Name(), err)
	}
	if exists(t, dir) {
		return dir
	}
	tmp := dir + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		t.Fatalf("%v", err)
	}
	mkdir(t, tmp, ".")
	// Containers and other users read the cache, whatever the umask was.
	old := unix.Umask(0o022)
	defer unix.Umask(old)
	fill(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		t.Fatalf("%v", err)
	}
	return dir
}

func exists(t T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v", err)
	}
	return err == nil
}
