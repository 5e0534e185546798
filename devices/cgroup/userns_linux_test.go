package cgroup

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// In a user namespace nothing can be written to devices.allow: what the cgroup
// grants is granted, what it denies stays denied, and neither is a failure. The
// child is in a PID namespace, too, with the procfs of another, as a
// createContainer hook is.
func TestAllowRootlessV1(t *testing.T) {
	t.Parallel()
	need.UserNS(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		rules   []string
		way     string
		missing int
	}{
		{name: "denied", way: WayUnprivileged, missing: 1},
		{name: "granted", rules: []string{"c 195:0 rw"}, way: WayV1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := newCgroup1(t, "")
			setDevices(t, dir, "devices.allow", append(tt.rules, "c *:* m")...)
			cmd := exec.Command("sh", "-c", "echo $$ >$0/cgroup.procs && exec unshare --user --map-root-user --pid --fork $1", dir, self)
			cmd.Env = append(os.Environ(), rootlessVariable+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("child: %v: %s", err, out)
			}
			var got struct {
				Way, Reason string
				Missing     int
			}
			if err := json.Unmarshal(out, &got); err != nil || got.Way != tt.way || got.Missing != tt.missing {
				t.Errorf("got %s (%v), want way %q and %d missing", out, err, tt.way, tt.missing)
			}
		})
	}
}
