package state

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrivileged(t *testing.T) {
	t.Parallel()
	const object, list = `{"bounding":["CAP_CHOWN","CAP_SYS_ADMIN"]}`, `["CAP_SYS_ADMIN"]`
	tests := []struct {
		name         string
		version      string
		capabilities string
		want         bool
	}{
		{"object", "1.0.2-dev", object, true},
		{"object-rc5", "1.0.0-rc5", object, true},
		{"object-rc5-dev", "1.0.0-rc5-dev", object, true},
		{"object-no-version", "", object, true},
		{"object-odd-version", "newest", object, true},
		{"object-old-version", "1.0.0-rc2", object, false},
		{"list-rc1", "1.0.0-rc1", list, true},
		{"list-rc4-dev", "1.0.0-rc4-dev", list, true},
		{"list-rc5", "1.0.0-rc5", list, false},
		{"list-rc0", "1.0.0-rc0", list, false},
		{"list-rc10", "1.0.0-rc10", list, false},
		{"list-rc", "1.0.0-rc", list, false},
		{"list-today", "1.2.0", list, false},
		{"other-list", "1.0.0-rc3", `["CAP_CHOWN"]`, false},
		{"effective-only", "1.0.0", `{"effective":["CAP_SYS_ADMIN"],"permitted":["CAP_SYS_ADMIN"]}`, false},
		{"lower-case", "1.0.0", `{"bounding":["cap_sys_admin"]}`, false},
		{"null", "1.0.0", `null`, false},
		{"empty", "1.0.0", `{}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var s Spec
			text := `{"ociVersion":"` + tt.version + `","process":{"capabilities":` + tt.capabilities + `}}`
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatal(err)
			}
			if got := s.Privileged(); got != tt.want {
				t.Errorf("Privileged = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   string
		want string
	}{
		{"nothing", `{"a":1}`, `{"a":1}`},
		{"hooks", `{"hooks": {"x":["}",{}]}, "a":1}`, `{"hooks":null, "a":1}`},
		{"seccomp", `{"linux":{"seccomp":{"a":[1,2,3]},"b":2},"c":3}`, `{"linux":{"seccomp":null,"b":2},"c":3}`},
		{"short", `{"hooks":{},"linux":{"seccomp":[]}}`, `{"hooks":{},"linux":{"seccomp":[]}}`},
		{"twice", `{"hooks":"12345","hooks":"12345"}`, `{"hooks":null,"hooks":null}`},
		{"elsewhere", `{"annotations":{"seccomp":"12345","hooks":"12345"},"seccomp":"12345"}`, `{"annotations":{"seccomp":"12345","hooks":"12345"},"seccomp":"12345"}`},
		{"escapes", `{"hooks":"\\\"}{","\"hooks":"12345"}`, `{"hooks":null,"\"hooks":"12345"}`},
		{"linux-null", `{"linux":null,"hooks":12345}`, `{"linux":null,"hooks":null}`},
		{"broken", `{"hooks":{"a":1},"b":`, `{"hooks":{"a":1},"b":`},
		{"unbalanced", `{"hooks":[[1,2,3]`, `{"hooks":[[1,2,3]`},
		{"not-an-object", `["hooks"]`, `["hooks"]`},
		{"empty", ``, ``},
		{"after-the-end", `{"hooks":[1,2,3]}x`, `{"hooks":null}x`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, string(strip([]byte(tt.in)))); diff != "" {
				t.Errorf("strip(%s) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

// What encoding/json makes of a text is the same with and without [strip].
func FuzzStrip(f *testing.F) {
	f.Add([]byte(`{"ociVersion":"1","hooks":{"a":[1]},"linux":{"seccomp":{"x":"y"},"cgroupsPath":"/p"},"process":{"env":["A=b"]}}`))
	f.Add([]byte(`{"hooks":1,"hooks":{},"Linux":{"seccomp":0}}`))
	f.Add([]byte(`{"linux":{"seccomp":[[{"a":"]"}],-1.5e3,true],"seccomp":null},"hooks":{}}`))
	f.Add([]byte(`{"process":{"capabilities":["CAP_SYS_ADMIN"]},"hooks":"\u2028\\"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want, got Spec
		wantErr := json.Unmarshal(data, &want)
		gotErr := json.Unmarshal(strip(bytes.Clone(data)), &got)
		if wantErr != nil {
			return // a fault in what is left out may go unnoticed
		}
		if gotErr != nil {
			t.Fatalf("with strip: %v", gotErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("strip changed the meaning (-want +got):\n%s", diff)
		}
		_ = got.Privileged()
	})
}
