package hook

import (
	"strings"
	"testing"
)

func TestMaskParams(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, params, want string
		wantChanged        bool
	}{
		{"one", "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileMode: 438\n", "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 0\nDeviceFileMode: 438\n", true},
		{"zero already", "ModifyDeviceFiles: 0\n", "ModifyDeviceFiles: 0\n", false},
		{"no newline at the end", "ModifyDeviceFiles: 1", "ModifyDeviceFiles: 0", true},
		{"CRLF", "ModifyDeviceFiles: 1\r\nX: 1\r\n", "ModifyDeviceFiles: 0\r\nX: 1\r\n", true},
		{"name within a name", "NotModifyDeviceFiles: 1\nModifyDeviceFilesX: 1\n", "NotModifyDeviceFiles: 1\nModifyDeviceFilesX: 1\n", false},
		{"empty", "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, changed := maskParams([]byte(tt.params))
			if string(got) != tt.want || changed != tt.wantChanged {
				t.Errorf("maskParams(%q) = %q, %v; want %q, %v", tt.params, got, changed, tt.want, tt.wantChanged)
			}
		})
	}
}

func FuzzMaskParams(f *testing.F) {
	f.Add("ModifyDeviceFiles: 1\nX: 2\n")
	f.Add("ModifyDeviceFiles:\n\n:")
	f.Fuzz(func(t *testing.T, params string) {
		got, changed := maskParams([]byte(params))
		if !changed && string(got) != params {
			t.Errorf("maskParams(%q) = %q without a change", params, got)
		}
		if strings.Count(string(got), "\n") != strings.Count(params, "\n") {
			t.Errorf("maskParams(%q) = %q has other lines", params, got)
		}
		if again, changed := maskParams(got); changed {
			t.Errorf("maskParams(%q) changes its own result to %q", params, again)
		}
	})
}

func TestBuildTexts(t *testing.T) {
	t.Parallel()
	f := someFacts()
	f.Request.Capabilities = []string{"compute", "graphics"}
	f.Proc = &ProcParams{Mode: "params", Params: "ModifyDeviceFiles: 0\n"}
	p := build(t, f)
	want := map[string]string{
		"/usr/local/nvidia/files/proc/driver/nvidia/params": "ModifyDeviceFiles: 0\n",
		"/usr/local/nvidia/files" + eglProfile:              `"EGLVisibleDGPUDevices", 0x8]`,
	}
	if len(p.Texts) != len(want) {
		t.Fatalf("texts: %v", p.Texts)
	}
	for _, text := range p.Texts {
		if !strings.Contains(text.Content, want[text.Path]) {
			t.Errorf("%s: %q, want %q in it", text.Path, text.Content, want[text.Path])
		}
	}
	if got := p.link(eglProfile); got != "/usr/local/nvidia/files"+eglProfile {
		t.Errorf("profile link: %q", got)
	}
}
