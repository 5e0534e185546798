package config

import (
	"errors"
	"strconv"
	"testing"
)

func TestMountsDir(t *testing.T) {
	t.Parallel()
	const (
		deep    = "a directory of its own, at least two levels deep and without . or .."
		control = "a path without control characters"
		system  = "a directory of its own, not one of the system"
	)
	tests := []struct {
		name string
		dir  string
		want string // part of the error, "" for none
	}{
		{"default", "/usr/local/nvidia", ""},
		{"opt", "/opt/nvidia", ""},
		{"below-lib", "/usr/lib/nvidia", ""},
		{"below-multiarch", "/usr/lib/x86_64-linux-gnu/nvidia", ""},
		{"below-run", "/run/nvidia", ""},
		{"other-letters", "/opt/gr\u00e4fik", ""},
		{"name-begins-like-etc", "/etcetera/nvidia", ""},
		{"name-begins-like-dev", "/devel/nvidia", ""},
		{"usr", "/usr", deep},
		{"etc", "/etc", deep},
		{"trailing-slash", "/usr/lib/", deep},
		{"usr-lib", "/usr/lib", system},
		{"usr-lib64", "/usr/lib64", system},
		{"usr-bin", "/usr/bin", system},
		{"usr-share", "/usr/share", system},
		{"usr-local", "/usr/local", system},
		{"usr-local-lib", "/usr/local/lib", system},
		{"usr-local-bin", "/usr/local/bin", system},
		{"var-lib", "/var/lib", system},
		{"multiarch", "/usr/lib/x86_64-linux-gnu", system},
		{"multiarch-musl", "/lib/aarch64-linux-musl", system},
		{"multiarch-32", "/usr/lib/arm-linux-gnueabihf", system},
		{"below-etc", "/etc/nvidia", system},
		{"deep-below-etc", "/etc/a/b/c", system},
		{"below-proc", "/proc/x", system},
		{"below-sys", "/sys/x", system},
		{"below-dev", "/dev/x", system},
		{"newline", "/opt/a\nb", control},
		{"escape", "/opt/\x1b[2J", control},
		{"delete", "/opt/\x7f", control},
		{"c1", "/opt/\u0085", control},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Default()
			c.Mounts.Dir = tt.dir
			got := ""
			if f := c.fault(); f != nil {
				got = f.text()
			}
			want := ""
			if tt.want != "" {
				want = "mounts.dir = " + strconv.Quote(tt.dir) + ", want " + tt.want
			}
			if got != want {
				t.Errorf("fault of %q: got %q; want %q", tt.dir, got, want)
			}
		})
	}
}

func TestMountsDirIsInvalid(t *testing.T) {
	t.Parallel()
	_, err := Parse("f", []byte("[mounts]\ndir = '/usr/lib'"))
	if invalid, ok := errors.AsType[*InvalidError](err); !ok || invalid.Line != 2 {
		t.Errorf("Parse: got %v; want an *InvalidError of line 2", err)
	}
}

// TestSystemDirsAreRefused keeps the list and the rule together.
func TestSystemDirsAreRefused(t *testing.T) {
	t.Parallel()
	for _, dir := range systemDirs {
		c := Default()
		c.Mounts.Dir = dir
		if c.fault() == nil {
			t.Errorf("fault of %q: got none", dir)
		}
		c.Mounts.Dir = dir + "/nvidia"
		if f := c.fault(); f != nil {
			t.Errorf("fault: got %s; want none", f.text())
		}
	}
}
