package access

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// denyV1 makes an outer cgroup of v1 that grants what runtimes give every
// container, and no GPU.
const denyV1 = `mkdir $OUTER
echo a >$OUTER/devices.deny
for n in 1:3 1:5 1:7 1:8 1:9 5:0 5:1 5:2 '136:*' 10:200; do echo "c $n rwm" >$OUTER/devices.allow; done
for n in c b; do echo "$n *:* m" >$OUTER/devices.allow; done
`

// TestOuterDenies starts containers below a cgroup that denies the GPUs, as the
// scope of a nested engine's outer container or a slice does. Those are not
// ours to widen: the container starts, and the log names the level.
func TestOuterDenies(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	s := makeStage(t)
	for c, list := range cells() {
		for _, r := range list {
			t.Run(layoutName(c)+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				b := s.sleeper(t, plain)
				name := "gpu-hook-outer-" + b.ID
				b.Spec.Linux.CgroupsPath = "/" + name + "/docker/" + b.ID
				b.Save(t)
				t.Cleanup(func() { removeCgroups(t, name) })
				outer := "/sys/fs/cgroup/devices/" + name
				setup := "OUTER=" + outer + "\n" + denyV1
				if c == lab.V2 {
					outer = "/sys/fs/cgroup/" + name
					setup = "mkdir " + outer + "\n" + denyVar + "=" + outer + " " + self(t) + "\n"
				}
				parts, got := s.life(t, c, r, b, setup, "say look; look\nsay check; $hook reapply --check $ID\nsay again; $hook reapply $ID")
				wantLook(t, "the container", parts["look"], syscall.EPERM)
				for _, word := range []string{"warning=outer-cgroup-denies", outer + " above", "c 195:0 rw", "DeviceAllow="} {
					if !strings.Contains(got.Log, word) {
						t.Errorf("no %q in the log:\n%s", word, got.Log)
					}
				}
				if !strings.Contains(parts["check"], "missing: c 195:0 rw, c 195:2 rw") {
					t.Errorf("reapply --check: %q, want what is denied", parts["check"])
				}
				if text := parts["again"]; strings.Contains(text, "(put back)") || !strings.Contains(text, outer) {
					t.Errorf("reapply: %q, want it to say who denies", text)
				}
			})
		}
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// removeCgroups removes a cgroup and those below it from every hierarchy.
func removeCgroups(t *testing.T, name string) {
	t.Helper()
	for _, top := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		found, err := filepath.Glob(top + name)
		if err != nil {
			t.Error(err)
		}
		for _, dir := range found {
			out, err := exec.Command("find", dir, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Logf("remove %s: %v %s", dir, err, out)
			}
		}
	}
}
