package textdiff

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnified(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		old, updated []byte
		want         string
	}{
		{"same", []byte("a\n"), []byte("a\n"), ""},
		{"new", nil, []byte("a\n"), "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n"},
		{"gone", []byte("a\n"), nil, "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"},
		{"no-line-end", []byte("a"), []byte("a\nb\n"), "--- a/f\n+++ b/f\n@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"},
		{"middle", []byte("1\n2\n3\n4\n5\n6\n7\n8\n"), []byte("1\n2\n3\n4\nx\n5\n6\n7\n8\n"), "--- a/f\n+++ b/f\n@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n"},
		{
			"two-hunks", []byte("a\n1\n2\n3\n4\n5\n6\n7\nb\n"), []byte("A\n1\n2\n3\n4\n5\n6\n7\nB\n"),
			"--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Unified("/f", tt.old, tt.updated)); diff != "" {
				t.Errorf("Unified (-want +got):\n%s", diff)
			}
		})
	}
}

// apply is what patch does, for this package's own output.
func apply(old []byte, diff string) []byte {
	lines, out := split(old), []string{}
	at := 0
	text := strings.SplitAfter(diff, "\n")
	for i := 2; i < len(text); i++ {
		switch line := text[i]; {
		case strings.HasPrefix(line, "@@"):
			var start int
			for _, c := range strings.SplitN(line[4:], ",", 2)[0] {
				start = start*10 + int(c-'0')
			}
			if strings.Contains(line, ",0 +") {
				start++
			}
			for ; at < start-1; at++ {
				out = append(out, lines[at])
			}
		case strings.HasPrefix(line, "\\"):
			out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], "\n")
		case strings.HasPrefix(line, "-"):
			at++
			if i+1 < len(text) && strings.HasPrefix(text[i+1], "\\") {
				i++
			}
		case line != "":
			out = append(out, line[1:])
			if line[0] == ' ' {
				at++
			}
		}
	}
	return []byte(strings.Join(append(out, lines[min(at, len(lines)):]...), ""))
}

func FuzzUnified(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("b\nc"))
	f.Add([]byte(""), []byte("x"))
	f.Add([]byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), []byte("1\n3\n4\n5\n6\n7\n8\n0\n9"))
	f.Fuzz(func(t *testing.T, old, updated []byte) {
		diff := Unified("f", old, updated)
		if (diff == "") != (bytes.Equal(old, updated) && (old == nil) == (updated == nil)) {
			t.Fatalf("Unified(%q, %q) = %q", old, updated, diff)
		}
		if got := apply(old, diff); diff != "" && !bytes.Equal(got, updated) {
			t.Fatalf("%q patched with\n%s is %q, want %q", old, diff, got, updated)
		}
	})
}

// The real patch agrees, where there is one.
func TestPatchTakesIt(t *testing.T) {
	t.Parallel()
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("no patch on this machine")
	}
	old, updated := []byte("a\n1\n2\n3\n4\n5\n6\n7\nb"), []byte("1\n2\n3\n4\nx\n5\n6\n7\nb\nc\n")
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, old, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), patch, "-s", name)
	cmd.Stdin = strings.NewReader("# a remark\n" + Unified("f", old, updated) + "# another\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("patch: %v\n%s", err, out)
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, updated) {
		t.Errorf("patched to %q, %v", got, err)
	}
}

// Very long files get a coarse difference, and a right one.
func TestCoarse(t *testing.T) {
	t.Parallel()
	old := bytes.Repeat([]byte("x\ny\n"), 1500)
	updated := bytes.Repeat([]byte("y\nx\nz\n"), 1500)
	if got := apply(old, Unified("f", old, updated)); !bytes.Equal(got, updated) {
		t.Error("the difference of long files is wrong")
	}
}
