package wrapper

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseArgs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args string // separated by blanks
		want Call
	}{
		{
			"containerd", "--root /run/containerd/runc/k8s.io --log /b/log.json --log-format json create --bundle /b --pid-file /b/init.pid c1",
			Call{"create", true, "/b", "", "/b/log.json", "json"},
		},
		{
			"containerd-systemd", "--root R --log L --log-format json --systemd-cgroup create --bundle /b --pid-file P --console-socket S c1",
			Call{"create", true, "/b", "", "L", "json"},
		},
		{"containerd-update", "--root R --log L --log-format json update --resources=- c1", Call{"update", false, "", "", "L", "json"}},
		{"containerd-1.6-update", "--root R --log L --log-format json update --resources - c1", Call{"update", false, "", "", "L", "json"}},
		{"containerd-delete", "--root R --log L --log-format json delete --force c1", Call{"delete", false, "", "", "L", "json"}},
		{
			"docker-arguments", "--debug --log-format text --root R --log L --log-format json create --bundle /b --pid-file P c1",
			Call{"create", true, "/b", "", "L", "json"},
		},
		{
			"podman-runc", "--log-format=json --log /u/oci-log create --bundle /u --pid-file /u/pidfile c1",
			Call{"create", true, "/u", "", "/u/oci-log", "json"},
		},
		{
			"podman-crun", "--cgroup-manager=cgroupfs --log-format=json --log=/u/oci-log create --bundle=/u --pid-file /u/pidfile c1",
			Call{"create", true, "/u", "", "/u/oci-log", "json"},
		},
		{
			"podman-systemd", "--systemd-cgroup --log-format=json --log L create --bundle /u --pid-file P --no-pivot c1",
			Call{"create", true, "/u", "", "L", "json"},
		},
		{"cri-o", "--systemd-cgroup --root=/run/runc create --bundle /b --pid-file P c1", Call{"create", true, "/b", "", "", ""}},
		{"start", "--root /run/runc start c1", Call{Command: "start"}},
		{"kill-all", "kill --all c1 9", Call{Command: "kill"}},
		{"exec", "--log L exec --process /tmp/p --detach --pid-file P c1", Call{Command: "exec", Log: "L"}},
		{"working-directory", "run c1", Call{Command: "run", Starts: true}},
		{"name-first", "run c1 --bundle /b", Call{Command: "run", Starts: true, Bundle: "/b"}},
		{"short", "run -b /b -d c1", Call{Command: "run", Starts: true, Bundle: "/b"}},
		{"short-equals", "run -b=/b c1", Call{Command: "run", Starts: true, Bundle: "/b"}},
		{"short-joined", "run -b/b -fother.json c1", Call{Command: "run", Starts: true, Bundle: "/b", Config: "other.json"}},
		{"one-dash", "-root /r -log=L run -bundle /b c1", Call{Command: "run", Starts: true, Bundle: "/b", Log: "L"}},
		{"crun-config", "create --config other.json --bundle /b c1", Call{Command: "create", Starts: true, Bundle: "/b", Config: "other.json"}},
		{"last-one-wins", "create --bundle /a --bundle /b c1", Call{Command: "create", Starts: true, Bundle: "/b"}},
		{"value-like-option", "create --pid-file --bundle c1", Call{Command: "create", Starts: true}},
		{"behind-dashes", "create -- --bundle /b", Call{Command: "create", Starts: true}},
		{"value-like-command", "--root create --log run list", Call{Command: "list", Log: "run"}},
		{"unknown-flag", "--frobnicate create --bundle /b c1", Call{Command: "create", Starts: true, Bundle: "/b"}},
		{"unknown-option", "--frobnicate hard create --bundle /b c1", Call{Command: "create", Starts: true, Bundle: "/b"}},
		{"unknown-option-equals", "--frobnicate=hard create --bundle /b c1", Call{Command: "create", Starts: true, Bundle: "/b"}},
		{"unknown-create-option", "create --frob nicate --bundle /b c1", Call{Command: "create", Starts: true, Bundle: "/b"}},
		{"two-dashes-first", "--root R -- create --bundle /b c1", Call{Command: "create", Starts: true, Bundle: "/b"}},
		{"flag-with-value", "--debug=true --systemd-cgroup=false create --bundle=/b c1", Call{Command: "create", Starts: true, Bundle: "/b"}},
		{"rootless", "--rootless false --criu /usr/sbin/criu run --bundle /b c1", Call{Command: "run", Starts: true, Bundle: "/b"}},
		{"crun-rootless", "--rootless=true run -b /b c1", Call{Command: "run", Starts: true, Bundle: "/b"}},
		{"youki", "-r /r -l L -s create -b /b c1", Call{Command: "create", Starts: true, Bundle: "/b", Log: "L"}},
		{"version", "--version", Call{}},
		{"version-and-command", "-v create --bundle /b c1", Call{}},
		{"create-help", "create --help --bundle /b", Call{Command: "create", Bundle: "/b"}},
		{"spec", "spec --bundle /b", Call{Command: "spec"}},
		{"restore", "restore --bundle /b --image-path I c1", Call{Command: "restore"}},
		{"features", "features", Call{Command: "features"}},
		{"nothing", "", Call{}},
		{"value-missing", "--root", Call{}},
		{"bundle-missing", "create c1 --bundle", Call{Command: "create", Starts: true}},
		{"dashes-alone", "--", Call{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ParseArgs(strings.Fields(tt.args))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseArgs(%s) (-want +got):\n%s", tt.args, diff)
			}
		})
	}
}

func FuzzParseArgs(f *testing.F) {
	f.Add("--root R create --bundle /b c1")
	f.Add("-b=x -- run -f")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		c := ParseArgs(args)
		if c.Starts && c.Command != "create" && c.Command != "run" {
			t.Errorf("ParseArgs(%q) = %+v", args, c)
		}
		if c.Command != "" && !strings.Contains(line, c.Command) {
			t.Errorf("ParseArgs(%q) makes up the command %q", args, c.Command)
		}
	})
}
