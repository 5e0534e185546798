package archive

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unpack lists an archive's members: type, mode and content or target.
func unpack(t *testing.T, data []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s belongs to %d:%d and is of %v, want root and the epoch", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		out[h.Name] = h.FileInfo().Mode().String() + " " + string(text) + h.Linkname
	}
}

func write(t *testing.T, image Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, image); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWrite(t *testing.T) {
	t.Parallel()
	image := Image{
		Tag: "localhost/x:1", Architecture: "amd64", Entrypoint: []string{"/bin/b"}, Env: []string{"PATH=/bin"},
		Files: []File{
			{Path: "/bin/b", Data: []byte("program"), Executable: true},
			{Path: "etc/empty"},
			{Path: "/bin/a", Target: "b"},
			{Path: "/tmp", Dir: true},
		},
	}
	data := write(t, image)
	got := unpack(t, data)
	layer := unpack(t, []byte(strings.TrimPrefix(got["layer.tar"], "-rw-r--r-- ")))
	want := map[string]string{
		"bin/": "drwxr-xr-x ", "bin/a": "Lrwxrwxrwx b", "bin/b": "-rwxr-xr-x program",
		"etc/": "drwxr-xr-x ", "etc/empty": "-rw-r--r-- ", "tmp/": "drwxr-xr-x ",
	}
	if diff := cmp.Diff(want, layer); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(got["manifest.json"], "-rw-r--r-- ")), &manifest); err != nil {
		t.Fatal(err)
	}
	config := strings.TrimPrefix(got[manifest[0].Config], "-rw-r--r-- ")
	if !strings.Contains(config, `"Entrypoint":["/bin/b"]`) || !strings.HasPrefix(manifest[0].Config, digest([]byte(config))) {
		t.Errorf("configuration %s under the name %s", config, manifest[0].Config)
	}
	if !strings.Contains(config, digest([]byte(strings.TrimPrefix(got["layer.tar"], "-rw-r--r-- ")))) {
		t.Errorf("configuration %s does not name the layer's digest", config)
	}
	if again := write(t, image); !bytes.Equal(again, data) {
		t.Error("the same files gave other bytes")
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files []File
		want  string
	}{
		{"twice", []File{{Path: "/a"}, {Path: "a"}}, "/a is there twice"},
		{"below a file", []File{{Path: "/a"}, {Path: "/a/b"}}, "/a/b is in /a, which is no directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Write(io.Discard, Image{Files: tt.files})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Write(%v) = %v, want %q", tt.files, err, tt.want)
			}
		})
	}
}
