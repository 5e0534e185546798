package logfile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func TestNew(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		level  config.LogLevel
		format config.LogFormat
		want   []string // parts of the lines, one each
	}{
		{"info", config.LevelInfo, config.FormatText, []string{`level=info msg="one GPU" id=c1`, "level=warning", "level=error"}},
		{"debug", config.LevelDebug, config.FormatText, []string{"level=debug", "level=info", "level=warning", "level=error"}},
		{"warn", config.LevelWarn, config.FormatText, []string{"level=warning", "level=error"}},
		{"error", config.LevelError, config.FormatText, []string{"level=error"}},
		{"json", config.LevelError, config.FormatJSON, []string{`"level":"error"`}},
		{"nonsense-is-info", "loud", "xml", []string{"level=info", "level=warning", "level=error"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "made", "log")
			l := New(config.Log{File: path, Level: tt.level, Format: tt.format})
			if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("New made something: %v", err)
			}
			e := l.WithField("id", "c1")
			e.Debug("look")
			e.Info("one GPU")
			e.Warn("left out")
			e.Error("a\nb\x1b[2J")
			lines := strings.Split(strings.TrimSuffix(read(t, path), "\n"), "\n")
			if len(lines) != len(tt.want) {
				t.Fatalf("log = %q, want %d lines", lines, len(tt.want))
			}
			for i, want := range tt.want {
				if !strings.Contains(lines[i], want) || strings.Contains(lines[i], "\x1b") {
					t.Errorf("line %d = %q, want %q in it", i, lines[i], want)
				}
			}
			if tt.format == config.FormatJSON {
				var line map[string]string
				if err := json.Unmarshal([]byte(lines[0]), &line); err != nil || line["id"] != "c1" {
					t.Errorf("line = %v, %v", line, err)
				}
			}
		})
	}
}

func TestAppends(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	for range 2 {
		New(config.Log{File: path}).Info("x")
	}
	if got := strings.Count(read(t, path), "msg=x"); got != 2 {
		t.Errorf("log has %d lines, want 2", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o027 != 0 {
		t.Errorf("mode = %v, %v; want at most 0640", info.Mode(), err)
	}
}

// Whatever is wrong with the log: nothing is written elsewhere, nothing is
// printed, nothing hangs, and logging goes on as if nothing were.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(t *testing.T, dir string) // log is dir/log, canary dir/canary
	}{
		{"link", func(t *testing.T, dir string) { t.Helper(); must(t, os.Symlink("canary", filepath.Join(dir, "log"))) }},
		{"dangling-link", func(t *testing.T, dir string) { t.Helper(); must(t, os.Symlink("new", filepath.Join(dir, "log"))) }},
		{"fifo", func(t *testing.T, dir string) { t.Helper(); must(t, unix.Mkfifo(filepath.Join(dir, "log"), 0o600)) }},
		{"directory", func(t *testing.T, dir string) { t.Helper(); must(t, os.Mkdir(filepath.Join(dir, "log"), 0o700)) }},
		{"hard-link-in-a-shared-directory", func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Link(filepath.Join(dir, "canary"), filepath.Join(dir, "log")))
			must(t, os.Chmod(dir, 0o777|os.ModeSticky))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			canary := filepath.Join(dir, "canary")
			must(t, os.WriteFile(canary, []byte("tweet"), 0o600))
			tt.make(t, dir)
			l := New(config.Log{File: filepath.Join(dir, "log")})
			l.Error("x")
			l.Error("y")
			if diff := cmp.Diff("tweet", read(t, canary)); diff != "" {
				t.Errorf("canary (-want +got):\n%s", diff)
			}
			if got := read(t, filepath.Join(dir, "new")); got != "" {
				t.Errorf("a dangling link was followed: %q", got)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		mode os.FileMode // of the directory that holds the link
		path string      // below the test's directory
		want error
	}{
		{"plain", 0o755, "real/log", nil},
		{"made", 0o755, "new/deep/log", nil},
		{"made-in-shared", 0o777 | os.ModeSticky, "shared/new/log", nil},
		{"through-a-link", 0o755, "shared/link/log", nil},
		{"through-our-link-in-shared", 0o777 | os.ModeSticky, "shared/link/log", nil},
		{"through-a-file", 0o755, "file/log", unix.ENOTDIR},
		{"through-a-loop", 0o755, "shared/loop/log", unix.ELOOP},
		{"through-a-dangling-link", 0o755, "shared/dangling/log", unix.ENOENT},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, d := range []string{"real", "shared"} {
				must(t, os.Mkdir(filepath.Join(dir, d), 0o755))
			}
			must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
			for name, target := range map[string]string{"link": "../real", "loop": "loop", "dangling": "nowhere"} {
				must(t, os.Symlink(target, filepath.Join(dir, "shared", name)))
			}
			must(t, os.Chmod(filepath.Join(dir, "shared"), tt.mode))
			f, err := open(filepath.Join(dir, tt.path))
			if err == nil {
				defer f.Close()
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("open = %v, want %v", err, tt.want)
			}
		})
	}
}

// A link of another user in a shared directory. Only root can make one.
func TestOpenPlantedLink(t *testing.T) {
	t.Parallel()
	need.Root(t)
	dir := t.TempDir()
	shared := filepath.Join(dir, "shared")
	must(t, os.Mkdir(shared, 0o755))
	must(t, os.Chmod(shared, 0o777))
	must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	must(t, os.Symlink("../real", filepath.Join(shared, "link")))
	must(t, os.Lchown(filepath.Join(shared, "link"), 1234, 1234))
	must(t, os.WriteFile(filepath.Join(shared, "log"), []byte("theirs"), 0o666))
	must(t, os.Chown(filepath.Join(shared, "log"), 1234, 1234))
	for _, path := range []string{"link/log", "log"} {
		f, err := open(filepath.Join(shared, path))
		if !errors.Is(err, errPlanted) && !errors.Is(err, unix.EACCES) { // EACCES: fs.protected_symlinks, protected_regular
			t.Errorf("open(%s) = %v, %v; want %v", path, f, err, errPlanted)
		}
	}
	if got := read(t, filepath.Join(dir, "real", "log")); got != "" {
		t.Errorf("the link was followed: %q", got)
	}
}

func TestNoFile(t *testing.T) {
	t.Parallel()
	New(config.Log{}).Info("x")
	if _, err := open("relative"); err == nil {
		t.Error("open took a relative path")
	}
}

func BenchmarkFirstLine(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log")
	for b.Loop() {
		l := New(config.Log{File: path})
		l.WithField("id", "c1").Info("one GPU")
		if lazy, ok := l.Out.(*lazyFile); ok {
			_ = lazy.Close()
		}
	}
}
