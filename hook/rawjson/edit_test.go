package rawjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func raw(texts ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, t := range texts {
		out = append(out, json.RawMessage(t))
	}
	return out
}

func TestEdit(t *testing.T) {
	t.Parallel()
	devices := Change{Key: "linux", Members: []Change{
		{Key: "devices", Append: raw(`{"path":"/dev/x"}`)},
		{Key: "resources", Members: []Change{{Key: "devices", Append: raw(`1`, `2`)}}},
	}}
	tests := []struct {
		name    string
		text    string
		changes []Change
		want    string
	}{
		{"nothing", ` {"a" : 1e400 } `, nil, ` {"a" : 1e400 } `},
		{"nothing-to-add", `{"a":1}`, []Change{{Key: "b"}, {Key: "c", Members: []Change{{Key: "d"}}}}, `{"a":1}`},
		{"into-empty", `{}`, []Change{devices}, `{"linux":{"devices":[{"path":"/dev/x"}],"resources":{"devices":[1,2]}}}`},
		{"into-empty-spaced", "{ \n}", []Change{{Key: "a", Append: raw("1")}}, "{\"a\":[1] \n}"},
		{"behind-others", `{"z":1, "linux": {"y": [ ]} }`, []Change{devices}, `{"z":1, "linux": {"y": [ ],"devices":[{"path":"/dev/x"}],"resources":{"devices":[1,2]}} }`},
		{"append", `{"linux":{"resources":{"devices":[ 0 ]},"devices":[]}}`, []Change{devices}, `{"linux":{"resources":{"devices":[ 0,1,2 ]},"devices":[{"path":"/dev/x"}]}}`},
		{"null", `{"linux":{"resources":null,"devices":null}}`, []Change{devices}, `{"linux":{"resources":{"devices":[1,2]},"devices":[{"path":"/dev/x"}]}}`},
		{"null-parent", `{"linux": null}`, []Change{devices}, `{"linux": {"devices":[{"path":"/dev/x"}],"resources":{"devices":[1,2]}}}`},
		{"replace", `{"e":["a", "b","c"]}`, []Change{{Key: "e", Replace: map[int]json.RawMessage{1: []byte(`"x"`), 7: []byte(`"y"`)}, Append: raw(`"d"`)}}, `{"e":["a", "x","c","d"]}`},
		{"replace-last", `{"e":["a"]}`, []Change{{Key: "e", Replace: map[int]json.RawMessage{0: []byte(`"x"`)}, Append: raw(`"d"`)}}, `{"e":["x","d"]}`},
		{"escaped-key", `{"li\u006eux":{"devices":[]}}`, []Change{{Key: "linux", Members: []Change{{Key: "devices", Append: raw("1")}}}}, `{"li\u006eux":{"devices":[1]}}`},
		{"brackets-in-strings", `{"a":"]}\"[{","b":[ "]" , [1,[2]] ]}`, []Change{{Key: "b", Append: raw("3")}}, `{"a":"]}\"[{","b":[ "]" , [1,[2]],3 ]}`},
		{"repeated-elsewhere", `{"x":1,"x":2,"b":[]}`, []Change{{Key: "b", Append: raw("3")}}, `{"x":1,"x":2,"b":[3]}`},
		{"not-utf8", "{\"x\":\"\xff\",\"b\":[]}", []Change{{Key: "b", Append: raw("3")}}, "{\"x\":\"\xff\",\"b\":[3]}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := strings.Clone(tt.text)
			got, err := Edit([]byte(tt.text), tt.changes...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("Edit (-want +got):\n%s", diff)
			}
			if tt.text != before {
				t.Errorf("the text changed: %q", tt.text)
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	c := Change{Key: "linux", Members: []Change{{Key: "devices", Append: raw("1")}}}
	tests := []struct {
		name, text string
		want       string
	}{
		{"empty", ``, "the text is not an object"},
		{"list", `[]`, "the text is not an object"},
		{"object-is-list", `{"linux":[]}`, "linux is not an object"},
		{"list-is-object", `{"linux":{"devices":{}}}`, "linux.devices is not a list"},
		{"list-is-text", `{"linux":{"devices":"x"}}`, "linux.devices is not a list"},
		{"twice", `{"linux":{},"linux":{}}`, "linux stands there twice"},
		{"twice-escaped", `{"linux":{},"linu\u0078":{}}`, "linux stands there twice"},
		{"twice-below", `{"linux":{"devices":[],"devices":[]}}`, "linux.devices stands there twice"},
		{"another-case", `{"Linux":{}}`, "linux stands there twice or in another spelling"},
		{"both-cases", `{"linux":{},"LINUX":{}}`, "linux stands there twice or in another spelling"},
		{"open", `{"linux":{"devices":[`, "not JSON"},
		{"open-string", `{"linux`, "not JSON"},
		{"no-colon", `{"linux" {}}`, "not JSON"},
		{"no-comma", `{"a":1 "linux":{}}`, "not JSON"},
		{"key-is-number", `{1:2}`, "not JSON"},
		{"wrong-end", `{"linux":{"devices":[1}}`, "not JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Edit([]byte(tt.text), c)
			if err == nil || got != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Edit(%q) = %q, %v; want an error with %q", tt.text, got, err, tt.want)
			}
		})
	}
	var key *KeyError
	if _, err := Edit([]byte(`{"Linux":{}}`), c); !errors.As(err, &key) || key.Cure() == "" {
		t.Errorf("Edit = %v, want a KeyError with its cure", err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	const text = `{"hooks": {"prestart": [ {"path":"/x"} ], "n": null}}`
	for _, tt := range []struct {
		name string
		keys []string
		want string
	}{
		{"whole", nil, text},
		{"list", []string{"hooks", "prestart"}, `[ {"path":"/x"} ]`},
		{"null", []string{"hooks", "n"}, `null`},
		{"missing", []string{"hooks", "x"}, ""},
		{"below-missing", []string{"x", "y"}, ""},
		{"below-null", []string{"hooks", "n", "x"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Find([]byte(text), tt.keys...)
			if err != nil || string(got) != tt.want {
				t.Errorf("Find(%q) = %q, %v, want %q", tt.keys, got, err, tt.want)
			}
		})
	}
	if got, err := Find([]byte(text), "hooks", "prestart", "x"); err == nil {
		t.Errorf("Find below a list = %q, want an error", got)
	}
}

func TestDeepTextCostsNoStack(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 5_000_000) + strings.Repeat("]", 5_000_000)
	got, err := Edit([]byte(`{"x":`+deep+`,"b":[]}`), Change{Key: "b", Append: raw("1")})
	if err != nil || !strings.HasSuffix(string(got), `,"b":[1]}`) {
		t.Errorf("Edit = %d bytes, %v", len(got), err)
	}
}
