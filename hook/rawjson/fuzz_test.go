package rawjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// decode reads JSON with numbers as they are written.
func decode(text []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	err := d.Decode(&v)
	return v, err
}

// FuzzEdit adds to any object and compares what both texts mean: all that was
// there is still there, and only what was added is new.
func FuzzEdit(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"linux":{"devices":[1,2]},"x":1e400}`, `{"linux":null}`, `{"linux":{"devices":null},"big":123456789012345678901234567890}`,
		` {"a":"\"}]","linux" : { "devices" : [ ] } } `, `{"linux":{"resources":{}}}`, `{"linux":{},"Linux":{}}`, `{"linux":{"devices":[`, `[]`, `{"linux":[]}`,
	} {
		f.Add([]byte(seed))
	}
	change := Change{Key: "linux", Members: []Change{
		{Key: "devices", Append: raw(`{"path":"/dev/nvidia0"}`, `7`)},
		{Key: "resources", Members: []Change{{Key: "devices", Append: raw(`true`)}}},
	}}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Edit(text, change)
		if err != nil {
			if got != nil {
				t.Fatalf("Edit gives a text and %v", err)
			}
			return
		}
		before, errBefore := decode(text)
		if errBefore != nil || !json.Valid(text) {
			return // the caller decodes before it edits
		}
		after, err := decode(got)
		if err != nil {
			t.Fatalf("Edit(%q) = %q, which is no JSON: %v", text, got, err)
		}
		if takeOff(t, after); !reflect.DeepEqual(withoutEmpty(before), withoutEmpty(after)) {
			t.Errorf("Edit(%q) = %q, which means something else", text, got)
		}
	})
}

// takeOff removes what was added.
func takeOff(t *testing.T, v map[string]any) {
	linux, ok := v["linux"].(map[string]any)
	if !ok {
		t.Fatalf("no linux in %v", v)
	}
	list, ok := linux["devices"].([]any)
	if !ok || len(list) < 2 || !reflect.DeepEqual(list[len(list)-2:], []any{map[string]any{"path": "/dev/nvidia0"}, json.Number("7")}) {
		t.Fatalf("linux.devices = %v", linux["devices"])
	}
	linux["devices"] = list[:len(list)-2]
	resources, ok := linux["resources"].(map[string]any)
	if !ok {
		t.Fatalf("no linux.resources in %v", linux)
	}
	list, ok = resources["devices"].([]any)
	if !ok || len(list) < 1 || list[len(list)-1] != true {
		t.Fatalf("linux.resources.devices = %v", resources["devices"])
	}
	resources["devices"] = list[:len(list)-1]
}

// withoutEmpty makes missing, null and empty the same along our path.
func withoutEmpty(v map[string]any) map[string]any {
	drop := func(m map[string]any, key string) {
		switch x := m[key].(type) {
		case nil:
			delete(m, key)
		case []any:
			if len(x) == 0 {
				delete(m, key)
			}
		case map[string]any:
			if len(x) == 0 {
				delete(m, key)
			}
		}
	}
	if linux, ok := v["linux"].(map[string]any); ok {
		if resources, ok := linux["resources"].(map[string]any); ok {
			drop(resources, "devices")
		}
		drop(linux, "resources")
		drop(linux, "devices")
	}
	drop(v, "linux")
	return v
}

func BenchmarkEdit(b *testing.B) {
	text := []byte(`{"a":"` + strings.Repeat("x", 50_000) + `","linux":{"devices":[]}}`)
	for b.Loop() {
		if _, err := Edit(text, Change{Key: "linux", Members: []Change{{Key: "devices", Append: raw("1")}}}); err != nil {
			b.Fatal(err)
		}
	}
}
