package integration

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestUnlistedLibrary has a host with libraries that no row of the table names:
// one of the driver's version goes with compute and is reported, and the
// configuration adds and takes away.
func TestUnlistedLibrary(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	dir := filepath.Join(host.Dir, "usr/lib/x86_64-linux-gnu")
	lab.Library(t, filepath.Join(dir, "libnvidia-brandnew.so."+host.Version), "libnvidia-brandnew.so.1", 0)
	lab.Library(t, filepath.Join(dir, "libnvidia-brandnew.so.1.2.3"), "libnvidia-other.so.1", 0)
	lab.Library(t, filepath.Join(dir, "libGL.so."+host.Version), "libGL.so.1", 0)
	root := lab.Root(t, lab.Glibc)
	const brandnew, other = "/usr/local/nvidia/lib64/libnvidia-brandnew.so.", "/usr/local/nvidia/lib64/libnvidia-other.so.1"
	for _, tt := range []struct {
		name, caps, config string
		injected, reported bool
		cfg                bool // libnvidia-cfg is there
		also               bool // the library of another version is
	}{
		{name: "compute", caps: "compute,utility", injected: true, reported: true, cfg: true},
		{name: "utility", caps: "utility", cfg: true},
		{name: "exclude", caps: "compute,utility", config: "[mounts]\nexclude = [\"libnvidia-brandnew*\", \"libnvidia-cfg.so.*\"]\n"},
		{name: "include", caps: "utility", config: "[mounts]\ninclude = [\"libnvidia-brandnew.so.5*\"]\n", injected: true, cfg: true},
		{name: "include-other", caps: "utility", config: "[mounts]\ninclude = [\"libnvidia-brandnew.so.1.2.3\"]\n", cfg: true, also: true},
		{name: "include-neutral", caps: "utility", config: "[mounts]\ninclude = [\"libGL.so*\"]\n", cfg: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := plannedOK(t, lab.NewBundle(t, root, lab.Options{
				Host: host, Config: tt.config, Env: []string{"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_DRIVER_CAPABILITIES=" + tt.caps},
			}))
			if got := sourceOf(p, brandnew+host.Version) != ""; got != tt.injected {
				t.Errorf("injected: %v, want %v", got, tt.injected)
			}
			if got := strings.Contains(warning(p, "unlisted-library"), "libnvidia-brandnew.so."+host.Version); got != tt.reported {
				t.Errorf("reported: %v, want %v: %v", got, tt.reported, p.Warnings)
			}
			if got := linkOf(p, "/usr/local/nvidia/lib64/libnvidia-cfg.so.1") != ""; got != tt.cfg {
				t.Errorf("libnvidia-cfg: %v, want %v", got, tt.cfg)
			}
			if got := linkOf(p, other) != ""; got != tt.also {
				t.Errorf("the library of another version: %v, want %v: %v", got, tt.also, p.Warnings)
			}
			wantNoNeutral(t, p)
		})
	}
}
