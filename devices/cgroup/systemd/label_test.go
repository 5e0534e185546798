package systemd

import (
	"testing"

	"github.com/godbus/dbus/v5"
)

func TestLabel(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"scope", "docker-0a.scope", "docker_2d0a_2escope"},
		{"first digit", "0a.scope", "_30a_2escope"},
		{"underscore", "a_b.scope", "a_5fb_2escope"},
		{"unit escape", `a\x2db:c.scope`, "a_5cx2db_3ac_2escope"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := label(tt.in); got != tt.want {
				t.Errorf("label(%q): got %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// Whatever a cgroup is called, the object path is valid.
func FuzzLabel(f *testing.F) {
	f.Add("docker-0a.scope")
	f.Add("\xff é/")
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" {
			return
		}
		if p := managerPath + "/unit/" + dbus.ObjectPath(label(name)); !p.IsValid() {
			t.Fatalf("label(%q) gives %q, which is no object path", name, p)
		}
	})
}
