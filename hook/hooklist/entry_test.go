package hooklist

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, config string
		want         []Entry
	}{
		{"none", `{}`, nil},
		{"null", `{"hooks":null}`, nil},
		{"null-stage", `{"hooks":{"prestart":null}}`, nil},
		{"in-order", `{"hooks":{"createContainer":[{"path":"/c"}],"poststop":[{"path":"/p"}],"createRuntime":[{"path":"/r","timeout":1e400}],"prestart":[{"path":"/a","args":["a","b"]},{"path":"/b"}],"vendor":7}}`, []Entry{
			{"prestart", "/a", []string{"a", "b"}},
			{"prestart", "/b", nil},
			{"createRuntime", "/r", nil},
			{"createContainer", "/c", nil},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Read([]byte(tt.config))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Read (-want +got):\n%s", diff)
			}
		})
	}
	for _, bad := range []string{`{"hooks":[]}`, `{"hooks":{"prestart":{}}}`, `{"hooks":{"prestart":[{"path":7}]}}`, `{"hooks":{"prestart":[7]}}`, `{"hooks":{},"Hooks":{}}`} {
		if got, err := Read([]byte(bad)); err == nil {
			t.Errorf("Read(%s) = %v, want an error", bad, got)
		}
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		hook Entry
		want Kind
	}{
		{"ours", Entry{Path: "/usr/bin/gpu-hook"}, Ours},
		{"ours-by-argument", Entry{Path: "/opt/gpu/hook-1.2", Args: []string{"gpu-hook", "prestart"}}, Ours},
		{"docker", Entry{Path: "/usr/bin/nvidia-container-runtime-hook", Args: []string{"nvidia-container-runtime-hook", "prestart"}}, Legacy},
		{"old-toolkit", Entry{Path: "/usr/bin/nvidia-container-toolkit", Args: []string{"nvidia-container-toolkit", "prestart"}}, Legacy},
		{"toolkit-cdi", Entry{Path: "/usr/bin/nvidia-cdi-hook", Args: []string{"nvidia-cdi-hook", "update-ldcache"}}, CDI},
		{"toolkit-ctk", Entry{Path: "/usr/bin/nvidia-ctk", Args: []string{"nvidia-ctk", "hook", "update-ldcache"}}, CDI},
		{"libnetwork", Entry{Path: "/proc/12/exe", Args: []string{"libnetwork-setkey"}}, Other},
		{"nothing", Entry{}, Other},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.hook.Kind(); got != tt.want {
				t.Errorf("Kind(%v) = %v, want %v", tt.hook, got, tt.want)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"none", []string{"gpu-hook", "prestart"}, nil},
		{"two-words", []string{"gpu-hook", "createRuntime", "--device", "0:1"}, []string{"0:1"}},
		{"one-word", []string{"gpu-hook", "--device=GPU-1", "-device=2", "createRuntime"}, []string{"GPU-1", "2"}},
		{"without-value", []string{"gpu-hook", "--device"}, []string{""}},
		{"no-arguments", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Entry{Path: "/usr/bin/gpu-hook", Args: tt.args}.Named()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Named (-want +got):\n%s", diff)
			}
		})
	}
	if got := (Entry{Path: "/x", Args: []string{"x", "--device", "0"}}).Named(); got != nil {
		t.Errorf("Named of somebody else's hook = %v", got)
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		hook Entry
		want bool
	}{
		{"told", Entry{Path: "/g", Args: []string{"gpu-hook", "createRuntime", "--annotations"}}, true},
		{"not-told", Entry{Path: "/gpu-hook", Args: []string{"gpu-hook", "createRuntime"}}, false},
		{"another-hook", Entry{Path: "/g", Args: []string{"g", "--annotations"}}, false},
	} {
		if got := tt.hook.Annotations(); got != tt.want {
			t.Errorf("%s: Annotations = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"hooks":{"prestart":[{"path":"/a","args":["gpu-hook","--device"]}]}}`))
	f.Add([]byte(`{"hooks":null}`))
	f.Add([]byte(`{"hooks":{"prestart":`))
	f.Fuzz(func(t *testing.T, config []byte) {
		list, err := Read(config)
		if err != nil && list != nil {
			t.Errorf("Read gives %v and %v", list, err)
		}
		for _, e := range list {
			e.Kind()
			e.Named()
		}
	})
}
