package loader

import (
	"slices"
	"strings"
	"testing"
)

func TestWithMuslDirs(t *testing.T) {
	t.Parallel()
	ours := []string{"/usr/local/nvidia/lib64"}
	tests := []struct {
		name        string
		text        string
		missing     bool
		dirs        []string
		want        string
		wantChanged bool
	}{
		{name: "missing", missing: true, dirs: ours, want: "/lib\n/usr/local/lib\n/usr/lib\n/usr/local/nvidia/lib64\n", wantChanged: true},
		{name: "empty stays empty but for ours", dirs: ours, want: "/usr/local/nvidia/lib64\n", wantChanged: true},
		{name: "lines", text: "/lib\n/usr/lib\n", dirs: ours, want: "/lib\n/usr/lib\n/usr/local/nvidia/lib64\n", wantChanged: true},
		{name: "colons, no last newline", text: "/lib:/usr/lib", dirs: ours, want: "/lib:/usr/lib\n/usr/local/nvidia/lib64\n", wantChanged: true},
		{name: "there", text: "/lib\n/usr/local/nvidia/lib64\n", dirs: ours, want: "/lib\n/usr/local/nvidia/lib64\n"},
		{name: "there between colons", text: "/usr/local/nvidia/lib64:/lib", dirs: ours, want: "/usr/local/nvidia/lib64:/lib"},
		{name: "another by the end of its name", text: "/opt/usr/local/nvidia/lib64\n", dirs: ours, want: "/opt/usr/local/nvidia/lib64\n/usr/local/nvidia/lib64\n", wantChanged: true},
		{name: "space belongs to the name", text: " /usr/local/nvidia/lib64\n", dirs: ours, want: " /usr/local/nvidia/lib64\n/usr/local/nvidia/lib64\n", wantChanged: true},
		{name: "two", text: "/lib\n", dirs: []string{"/a", "/b", "/a"}, want: "/lib\n/a\n/b\n", wantChanged: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, changed := withMuslDirs(tt.text, !tt.missing, tt.dirs)
			if got != tt.want || changed != tt.wantChanged {
				t.Errorf("withMuslDirs(%q) = %q, %v, want %q, %v", tt.text, got, changed, tt.want, tt.wantChanged)
			}
		})
	}
}

func FuzzWithMuslDirs(f *testing.F) {
	f.Add("/lib:/usr/lib\n")
	f.Add("")
	f.Add("\n::\n/usr/local/nvidia/lib64")
	f.Add("/lib\x00\r\n \xff")
	f.Fuzz(func(t *testing.T, text string) {
		const ours = "/usr/local/nvidia/lib64"
		got, changed := withMuslDirs(text, true, []string{ours})
		if changed == slices.Contains(muslDirs(text), ours) {
			t.Fatalf("changed = %v for %q", changed, text)
		}
		dirs := muslDirs(got)
		if !slices.Contains(dirs, ours) || !strings.HasPrefix(got, text) {
			t.Fatalf("withMuslDirs(%q) = %q", text, got)
		}
		if !slices.Equal(dirs[:len(muslDirs(text))], muslDirs(text)) {
			t.Fatalf("the image's directories were %q, are %q", muslDirs(text), dirs)
		}
		if _, changed := withMuslDirs(got, true, []string{ours}); changed {
			t.Fatalf("a second time %q changes", got)
		}
	})
}
