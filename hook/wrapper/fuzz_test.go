package wrapper

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/state"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// somePlan has one node of each kind.
func somePlan() hook.Plan {
	return hook.Plan{
		Tree: "/usr/local/nvidia",
		DeviceNodes: []hook.DeviceNode{
			{Path: "/dev/nvidia0", Type: "c", Major: 195, Minor: 0, Mode: "0660", GID: 44, Method: hook.MethodMknod},
			{Path: "/dev/nvidia-uvm", Type: "c", Major: 510, Minor: 0, Mode: "0666", Method: hook.MethodBind},
			{Path: "/dev/nvidiactl", Type: "c", Major: 195, Minor: 255, Mode: "0666", Method: hook.MethodKept},
		},
		DeviceRules: []hook.DeviceRule{{Type: "c", Major: 195, Minor: 0, Access: "rw"}, {Type: "c", Major: 195, Minor: 255, Access: "rw"}},
	}
}

// FuzzEdited adds a plan to any config.json and compares what both mean: all
// that was there is there, in the same order, and a second edit adds nothing
// but the hook, which the caller looks for.
func FuzzEdited(f *testing.F) {
	for _, seed := range []string{
		asking, `{}`, `{"linux":null,"process":null,"hooks":null}`, `{"linux":{"devices":[{"path":"/dev/nvidia0"}],"resources":{"devices":[{"allow":true}]}}}`,
		`{"process":{"env":["LD_LIBRARY_PATH=/a","LD_LIBRARY_PATH="],"user":{"additionalGids":[44]}}}`, `{"process":{"env":null,"user":null}}`,
		`{"hooks":{"createRuntime":[]},"x":1e999}`, `{"linux":{},"linux":{}}`, `{"proceSS":{}}`, `{"process":{"user":{"gid":44}}}`, `[]`, `{"linux":{"devices":7}}`,
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, readOnly bool) {
		once, err := editOnce(text, readOnly, true)
		if err != nil || once == nil {
			return
		}
		before, errBefore := numbers(text)
		after, errAfter := numbers(once)
		if errBefore != nil || !json.Valid(text) {
			return
		}
		if errAfter != nil {
			t.Fatalf("edited(%q) = %q: %v", text, once, errAfter)
		}
		if !contains(after, before) {
			t.Errorf("edited(%q) = %q, which lost something", text, once)
		}
		twice, err := editOnce(once, readOnly, false)
		if err != nil || twice != nil {
			t.Errorf("a second edit of %q gives %q, %v", once, twice, err)
		}
	})
}

func editOnce(text []byte, readOnly, withHook bool) ([]byte, error) {
	b, err := state.ParseBundle("/b/config.json", bytes.Clone(text))
	if err != nil {
		return nil, err
	}
	t := target{spec: b.Spec, present: func(hook.DeviceNode) bool { return true }, readOnly: readOnly}
	if withHook {
		t.hook = &specs.Hook{Path: "/usr/bin/gpu-hook"}
	}
	return edited(text, t, somePlan())
}

func numbers(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// contains reports that a has all of b: objects may have more members, lists
// more elements at their end, null may have become anything, and a variable may
// have got a longer value.
func contains(a, b any) bool {
	switch old := b.(type) {
	case nil:
		return true
	case map[string]any:
		m, ok := a.(map[string]any)
		if !ok {
			return false
		}
		for key, v := range old {
			w, ok := m[key]
			if !ok || !contains(w, v) {
				return false
			}
		}
		return true
	case []any:
		list, ok := a.([]any)
		if !ok || len(list) < len(old) {
			return false
		}
		for i := range old {
			if !contains(list[i], old[i]) {
				return false
			}
		}
		return true
	case string:
		text, ok := a.(string)
		return ok && (text == old || strings.HasPrefix(old, "LD_LIBRARY_PATH=") && strings.HasPrefix(text, old))
	default:
		return reflect.DeepEqual(a, b)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	const dir = "/usr/local/nvidia/lib64"
	tests := []struct {
		name, env string
		readOnly  bool
		want      string
	}{
		{"writable", `["A=1"]`, false, `["A=1"]`},
		{"not-set", `["A=1"]`, true, `["A=1","LD_LIBRARY_PATH=` + dir + `"]`},
		{"set", `["LD_LIBRARY_PATH=/a:/b", "A=1"]`, true, `["LD_LIBRARY_PATH=/a:/b:` + dir + `", "A=1"]`},
		{"set-empty", `["LD_LIBRARY_PATH="]`, true, `["LD_LIBRARY_PATH=` + dir + `"]`},
		{"there", `["LD_LIBRARY_PATH=/a:` + dir + `"]`, true, `["LD_LIBRARY_PATH=/a:` + dir + `"]`},
		{"twice", `["LD_LIBRARY_PATH=/a","LD_LIBRARY_PATH=/b"]`, true, `["LD_LIBRARY_PATH=/a","LD_LIBRARY_PATH=/b:` + dir + `"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := editOnce([]byte(`{"process":{"env":`+tt.env+`}}`), tt.readOnly, true)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), `"env":`+tt.want+`,"user"`) {
				t.Errorf("env is not %s in %s", tt.want, got)
			}
		})
	}
}
