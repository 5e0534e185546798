package engines

import (
	"bytes"
	_ "embed" // The pause program is compiled from its source at test time.
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
	"github.com/gpu-hook/gpu-hook/packaging/image/archive"
)

// The images, as engines know them.
const (
	baseImage  = "localhost/base:1"
	pauseImage = "localhost/pause:1"
)

//go:embed testdata/pause.c
var pauseSource string

// images are docker-archives: one layer, a configuration and a manifest each.
type images struct{ base, pause, root string }

// makeImages makes the image that the tests run, this machine's C library with
// witness and busybox, and the one of a pod's first container.
func makeImages(t *testing.T) images {
	t.Helper()
	need.CC(t)
	dir := lab.Temp(t)
	root := lab.Root(t, lab.Glibc)
	lab.Write(t, root+"/bin/probe", probe)
	if err := os.Chmod(root+"/bin/probe", 0o755); err != nil {
		t.Fatal(err)
	}
	made := images{base: dir + "/base.tar", pause: dir + "/pause.tar", root: root}
	save(t, made.base, baseImage, root, []string{"/bin/sleep", "1000"})

	pause := dir + "/pause"
	lab.Write(t, dir+"/pause.c", pauseSource)
	if err := os.Mkdir(pause, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-static", "-Os", "-s", "-o", pause+"/pause", dir+"/pause.c").CombinedOutput(); err != nil {
		t.Fatalf("compile pause: %v\n%s", err, out)
	}
	save(t, made.pause, pauseImage, pause, []string{"/pause"})
	return made
}

// save writes a tree as an image with one tag.
func save(t *testing.T, file, tag, root string, command []string) {
	t.Helper()
	image := archive.Image{
		Tag: tag, Architecture: runtime.GOARCH, Command: command,
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	check(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f := archive.File{Path: strings.TrimPrefix(path, root), Dir: e.IsDir(), Executable: info.Mode()&0o100 != 0}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			f.Target, err = os.Readlink(path)
		case info.Mode().IsRegular():
			f.Data, err = os.ReadFile(path)
		}
		image.Files = append(image.Files, f)
		return err
	}))
	var out bytes.Buffer
	check(t, archive.Write(&out, image))
	check(t, os.WriteFile(file, out.Bytes(), 0o644))
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	check(t, err)
	return text
}

func decode[V any](t *testing.T, text string) V {
	t.Helper()
	var v V
	check(t, json.Unmarshal([]byte(text), &v))
	return v
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
