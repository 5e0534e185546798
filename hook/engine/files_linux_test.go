package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	for _, engine := range []struct{ name, file, content string }{
		{"docker", dockerFile, "{}"}, {"containerd", containerdFile, "version = 2\n"},
	} {
		p := newPlace(t, map[string]string{engine.file: engine.content})
		if err := os.Chmod(filepath.Join(p.dir, engine.file), 0o444); err != nil {
			t.Fatal(err)
		}
		before := p.tree()
		_, err := p.try(Options{Engine: engine.name})
		wantFile(t, err, engine.file, 0, "is read-only (mode 0444)")
		p.same(before, "after a refusal")
	}
}

// A read-only file system, as image-based systems have it.
func TestReadOnlyFileSystem(t *testing.T) {
	t.Parallel()
	need.MountNS(t)
	need.Root(t)
	p := newPlace(t, map[string]string{dockerFile: "{}"})
	etc := filepath.Join(p.dir, "etc")
	done := make(chan error)
	go func() { // the thread keeps its mount namespace, and ends with the goroutine
		done <- inReadOnly(etc, func() {
			_, err := p.try(Options{Engine: "docker"})
			wantFile(t, err, dockerFile, 0, "is not writable: read-only file system")
		})
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := p.tree(); len(got) != 2 {
		t.Errorf("a refusal left %v", got)
	}
}

// The link stays, the file that it leads to changes: also where the link is
// absolute and has to be read inside the root.
func TestSymlinkedFile(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/srv/conf/daemon.json", "../../srv/conf/daemon.json"} {
		p := newPlace(t, map[string]string{"/srv/conf/daemon.json": "{\n}\n", "/etc/docker/x": ""})
		link := filepath.Join(p.dir, dockerFile)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		before := p.tree()
		p.configure(Options{Engine: "docker"})
		if got, err := os.Readlink(link); err != nil || got != target {
			t.Errorf("the link is %q, %v", got, err)
		}
		if got := p.get("/srv/conf/daemon.json"); !strings.Contains(got, wrapperName) {
			t.Errorf("the file says %q", got)
		}
		p.configure(Options{Engine: "docker", Remove: true})
		p.same(before, "after --remove")
	}
}

func TestOddFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		make   func(t *testing.T, path string) error
		reason string
	}{
		{"dangling-link", func(_ *testing.T, path string) error { return os.Symlink("/nowhere", path) }, "where there is nothing"},
		{"fifo", func(_ *testing.T, path string) error { return unix.Mkfifo(path, 0o644) }, "not a regular file"},
		{"directory", func(_ *testing.T, path string) error { return os.Mkdir(path, 0o755) }, "not a regular file"},
		{"huge", func(_ *testing.T, path string) error {
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				return err
			}
			return os.Truncate(path, maxFile+1)
		}, "is longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, engine := range []struct{ name, file string }{{"docker", dockerFile}, {"containerd", containerdFile}} {
				p := newPlace(t, map[string]string{filepath.Dir(engine.file) + "/x": ""})
				if err := tt.make(t, filepath.Join(p.dir, engine.file)); err != nil {
					t.Fatal(err)
				}
				_, err := p.try(Options{Engine: engine.name})
				wantFile(t, err, engine.file, 0, tt.reason)
			}
		})
	}
}

// A file with secrets in it does not get a copy that everybody may read.
func TestModeAndOwner(t *testing.T) {
	t.Parallel()
	need.Root(t)
	p := newPlace(t, map[string]string{containerdFile: "version = 2\n"})
	full := filepath.Join(p.dir, containerdFile)
	if err := os.Chmod(full, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(full, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	attribute := unix.Setxattr(full, "user.gpu-hook-test", []byte("kept"), 0)
	p.configure(Options{Engine: "containerd"})
	for _, name := range []string{full, full + BackupSuffix} {
		var st unix.Stat_t
		if err := unix.Lstat(name, &st); err != nil {
			t.Fatal(err)
		}
		if st.Mode&0o7777 != 0o640 || st.Uid != 1234 || st.Gid != 2345 {
			t.Errorf("%s has mode %o and owner %d:%d", name, st.Mode&0o7777, st.Uid, st.Gid)
		}
		value := make([]byte, 10)
		if n, err := unix.Getxattr(name, "user.gpu-hook-test", value); attribute == nil && (err != nil || string(value[:n]) != "kept") {
			t.Errorf("%s lost its extended attribute: %q, %v", name, value, err)
		}
	}
}

// What fails in the middle is taken back.
func TestApplyTakesBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"/a": "1\n", "/b": "1\n"})
	before := p.tree()
	h := host{root: p.dir}
	err := h.apply([]Change{
		{Path: "/a", Old: []byte("1\n"), New: []byte("2\n"), real: filepath.Join(p.dir, "a")},
		{Path: "/l", Link: true, New: []byte("/x"), real: filepath.Join(p.dir, "l")},
		{Path: "/c", New: []byte("2\n"), real: filepath.Join(p.dir, "c"), mode: 0o600},
		{Path: "/b", Old: []byte("somebody wrote\n"), New: []byte("2\n"), real: filepath.Join(p.dir, "b")},
	})
	if err == nil || !strings.Contains(err.Error(), "write /b: somebody else has just changed it") {
		t.Errorf("apply: %v", err)
	}
	p.same(before, "after a failure")
}

func TestBinaryMustBeThere(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		p := newPlace(t, map[string]string{"/opt/plain/gpu-hook": "x"})
		before := p.tree()
		for binary, reason := range map[string]string{"/opt/nothing/gpu-hook": "no such program", "/opt/plain/gpu-hook": "not an executable file", "gpu-hook": "not a plain absolute path", "/opt/../gpu-hook": "not a plain absolute path"} {
			_, err := p.try(Options{Engine: engine, Binary: binary})
			wantFile(t, err, binary, 0, reason)
		}
		p.same(before, "after refusals")
	}
}

func TestWrapperInTheWay(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"/usr/local/bin/" + wrapperName: "not executable"})
	_, err := p.try(Options{Engine: "docker"})
	wantFile(t, err, "/usr/local/bin/"+wrapperName, 0, "is in the way")
	if err := os.Chmod(filepath.Join(p.dir, "usr/local/bin", wrapperName), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := codes(p.configure(Options{Engine: "docker", DryRun: true})); len(got) != 1 || got[0] != "other-wrapper" {
		t.Errorf("warnings: %v", got)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no-engine": {}, "unknown-engine": {Engine: "lxc"}, "import-and-remove": {Engine: "docker", Import: true, Remove: true},
		"base-spec": {Engine: "docker", BaseSpec: true}, "set-default": {Engine: "podman", SetDefault: true},
		"hook-link": {Engine: "crio", HookLink: HookLinkNever}, "hook-word": {Engine: "docker", HookLink: "maybe"},
		"binary": {Engine: "docker", Binary: "/usr/local/bin/gpu-hook-1.2"},
		"file":   {Engine: "crio", File: "/x"}, "relative-file": {Engine: "docker", File: "daemon.json"},
	} {
		if _, err := Configure(o); err == nil || strings.Contains(err.Error(), "internal") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
