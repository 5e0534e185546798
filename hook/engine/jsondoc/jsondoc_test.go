package jsondoc

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSetAndRemove(t *testing.T) {
	t.Parallel()
	value := Object{{"p", "<x>"}, {"q", Raw("[1]")}}
	tests := []struct {
		name, text string
		path       []string
		want       string
	}{
		{"empty-file", "", nil, "{\n  \"k\": {\n    \"p\": \"<x>\",\n    \"q\": [1]\n  }\n}\n"},
		{"empty-object", "{}", nil, "{\n  \"k\": {\n    \"p\": \"<x>\",\n    \"q\": [1]\n  }\n}"},
		{"empty-with-line", "{\r\n}\r\n", nil, "{\r\n  \"k\": {\r\n    \"p\": \"<x>\",\r\n    \"q\": [1]\r\n  }\r\n}\r\n"},
		{"one-line", `{"a": 1}`, nil, `{"a": 1, "k": {"p": "<x>", "q": [1]}}`},
		{"four-spaces", "{\n    \"a\": 1\n}", nil, "{\n    \"a\": 1,\n    \"k\": {\n        \"p\": \"<x>\",\n        \"q\": [1]\n    }\n}"},
		{"comma-first", "{\n  \"a\": 1\n  , \"b\": 2}", nil, "{\n  \"a\": 1\n  , \"b\": 2, \"k\": {\"p\": \"<x>\", \"q\": [1]}}"},
		{"below", "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}", []string{"a"}, "{\n\t\"a\": {\n\t\t\"b\": 1,\n\t\t\"k\": {\n\t\t\t\"p\": \"<x>\",\n\t\t\t\"q\": [1]\n\t\t}\n\t}\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			got := d.Set(value, "k", tt.path...)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Fatalf("Set (-want +got):\n%s", diff)
			}
			again, err := Parse(got)
			if err != nil {
				t.Fatal(err)
			}
			if back := again.Remove("k", tt.path...); d.Root().Len() > 0 && string(back) != tt.text {
				t.Errorf("Remove gives %q", back)
			}
		})
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte("{ \"a\" : 1.50 ,\n\"b\":[ ] }"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(d.Set("x", "a")), "{ \"a\" : \"x\" ,\n\"b\":[ ] }"; got != want {
		t.Errorf("Set = %q, want %q", got, want)
	}
	if got, want := string(d.Remove("a")), "{ \"b\":[ ] }"; got != want {
		t.Errorf("Remove = %q, want %q", got, want)
	}
	if got := string(d.Remove("nothing")); got != "{ \"a\" : 1.50 ,\n\"b\":[ ] }" {
		t.Errorf("Remove of nothing = %q", got)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte("\xef\xbb\xbf{\"a\": {\"b\\u0063\": \"x\\ny\"},\n\"n\": 1}"))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := d.Text(d.Find("a", "bc")); !ok || got != "x\ny" {
		t.Errorf("Text = %q, %v", got, ok)
	}
	for _, n := range []*Node{d.Find("n"), d.Find("a"), d.Find("a", "x"), d.Find("n", "x"), nil} {
		if got, ok := d.Text(n); ok {
			t.Errorf("Text = %q", got)
		}
	}
	if got := d.LineOf(d.Find("n")); got != 2 {
		t.Errorf("LineOf = %d, want 2", got)
	}
	if d.Raw(d.Find("n")) != "1" || d.Raw(nil) != "" || !d.Find("a").IsObject() || d.Find("n").IsObject() || d.Find("x").Len() != 0 {
		t.Error("Raw, IsObject or Len is wrong")
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, line := range map[string]int{"[]": 1, "1": 1, "{\n\n": 2, "{\n\"a\"}": 2, "{}x": 1, "\f": 1, "{\"a\":{\n\"b\":1,\n\"b\":2}}": 3} {
		d, err := Parse([]byte(text))
		var s *SyntaxError
		if d != nil || !errors.As(err, &s) || s.Line != line {
			t.Errorf("Parse(%q) = %v, %v; want line %d", text, d, err, line)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("{\"a\":", 20000))); err == nil {
		t.Error("Parse took 20000 levels")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "{}", "{\"a\":{\"b\":[1,{}]}}", "\xef\xbb\xbf{\n}", "{\"k\":1}", "{\"\\ud800\":\"\\\\\\\"\"}", "{//\n}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if (d == nil) != (err != nil) {
			t.Fatalf("Parse = %v, %v", d, err)
		}
		if err != nil {
			return
		}
		before := map[string]any{}
		if d.Root() != nil {
			if err := json.Unmarshal([]byte(d.Raw(d.Root())), &before); err != nil {
				t.Fatal(err)
			}
		}
		edited := d.Set(Object{{"x", "y"}}, "k")
		after, err := Parse(edited)
		if err != nil {
			t.Fatalf("Set gives %q: %v", edited, err)
		}
		removed, err := Parse(after.Remove("k"))
		if err != nil {
			t.Fatalf("Remove: %v", err)
		}
		got := map[string]any{}
		if err := json.Unmarshal([]byte(removed.Raw(removed.Root())), &got); err != nil {
			t.Fatal(err)
		}
		delete(before, "k")
		if !reflect.DeepEqual(before, got) {
			t.Fatalf("%q became %q", data, edited)
		}
	})
}
