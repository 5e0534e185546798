package tomldoc

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, text string) *Doc {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func restore(t *testing.T, text []byte) string {
	t.Helper()
	got, err := parse(t, string(text)).Restore()
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestAppend(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"empty", "", begin + "\n[x]\ny = 1\n" + end + "\n"},
		{"ended", "a = 1\n", "a = 1\n" + begin + "\n[x]\ny = 1\n" + end + "\n"},
		{"unended", "a = 1", "a = 1\n" + joined + "\n[x]\ny = 1\n" + end + "\n"},
		{"crlf", "a = 1\r\nb = 2", "a = 1\r\nb = 2\r\n" + joined + "\r\n[x]\r\ny = 1\r\n" + end + "\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, tt.text).Append([]string{"[x]", "y = 1"})
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("Append (-want +got):\n%s", diff)
			}
			if back := restore(t, got); back != tt.text {
				t.Errorf("Restore = %q, want %q", back, tt.text)
			}
		})
	}
}

func TestInsertAndReplace(t *testing.T) {
	t.Parallel()
	const text = "[a.\"b.c\"] # head\n\t key = \"old\" # why\n  [a.'b.c'.d]\n  n = 1"
	d := parse(t, text)
	got := d.Insert([]string{"z = 1"}, "a", "b.c", "d")
	want := "[a.\"b.c\"] # head\n\t key = \"old\" # why\n  [a.'b.c'.d]\n  " + begin + "\n  z = 1\n  " + end + "\n  n = 1"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Insert (-want +got):\n%s", diff)
	}
	if back := restore(t, got); back != text {
		t.Errorf("Restore = %q", back)
	}
	got, ok := d.Replace(`"new"`, "a", "b.c", "key")
	want = "[a.\"b.c\"] # head\n\t # gpu-hook was: key = \"old\" # why\n\t key = \"new\"\n  [a.'b.c'.d]\n  n = 1"
	if diff := cmp.Diff(want, string(got)); diff != "" || !ok {
		t.Errorf("Replace (-want +got):\n%s", diff)
	}
	if back := restore(t, got); back != text {
		t.Errorf("Restore = %q", back)
	}
	if got, ok := parse(t, string(got)).Replace("1", "a", "b.c", "nothing"); ok {
		t.Errorf("Replace of nothing = %q", got)
	}
	if got := string(parse(t, "[x]").Insert([]string{"y = 1"}, "x")); restore(t, []byte(got)) != "[x]" {
		t.Errorf("Insert below an unended header = %q", got)
	}
	if _, ok := parse(t, "k = \"\"\"\na\"\"\"\n").Replace("1", "k"); ok {
		t.Error("Replace took a value of two lines")
	}
	if _, ok := parse(t, "[[a]]\nk = 1\n").Replace("1", "a", "k"); ok {
		t.Error("Replace took a key of one of many tables")
	}
}

func TestDottedKeys(t *testing.T) {
	t.Parallel()
	const text = "[a]\nb . \"c d\" = 1 # x\n"
	got, ok := parse(t, text).Replace("2", "a", "b", "c d")
	if want := "[a]\n" + was + "b . \"c d\" = 1 # x\nb . \"c d\" = 2\n"; !ok || string(got) != want {
		t.Errorf("Replace = %q, want %q", got, want)
	}
	if back := restore(t, got); back != text {
		t.Errorf("Restore = %q", back)
	}
}

func TestRestoreMeets(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"nothing-of-ours", "# gpu-hook end\na = 1 # gpu-hook was: x\n", "# gpu-hook end\na = 1 # gpu-hook was: x\n"},
		{"in-a-string", "a = '''\n" + begin + "\n'''\n", "a = '''\n" + begin + "\n'''\n"},
		{"kept-line-alone", was + "a = 1\n\nb = 2\n", "\nb = 2\n"},
		{"two-blocks", begin + "\na = 1\n" + end + "\nb = 2\n" + begin + "\nc = 1\n" + end + "\n", "b = 2\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := restore(t, []byte(tt.text)); got != tt.want {
				t.Errorf("Restore = %q, want %q", got, tt.want)
			}
		})
	}
	for text, line := range map[string]int{"a = 1\n" + begin + "\n": 2, begin + "\n\n" + joined + "\n" + end + "\n": 1} {
		_, err := parse(t, text).Restore()
		var s *SyntaxError
		if !errors.As(err, &s) || s.Line != line {
			t.Errorf("Restore(%q): %v, want line %d", text, err, line)
		}
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	d := parse(t, "[a]\nx = 1\n# about b\n[a.b]\ny = [\n 1,\n]\n[a.b.c]\nz = 1\n\n[d]\n")
	if got := string(d.RemoveTable("a", "b")); got != "[a]\nx = 1\n# about b\n\n[d]\n" {
		t.Errorf("RemoveTable = %q", got)
	}
	if got := string(d.RemoveKey("a", "b", "y")); got != "[a]\nx = 1\n# about b\n[a.b]\n[a.b.c]\nz = 1\n\n[d]\n" {
		t.Errorf("RemoveKey = %q", got)
	}
	if d.Line("a", "b") != 4 || d.Line("nothing") != 0 || d.Get("a", "b", "c", "z") != int64(1) || d.Get("a", "x", "y") != nil || !d.HasHeader("d") || d.HasHeader("a", "x") {
		t.Error("Line, Get or HasHeader is wrong")
	}
	kept := parse(t, was+"x = 1\nx = 2\n")
	if got := string(kept.DropKept("x")); got != "x = 2\n" {
		t.Errorf("DropKept = %q", got)
	}
	if got := string(kept.DropKept("y")); got != was+"x = 1\nx = 2\n" {
		t.Errorf("DropKept of nothing = %q", got)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, line := range map[string]int{"a = \n": 1, "[a]\n\n[a]\n": 3, "a = 1\na = 2\n": 2, "x = 1\n{{ if .X }}\n": 2, "a = 1\rb = 2": 1, "\xff = 1": 1} {
		d, err := Parse([]byte(text))
		var s *SyntaxError
		if d != nil || !errors.As(err, &s) || s.Line != line {
			t.Errorf("Parse(%q) = %v, %v; want line %d", text, d, err, line)
		}
	}
}

func FuzzEdit(f *testing.F) {
	for _, text := range []string{"", "a = 1", "[a]\nk = \"x\" # y\r\n[a.b]\n", "[[a]]\nk = 1\n", "a = {b = [1, {}]}\n# c\n", begin + "\n" + end + "\n", was + "k = 1\nk = 2\n", "a.k = '''\n'''\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse([]byte(text))
		if (d == nil) != (err != nil) {
			t.Fatalf("Parse = %v, %v", d, err)
		}
		if err != nil {
			return
		}
		if _, err := d.Restore(); err != nil || strings.Contains(text, "gpu-hook") {
			return
		}
		edits := [][]byte{d.Append([]string{"[gpu-hook-test]", "x = 1"})}
		if data, ok := d.Replace(`"new"`, "a", "k"); ok {
			edits = append(edits, data)
		}
		if d.HasHeader("a") {
			edits = append(edits, d.Insert([]string{"gpu-hook-key = 1"}, "a"))
		}
		for _, edited := range edits {
			after, err := Parse(edited)
			if err != nil {
				t.Fatalf("%q became %q: %v", text, edited, err)
			}
			back, err := after.Restore()
			if err != nil || string(back) != text {
				t.Fatalf("%q became %q and then %q: %v", text, edited, back, err)
			}
		}
		if again, err := Parse(d.RemoveTable("gpu-hook-test")); err != nil || len(again.Tree) != len(d.Tree) && !reflect.ValueOf(again.Tree).IsZero() {
			t.Fatalf("RemoveTable of nothing: %v", err)
		}
	})
}
