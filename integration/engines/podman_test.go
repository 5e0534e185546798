package engines

import (
	"fmt"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// podman is Podman in a machine: no daemon, so a set of files and flags.
type podman struct {
	*matrix
	m     *machine
	cell  cell
	flags string // of every run
}

func podmanCells() []cell {
	return []cell{
		{"podman", "bookworm", "runc", lab.Machine},
		{"podman", "bookworm", "runc", lab.V2},
		{"podman", "bookworm", "crun", lab.V1},
		{"podman", "sid", "runc", lab.Machine},
		{"podman", "sid", "runc", lab.V2},
		{"podman", "sid", "crun", lab.V1},
		{"podman", "sid", "crun", lab.V2},
	}
}

func (x *matrix) podman(t *testing.T) {
	t.Parallel()
	for _, c := range podmanCells() {
		suite := c.version
		t.Run(suite+"-"+layout(c.cgroups)+"-"+c.runtime, func(t *testing.T) {
			t.Parallel()
			p := &podman{matrix: x, m: boot(t, suite, c.cgroups), cell: c}
			p.cell.version = strings.TrimPrefix(strings.TrimSpace(p.m.must(t, "podman --version")), "podman version ")
			x.refusals(p.cell, suite)
			p.setUp(t)
			p.ways(t)
		})
	}
}

// setUp writes the configuration. The limits are for machines on which root may
// not raise them; the flags for a v2 without the controller pids.
func (p *podman) setUp(t *testing.T) {
	t.Helper()
	p.m.write(t, "/etc/containers/containers.conf", fmt.Sprintf(`[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
runtime = %q
events_logger = "file"
`, p.cell.runtime))
	p.m.write(t, "/etc/containers/storage.conf", fmt.Sprintf(`[storage]
driver = "overlay"
graphroot = %q
runroot = "/run/podman"
`, p.m.dir+"/podman"))
	p.flags = "--network none --cap-add MKNOD --cgroup-parent /" + p.m.parent
	if p.cell.cgroups == lab.V2 {
		p.flags += map[bool]string{true: " --pids-limit -1", false: " --pids-limit 0"}[strings.HasPrefix(p.cell.version, "4.")]
	}
	if p.cell.runtime == "crun" {
		p.m.runtime = "/usr/bin/crun"
	}
	p.m.use(t, p.host535)
	p.m.must(t, "podman load -q -i "+p.images.base)
}

// hooksDir is the only folder that Podman reads without being told to.
const hooksDir = "/usr/share/containers/oci/hooks.d"

// register writes a hook's JSON.
func (p *podman) register(t *testing.T, path string, stages ...string) {
	t.Helper()
	p.m.write(t, hooksDir+"/99-gpu-hook.json", string(encode(t, map[string]any{
		"version": "1.0.0",
		"hook":    map[string]any{"path": path, "args": []string{"gpu-hook", "prestart"}, "env": []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}},
		"when":    map[string]any{"always": true}, "stages": stages,
	})))
}

// command is a run with flags; a runtime is named before the verb.
func (p *podman) command(verb, flags string) string {
	global := ""
	if rest, ok := strings.CutPrefix(flags, runtimeFlag); ok {
		global, flags = runtimeFlag, rest
	}
	return "podman " + global + " " + verb + " " + p.flags + " " + flags
}

const runtimeFlag = "--runtime gpu"

func (p *podman) run(t *testing.T, flags string) string {
	t.Helper()
	return p.m.must(t, p.command("run --rm", flags)+" "+baseImage+" /bin/probe")
}

const twoByEnv = "-e NVIDIA_VISIBLE_DEVICES=0,2"

func (p *podman) ways(t *testing.T) {
	t.Helper()
	before := p.m.must(t, "cd /etc/containers && find . /usr/share/containers -type f | sort | xargs md5sum")
	p.m.must(t, "gpu-hook configure podman")
	p.hooksWays(t)
	p.try(t, p.cell, "hooks.d and --runtime: one hook", func(t *testing.T) {
		id := p.start(t, runtimeFlag+" "+twoByEnv)
		wantGPUs(t, p.m.must(t, "podman exec "+id+" /bin/probe"), cuda535)
		wantEdited(t, p.bundle(t, id))
	})
	own := p.m.read(hooksDir + "/gpu-hook.json")
	p.m.must(t, "rm "+hooksDir+"/gpu-hook.json")
	p.runtimeWays(t)
	p.cdiWays(t)
	p.m.write(t, hooksDir+"/gpu-hook.json", own)
	p.rootless(t)
	p.try(t, p.cell, "nothing left", func(t *testing.T) { p.m.nothingLeft(t) })
	p.try(t, p.cell, "configure --remove", func(t *testing.T) {
		p.m.must(t, "gpu-hook configure podman --remove")
		after := p.m.must(t, "cd /etc/containers && find . /usr/share/containers -type f | sort | xargs md5sum")
		if after != before {
			t.Errorf("configure --remove left\n%s\nand there was\n%s", after, before)
		}
		p.m.wantRemoved(t)
		wantNoGPU(t, p.run(t, twoByEnv))
	})
}

func (p *podman) hooksWays(t *testing.T) {
	t.Helper()
	p.try(t, p.cell, "hooks.d", func(t *testing.T) {
		wantGPUs(t, p.run(t, twoByEnv), cuda535)
		wantNoGPU(t, p.run(t, ""))
	})
	p.try(t, p.cell, "hooks.d: failure", func(t *testing.T) {
		got := p.m.try(t, p.command("run --rm", "-e NVIDIA_VISIBLE_DEVICES=9")+" "+baseImage+" /bin/true")
		p.m.wantLine(t, got, p.cell.runtime == "runc", "9")
	})
	p.try(t, p.cell, "hooks.d: exec, restart", func(t *testing.T) { p.lives(t, twoByEnv) })
	p.try(t, p.cell, "hooks.d: diff, commit, other driver", func(t *testing.T) { p.commits(t, twoByEnv) })
	p.try(t, p.cell, "hooks.d: update", func(t *testing.T) {
		p.update(t, twoByEnv, p.cell.runtime == "runc" || strings.HasPrefix(p.cell.version, "4."))
	})
	own := p.m.read(hooksDir + "/gpu-hook.json")
	defer p.m.write(t, hooksDir+"/gpu-hook.json", own)
	p.m.must(t, "rm "+hooksDir+"/gpu-hook.json")
	p.try(t, p.cell, "hooks.d: both stages", func(t *testing.T) {
		// 5.8 moves prestart to createRuntime and so runs the hook twice.
		p.register(t, "/usr/local/bin/gpu-hook", "prestart", "createRuntime")
		wantGPUs(t, p.run(t, twoByEnv), cuda535)
	})
	p.try(t, p.cell, "hooks.d: hook missing", func(t *testing.T) {
		// Podman skips it without a word; that is why configure looks.
		p.register(t, "/usr/local/bin/gone", "prestart")
		wantNoGPU(t, p.run(t, twoByEnv))
		if got := p.m.try(t, "gpu-hook configure podman --binary /usr/local/bin/gone"); got.code == 0 || !strings.Contains(got.stderr, "/usr/local/bin/gone") {
			t.Errorf("configure with a hook that is not there: %d %s, want a refusal", got.code, got.text())
		}
	})
	p.m.must(t, "rm "+hooksDir+"/99-gpu-hook.json")
}

func (p *podman) runtimeWays(t *testing.T) {
	t.Helper()
	const flags = runtimeFlag + " " + twoByEnv
	p.try(t, p.cell, "--runtime", func(t *testing.T) {
		wantGPUs(t, p.run(t, flags), cuda535)
		wantNoGPU(t, p.run(t, runtimeFlag))
	})
	p.try(t, p.cell, "--runtime: failure", func(t *testing.T) {
		got := p.m.try(t, p.command("run --rm", runtimeFlag+" -e NVIDIA_VISIBLE_DEVICES=9")+" "+baseImage+" /bin/true")
		p.m.wantLine(t, got, true, "9")
	})
	p.try(t, p.cell, "--runtime: exec, restart", func(t *testing.T) { p.lives(t, flags) })
	p.try(t, p.cell, "--runtime: diff, commit, other driver", func(t *testing.T) { p.commits(t, flags) })
	p.try(t, p.cell, "--runtime: update", func(t *testing.T) { p.update(t, flags, true) })
}

// cdiWays asks by CDI's names.
func (p *podman) cdiWays(t *testing.T) {
	t.Helper()
	p.m.must(t, "mkdir -p /etc/cdi; gpu-hook cdi >/etc/cdi/gpu-hook.json")
	p.try(t, p.cell, "CDI", func(t *testing.T) {
		wantGPUs(t, p.run(t, "--device nvidia.com/gpu=0 --device nvidia.com/gpu=2"), cuda535)
	})
	p.m.must(t, "rm /etc/cdi/gpu-hook.json")
}

// bundle returns the config.json of a running container.
func (p *podman) bundle(t *testing.T, id string) specs.Spec {
	t.Helper()
	path := strings.TrimSpace(p.m.must(t, "podman inspect --format '{{.OCIConfigPath}}' "+id))
	return decode[specs.Spec](t, p.m.must(t, "cat "+path))
}

// rootless runs the hook as an ordinary user: there is no device cgroup to
// write, and the nodes are bound, not made.
func (p *podman) rootless(t *testing.T) {
	t.Helper()
	p.try(t, p.cell, "hooks.d: rootless", func(t *testing.T) {
		p.m.must(t, `useradd -m -d $D/home gpuuser; U=$(id -u gpuuser); mkdir -p /run/user/$U; chown gpuuser /run/user/$U; chmod 700 /run/user/$U; chmod 755 $D/home`)
		p.m.write(t, "/usr/local/bin/as-user", `#!/bin/sh
U=$(id -u gpuuser); export HOME=`+p.m.dir+`/home XDG_RUNTIME_DIR=/run/user/$U; cd $HOME
exec setpriv --reuid gpuuser --regid gpuuser --init-groups env PATH="$PATH" HOME=$HOME XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR CONTAINERS_STORAGE_CONF=/dev/null PODMAN_IGNORE_CGROUPSV1_WARNING=1 "$@"
`)
		p.m.must(t, "chmod 755 /usr/local/bin/as-user; as-user podman load -q -i "+p.images.base)
		wantGPUs(t, p.m.must(t, "as-user podman run --rm --network none "+twoByEnv+" "+baseImage+" /bin/probe"), cuda535)
	})
}

// lives looks into a running container, and again after a restart.
func (p *podman) lives(t *testing.T, flags string) {
	t.Helper()
	id := p.start(t, flags)
	wantGPUs(t, p.m.must(t, "podman exec "+id+" /bin/probe"), cuda535)
	p.m.must(t, "podman restart -t 0 "+id)
	wantGPUs(t, p.m.must(t, "podman exec "+id+" /bin/probe"), cuda535)
}

// start starts a container that lasts until the test ends.
func (p *podman) start(t *testing.T, flags string) string {
	t.Helper()
	id := strings.TrimSpace(p.m.must(t, p.command("run -d", flags)+" "+baseImage))
	t.Cleanup(func() { p.m.try(t, "podman rm -f -t 0 "+id) })
	return id
}

func (p *podman) commits(t *testing.T, flags string) {
	t.Helper()
	id := p.start(t, flags)
	p.m.must(t, "podman exec "+id+" /bin/probe")
	wantClean(t, p.m.must(t, "podman diff "+id), p.m.must(t, "podman export "+id+" | tar -tv"))
	p.m.must(t, "podman commit -q "+id+" localhost/committed:1")
	p.m.use(t, p.host550)
	defer p.m.use(t, p.host535)
	wantGPUs(t, p.m.must(t, p.command("run --rm", flags)+" localhost/committed:1 /bin/probe"), cuda550)
	// The variable was committed, too.
	wantNoGPU(t, p.m.must(t, p.command("run --rm", "-e NVIDIA_VISIBLE_DEVICES=void")+" localhost/committed:1 /bin/probe"))
}

// update changes another limit of a running container: crun then writes the
// device rules of config.json anew, and those that a hook added are lost.
func (p *podman) update(t *testing.T, flags string, kept bool) {
	t.Helper()
	id := p.start(t, flags)
	wantGPUs(t, p.m.must(t, "podman exec "+id+" /bin/probe"), cuda535)
	got := p.m.try(t, "podman update --cpu-shares 200 "+id)
	if got.code != 0 {
		if p.cell.cgroups == lab.V2 {
			p.remark(t, "n/a: this machine's v2 has no controller cpu")
			return
		}
		t.Fatalf("podman update: %s", got.text())
	}
	stdout := p.m.must(t, "podman exec "+id+" /bin/probe")
	if kept {
		wantGPUs(t, stdout, cuda535)
		return
	}
	p.remark(t, "pass: crun's update loses the rules, gpu-hook reapply puts them back")
	wantClosed(t, stdout)
	p.m.must(t, "gpu-hook reapply "+id)
	wantGPUs(t, p.m.must(t, "podman exec "+id+" /bin/probe"), cuda535)
}
