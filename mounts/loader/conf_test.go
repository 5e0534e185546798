package loader

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mapFiles is a root in memory.
type mapFiles map[string]string

func (m mapFiles) read(name string) ([]byte, error) {
	text, ok := m[path.Clean(name)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (m mapFiles) names(dir string) ([]string, error) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if path.Dir(name) == path.Clean(dir) {
			names = append(names, path.Base(name))
		}
	}
	if names == nil {
		return nil, errors.New("no such directory")
	}
	return names, nil
}

func TestConfDirs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files mapFiles
		want  []string
	}{
		{name: "none"},
		{name: "empty", files: mapFiles{confPath: ""}},
		{name: "plain", files: mapFiles{confPath: "/a\n/b/c\n"}, want: []string{"/a", "/b/c"}},
		{name: "no last newline", files: mapFiles{confPath: "/a\n/b"}, want: []string{"/a", "/b"}},
		{name: "comments and space", files: mapFiles{confPath: "# /x\n \t/a # /y\n\n#\n"}, want: []string{"/a"}},
		{name: "trailing slashes", files: mapFiles{confPath: "/a//\n/\n"}, want: []string{"/a", "/"}},
		{name: "relative directories are none", files: mapFiles{confPath: "a/b\n"}},
		{name: "types", files: mapFiles{confPath: "/a=libc6\n"}, want: []string{"/a"}},
		{name: "hwcap", files: mapFiles{confPath: "hwcap 0 nosegneg\nHWCAP\t1 x\n/a\n"}, want: []string{"/a"}},
		{name: "twice", files: mapFiles{confPath: "/a\n/b\n/a/\n"}, want: []string{"/a", "/b"}},
		{
			name: "drop-ins in order",
			files: mapFiles{
				confPath:                      "/first\ninclude /etc/ld.so.conf.d/*.conf\n/last\n",
				"/etc/ld.so.conf.d/b.conf":    "/b\n",
				"/etc/ld.so.conf.d/a.conf":    "/a\n",
				"/etc/ld.so.conf.d/.x.conf":   "/hidden\n",
				"/etc/ld.so.conf.d/c.conf~":   "/backup\n",
				"/etc/ld.so.conf.d/000_n.con": "/other\n",
			},
			want: []string{"/first", "/a", "/b", "/last"},
		},
		{
			name:  "relative and several patterns",
			files: mapFiles{confPath: "include ld.so.conf.d/*.conf\tmore/?.x\n", "/etc/ld.so.conf.d/a.conf": "/a", "/etc/more/y.x": "/y"},
			want:  []string{"/a", "/y"},
		},
		{name: "one file", files: mapFiles{confPath: "include /x\n", "/x": "/a\n"}, want: []string{"/a"}},
		{name: "include without a pattern", files: mapFiles{confPath: "include\ninclude \n/a\n"}, want: []string{"/a"}},
		{name: "bad pattern", files: mapFiles{confPath: "include /etc/[\n/a\n", "/etc/x": "/x"}, want: []string{"/a"}},
		{name: "missing include", files: mapFiles{confPath: "include /nowhere/*.conf /nofile\n/a\n"}, want: []string{"/a"}},
		{name: "including itself", files: mapFiles{confPath: "include /etc/ld.so.conf\n/a\n"}, want: []string{"/a"}},
		{name: "carriage return", files: mapFiles{confPath: "/a\r\n/b\r\n"}, want: []string{"/a", "/b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, confDirs(tt.files)); diff != "" {
				t.Errorf("confDirs() differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfDirsFromRoot(t *testing.T) {
	t.Parallel()
	r := openRoot(t, plant(
		t,
		"file etc/ld.so.conf include /etc/ld.so.conf.d/*.conf|/z",
		"file etc/ld.so.conf.d/b.conf /b", "link etc/ld.so.conf.d/a.conf /etc/real",
		"file etc/real /a", "fifo etc/ld.so.conf.d/c.conf", "dir etc/ld.so.conf.d/d.conf",
		"link etc/ld.so.conf.d/e.conf /etc/ld.so.conf.d/e.conf",
	))
	if diff := cmp.Diff([]string{"/a", "/b", "/z"}, confDirs(rootFiles{r})); diff != "" {
		t.Errorf("confDirs() differs (-want +got):\n%s", diff)
	}
}

func FuzzConfDirs(f *testing.F) {
	f.Add("include /etc/ld.so.conf.d/*.conf\n/a\n", "/b=libc5 # x\nhwcap 1 y\n")
	f.Add("include ../*\ninclude a b\tc\n", "include /etc/ld.so.conf.d/a.conf\n")
	f.Add("include [ \\ ?\n", "\x00/\xff\n")
	f.Fuzz(func(t *testing.T, conf, dropIn string) {
		dirs := confDirs(mapFiles{confPath: conf, "/etc/ld.so.conf.d/a.conf": dropIn})
		if len(dirs) > maxConfDirs {
			t.Fatalf("%d directories", len(dirs))
		}
		for i, dir := range dirs {
			if !strings.HasPrefix(dir, "/") || slices.Contains(dirs[:i], dir) {
				t.Fatalf("confDirs() = %q", dirs)
			}
		}
	})
}

func TestWithInclude(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		conf string
		want string // "" = unchanged
	}{
		{name: "empty", want: includeLine + "\n"},
		{name: "Debian", conf: "include /etc/ld.so.conf.d/*.conf\n\n", want: includeLine + "\ninclude /etc/ld.so.conf.d/*.conf\n\n"},
		{name: "there", conf: includeLine + "\n/a\n"},
		{name: "there behind comments", conf: "# x\n\n  " + includeLine + " # y\n/a"},
		{name: "not first", conf: "/a\n" + includeLine + "\n/b\n", want: includeLine + "\n/a\n/b\n"},
		{name: "twice", conf: includeLine + "\n/a\n" + includeLine, want: includeLine + "\n/a\n"},
		{name: "in a comment", conf: "# " + includeLine + "\n", want: includeLine + "\n# " + includeLine + "\n"},
		{name: "no last newline", conf: "/a", want: includeLine + "\n/a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, changed := withInclude([]byte(tt.conf))
			if tt.want == "" {
				if changed || string(got) != tt.conf {
					t.Errorf("withInclude(%q) = %q, %v, want it unchanged", tt.conf, got, changed)
				}
				return
			}
			if string(got) != tt.want || !changed {
				t.Errorf("withInclude(%q) = %q, %v, want %q, true", tt.conf, got, changed, tt.want)
			}
		})
	}
}

func FuzzWithInclude(f *testing.F) {
	f.Add("include /etc/ld.so.conf.d/*.conf\n")
	f.Add(includeLine + "\n" + includeLine)
	f.Add("\x00#" + includeLine + "\r\n/a")
	f.Fuzz(func(t *testing.T, conf string) {
		got, _ := withInclude([]byte(conf))
		if again, changed := withInclude(got); changed {
			t.Fatalf("a second time %q becomes %q", got, again)
		}
		files := mapFiles{confPath: conf, dropInDir + "/" + dropInName: "/ours"}
		before := confDirs(files)
		files[confPath] = string(got)
		after := confDirs(files)
		if len(after) == 0 || after[0] != "/ours" {
			t.Fatalf("ours is not first in %q", after)
		}
		rest := slices.DeleteFunc(before, func(dir string) bool { return dir == "/ours" })
		if len(before) < maxConfDirs && !slices.Equal(rest, after[1:]) {
			t.Fatalf("the others were %q, are %q", rest, after[1:])
		}
	})
}
