package lab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDebianSource(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, text string
		want             source
		fails            bool
	}{
		{
			name: "deb822", file: "sources.list.d/debian.sources",
			text: "Types: deb\n# a comment\nURIs: http://archive.invalid/debian\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-By: /usr/share/keyrings/k.gpg\n",
			want: source{"http://archive.invalid/debian", "/usr/share/keyrings/k.gpg"},
		},
		{
			name: "security stanza first", file: "sources.list.d/debian.sources",
			text: "Types: deb\nURIs: http://security.invalid\nSuites: bookworm-security\nComponents: main\n\nTypes: deb\nURIs: http://archive.invalid\nSuites: trixie\nComponents: main contrib\n",
			want: source{uri: "http://archive.invalid"},
		},
		{
			name: "one line", file: "sources.list",
			text: "# deb http://commented.invalid bookworm main\ndeb-src http://source.invalid bookworm main\ndeb http://archive.invalid/debian bookworm main contrib\n",
			want: source{uri: "http://archive.invalid/debian"},
		},
		{
			name: "one line with options", file: "sources.list",
			text: "deb [arch=amd64 signed-by=/k.gpg] http://archive.invalid stable main\n",
			want: source{"http://archive.invalid", "/k.gpg"},
		},
		{name: "another vendor", file: "sources.list", text: "deb http://vendor.invalid noble main\n", fails: true},
		{name: "no main", file: "sources.list", text: "deb http://archive.invalid bookworm non-free\n", fails: true},
		{name: "empty", file: "sources.list", fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			Write(t, filepath.Join(dir, tt.file), tt.text)
			got, err := debianSource(dir)
			if (err != nil) != tt.fails {
				t.Fatalf("debianSource: %v, want an error: %v", err, tt.fails)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(source{})); diff != "" {
				t.Errorf("debianSource (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzSources(f *testing.F) {
	f.Add("Types: deb\nURIs: http://a\nSuites: sid\nComponents: main\n\n: \nURIs:\n")
	f.Add("deb [signed-by=x] http://a sid main\ndeb [ http://a\ndeb ]\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range append(stanzas(text), oneLine(text)...) {
			if e.uri == "" {
				t.Errorf("a source without an address in %q", text)
			}
		}
	})
}

func TestTreeSeesChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(dir string) error
		want   bool
	}{
		{name: "nothing", change: func(string) error { return nil }, want: true},
		{name: "content", change: func(dir string) error { return os.WriteFile(dir+"/file", []byte("TEXT"), 0o644) }},
		{name: "mode", change: func(dir string) error { return os.Chmod(dir+"/file", 0o600) }},
		{name: "new file", change: func(dir string) error { return os.WriteFile(dir+"/more", nil, 0o644) }},
		{name: "removed", change: func(dir string) error { return os.Remove(dir + "/file") }},
		{name: "made and removed again", change: func(dir string) error {
			if err := os.Mkdir(dir+"/x", 0o755); err != nil {
				return err
			}
			return os.Remove(dir + "/x")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			Write(t, dir+"/file", "text")
			before := Tree(t, dir)
			if err := tt.change(dir); err != nil {
				t.Fatal(err)
			}
			if got := cmp.Equal(before, Tree(t, dir)); got != tt.want {
				t.Errorf("the descriptions are equal: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	Write(t, dir+"/usr/lib/libcuda.so.1", "")
	Write(t, dir+"/usr/bin/nvidia-smi", "not empty")
	Write(t, dir+"/etc/other", "")
	Link(t, "/nowhere", dir+"/usr/lib/libnvidia-ml.so.1")
	want := []string{"/usr/lib/libcuda.so.1"}
	if diff := cmp.Diff(want, Leftovers(t, dir)); diff != "" {
		t.Errorf("Leftovers (-want +got):\n%s", diff)
	}
}

func TestParseFacts(t *testing.T) {
	t.Parallel()
	text := "noise\n{\"op\": \"open\", \"arg\": \"/dev/null\", \"errno\": 6}\n{\"op\": \"driver\", \"arg\": \"l\", \"path\": \"/l\", \"code\": 0, \"value\": 12020}\n"
	want := Facts{
		"open:/dev/null": {Op: "open", Arg: "/dev/null", Errno: 6},
		"driver:l":       {Op: "driver", Arg: "l", Path: "/l", Value: 12020},
	}
	if diff := cmp.Diff(want, ParseFacts(t, text)); diff != "" {
		t.Errorf("ParseFacts (-want +got):\n%s", diff)
	}
}

func TestAttempt(t *testing.T) {
	t.Parallel()
	if got := Attempt(t, func(t T) { t.Skipf("need %s", "x") }); got != "need x" {
		t.Errorf("Attempt = %q, want %q", got, "need x")
	}
	if got := Attempt(t, func(T) {}); got != "" {
		t.Errorf("Attempt = %q, want nothing", got)
	}
}
