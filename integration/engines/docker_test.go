package engines

import (
	"maps"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// docker is a Docker daemon in a machine.
type docker struct {
	*matrix
	m    *machine
	cell cell
	stop func()
}

// dockerCells are the daemons that this kernel can show.
func dockerCells() []cell {
	return []cell{
		{"docker", "bookworm", "runc", lab.Machine},
		{"docker", "bookworm", "runc", lab.V2},
		{"docker", "bookworm", "crun", lab.V1},
		{"docker", "sid", "runc", lab.Machine},
		{"docker", "sid", "runc", lab.V2},
		{"docker", "sid", "crun", lab.V1},
	}
}

func (x *matrix) docker(t *testing.T) {
	t.Parallel()
	for _, c := range dockerCells() {
		suite := c.version
		t.Run(suite+"-"+layout(c.cgroups)+"-"+c.runtime, func(t *testing.T) {
			t.Parallel()
			d := &docker{matrix: x, m: boot(t, suite, c.cgroups), cell: c}
			words := strings.Fields(d.m.must(t, "dockerd --version")) // "Docker version 20.10.24+dfsg1, build ..."
			d.cell.version, _, _ = strings.Cut(words[2], "+")
			d.cell.version = strings.TrimSuffix(d.cell.version, ",")
			x.refusals(d.cell, suite)
			d.ways(t)
		})
	}
}

// start writes daemon.json with more keys and starts the daemon.
func (d *docker) start(t *testing.T, more map[string]any) {
	t.Helper()
	config := map[string]any{
		"bridge": "none", "iptables": false, "ip6tables": false,
		"data-root": d.m.dir + "/docker", "exec-root": "/run/docker", "cgroup-parent": "/" + d.m.parent,
	}
	if d.cell.runtime == "crun" {
		config["runtimes"] = map[string]any{"crun": map[string]any{"path": "/usr/bin/crun"}}
		config["default-runtime"] = "crun"
	}
	maps.Copy(config, more)
	d.m.write(t, daemonFile, string(encode(t, config)))
	d.restart(t)
}

// restart starts the daemon anew with the daemon.json there is.
func (d *docker) restart(t *testing.T) {
	t.Helper()
	if d.stop != nil {
		d.stop()
	}
	d.stop = d.m.daemon(t, "dockerd", "dockerd", "docker ps")
}

// run runs the probe and returns what it said.
func (d *docker) run(t *testing.T, flags string) string {
	t.Helper()
	return d.m.must(t, "docker run --rm --network none "+flags+" "+baseImage+" /bin/probe")
}

const twoGPUs = `--gpus '"device=0,2"'`

func (d *docker) ways(t *testing.T) {
	t.Helper()
	if d.cell.runtime == "crun" {
		d.m.runtime = "/usr/bin/crun"
	}
	d.m.use(t, d.host535)
	d.start(t, nil)
	d.m.must(t, "docker load -q -i "+d.images.base)
	before := d.m.read(daemonFile)
	d.try(t, d.cell, "no hook on PATH", func(t *testing.T) { d.noDriver(t) })
	d.m.must(t, "gpu-hook configure docker")
	d.restart(t)
	d.gpusWays(t)
	d.runtimeWays(t)
	d.cdiWays(t)
	d.userns(t)
	d.try(t, d.cell, "nothing left", func(t *testing.T) { d.m.nothingLeft(t) })
	d.try(t, d.cell, "configure --remove", func(t *testing.T) {
		d.m.must(t, "gpu-hook configure docker --remove")
		if after := d.m.read(daemonFile); after != before {
			t.Errorf("%s is now\n%s\nand was\n%s", daemonFile, after, before)
		}
		d.m.wantRemoved(t)
		d.restart(t)
		d.noDriver(t)
	})
}

// daemonFile is Docker's configuration.
const daemonFile = "/etc/docker/daemon.json"

// noDriver checks what Docker says of --gpus without a hook.
func (d *docker) noDriver(t *testing.T) {
	t.Helper()
	got := d.m.try(t, "docker run --rm --network none "+twoGPUs+" "+baseImage+" /bin/probe")
	if got.code == 0 || !strings.Contains(got.stderr, "could not select device driver") {
		t.Errorf("without a hook docker said %q, want that it has no driver", got.stderr)
	}
}

func (d *docker) gpusWays(t *testing.T) {
	t.Helper()
	d.try(t, d.cell, "--gpus", func(t *testing.T) {
		wantGPUs(t, d.run(t, twoGPUs), cuda535)
		wantNoGPU(t, d.run(t, ""))
		wantNoGPU(t, d.run(t, "-e NVIDIA_VISIBLE_DEVICES=0,2")) // No hook without --gpus.
	})
	d.try(t, d.cell, "--gpus: env of the container", func(t *testing.T) {
		// Both variables are in config.json; the last one, Docker's, wins.
		wantGPUs(t, d.run(t, "-e NVIDIA_VISIBLE_DEVICES=3 "+twoGPUs), cuda535)
		got := d.run(t, `--gpus '"device=0,2","capabilities=utility"'`)
		if f := lab.ParseFacts(t, got)["driver:libcuda.so.1"]; f.Error == "" {
			t.Errorf("with utility alone the loader took %+v, want no libcuda", f)
		}
	})
	d.try(t, d.cell, "--gpus: failure", func(t *testing.T) { d.refused(t, `--gpus '"device=9"'`, d.cell.runtime == "runc") })
	d.try(t, d.cell, "--gpus: exec, restart", func(t *testing.T) { d.lives(t, twoGPUs) })
	d.try(t, d.cell, "--gpus: diff, commit, other driver", func(t *testing.T) { d.commits(t, twoGPUs) })
	d.try(t, d.cell, "--gpus: update", func(t *testing.T) { d.update(t, twoGPUs) })
}

func (d *docker) runtimeWays(t *testing.T) {
	t.Helper()
	const flags = "--runtime gpu " + twoByEnv
	d.try(t, d.cell, "--runtime", func(t *testing.T) {
		wantGPUs(t, d.run(t, flags), cuda535)
		wantNoGPU(t, d.run(t, "--runtime gpu"))
		wantEdited(t, d.bundle(t, flags))
	})
	d.try(t, d.cell, "--runtime: failure", func(t *testing.T) {
		d.refused(t, "--runtime gpu -e NVIDIA_VISIBLE_DEVICES=9", true) // The wrapper says so itself, whatever the runtime.
	})
	d.try(t, d.cell, "--runtime: exec, restart", func(t *testing.T) { d.lives(t, flags) })
	d.try(t, d.cell, "--runtime: diff, commit, other driver", func(t *testing.T) { d.commits(t, flags) })
	d.try(t, d.cell, "--runtime: update", func(t *testing.T) { d.update(t, flags) })
	d.try(t, d.cell, "--runtime and --gpus: one hook", func(t *testing.T) {
		wantGPUs(t, d.run(t, "--runtime gpu "+twoGPUs), cuda535)
		wantEdited(t, d.bundle(t, "--runtime gpu "+twoGPUs))
	})
	d.try(t, d.cell, "--runtime: blanks in arguments", func(t *testing.T) {
		// Docker starts a runtime with runtimeArgs through a script that quotes
		// nothing: configure writes none, so a path with a blank arrives whole.
		before := d.m.read(daemonFile)
		defer func() {
			d.m.write(t, daemonFile, before)
			d.restart(t)
		}()
		d.m.write(t, daemonFile, strings.Replace(before, `"/run/docker"`, `"/run/d ocker"`, 1))
		d.restart(t)
		wantGPUs(t, d.run(t, flags), cuda535)
		if got := d.m.must(t, "find $D/docker/runtimes -name 'gpu*' -type f"); got != "" {
			t.Errorf("Docker wrote a script for the runtime gpu: %s", got)
		}
	})
}

// userns gives each container a user namespace: its root may not make nodes, so
// they are bound.
func (d *docker) userns(t *testing.T) {
	t.Helper()
	before := d.m.read(daemonFile)
	d.m.write(t, daemonFile, strings.Replace(before, "{", `{"userns-remap": "default", `, 1))
	d.restart(t)
	d.m.must(t, "docker load -q -i "+d.images.base)
	d.try(t, d.cell, "userns-remap: --gpus", func(t *testing.T) { wantGPUs(t, d.run(t, twoGPUs), cuda535) })
	d.try(t, d.cell, "userns-remap: --runtime", func(t *testing.T) { wantGPUs(t, d.run(t, runtimeFlag+" "+twoByEnv), cuda535) })
	d.m.write(t, daemonFile, before)
	d.restart(t)
}

// cdiWays asks by CDI's names, which Docker knows since 25.
func (d *docker) cdiWays(t *testing.T) {
	t.Helper()
	if strings.HasPrefix(d.cell.version, "20.") {
		d.note(d.cell, "CDI", "n/a: Docker 20.10 has no CDI")
		return
	}
	d.m.must(t, "mkdir -p /etc/cdi; gpu-hook cdi >/etc/cdi/gpu-hook.json; sleep 0.3")
	d.try(t, d.cell, "CDI: --device", func(t *testing.T) {
		wantGPUs(t, d.run(t, "--device nvidia.com/gpu=0 --device nvidia.com/gpu=2"), cuda535)
	})
	d.try(t, d.cell, "CDI: --gpus driver=cdi", func(t *testing.T) {
		wantGPUs(t, d.run(t, `--gpus '"driver=cdi","device=nvidia.com/gpu=0,nvidia.com/gpu=2"'`), cuda535)
	})
	d.m.must(t, "rm /etc/cdi/gpu-hook.json")
}

// refused asks for a GPU that is not there: the hook's line must reach the user
// where the runtime passes it on.
func (d *docker) refused(t *testing.T, flags string, line bool) {
	t.Helper()
	got := d.m.try(t, "docker run --rm --network none "+flags+" "+baseImage+" /bin/true")
	d.m.wantLine(t, got, line, "9")
}

// wantLine checks a failure: with line, the hook's own words are in it; always
// they are in the log.
func (m *machine) wantLine(t *testing.T, got said, line bool, what string) {
	t.Helper()
	if got.code == 0 {
		t.Errorf("a GPU that is not there: exit code 0, want a failure")
	}
	if line && (!strings.Contains(got.text(), "gpu-hook: ") || !strings.Contains(got.text(), what)) {
		t.Errorf("the user read %q, want the hook's line with %q", got.text(), what)
	}
	if log := m.read("/var/log/gpu-hook.log"); !strings.Contains(log, "error") {
		t.Errorf("the log has no error:\n%s", log)
	}
}

// lives looks into a running container, and again after a restart.
func (d *docker) lives(t *testing.T, flags string) {
	t.Helper()
	id := strings.TrimSpace(d.m.must(t, "docker run -d --network none "+flags+" "+baseImage))
	defer d.m.try(t, "docker rm -f "+id)
	wantGPUs(t, d.m.must(t, "docker exec "+id+" /bin/probe"), cuda535)
	d.m.must(t, "docker restart -t 0 "+id)
	wantGPUs(t, d.m.must(t, "docker exec "+id+" /bin/probe"), cuda535)
}

// commits looks at what a GPU container changed in its image, and runs the
// result with another driver and without a GPU.
func (d *docker) commits(t *testing.T, flags string) {
	t.Helper()
	id := strings.TrimSpace(d.m.must(t, "docker run -d --network none "+flags+" "+baseImage))
	defer d.m.try(t, "docker rm -f "+id)
	d.m.must(t, "docker exec "+id+" /bin/probe")
	wantClean(t, d.m.must(t, "docker diff "+id), d.m.must(t, "docker export "+id+" | tar -tv"))
	d.m.must(t, "docker commit "+id+" localhost/committed:1")
	defer d.m.try(t, "docker rmi localhost/committed:1")
	d.m.use(t, d.host550)
	defer d.m.use(t, d.host535)
	wantGPUs(t, d.m.must(t, "docker run --rm --network none "+flags+" localhost/committed:1 /bin/probe"), cuda550)
	wantNoGPU(t, d.m.must(t, "docker run --rm --network none localhost/committed:1 /bin/probe"))
}

// update asks for what every version can give on every layout: the call to the
// runtime is the same.
func (d *docker) update(t *testing.T, flags string) {
	t.Helper()
	id := strings.TrimSpace(d.m.must(t, "docker run -d --network none "+flags+" "+baseImage))
	defer d.m.try(t, "docker rm -f "+id)
	got := d.m.try(t, "docker update --restart always "+id)
	if got.code != 0 && !strings.Contains(got.stderr, "limit_in_bytes") { // 20.10 writes zeros, which v1 may refuse.
		t.Errorf("docker update: %s", got.stderr)
	}
	wantGPUs(t, d.m.must(t, "docker exec "+id+" /bin/probe"), cuda535)
}

// bundle returns the config.json of a running container.
func (d *docker) bundle(t *testing.T, flags string) specs.Spec {
	t.Helper()
	id := strings.TrimSpace(d.m.must(t, "docker run -d --network none "+flags+" "+baseImage))
	defer d.m.try(t, "docker rm -f "+id)
	return decode[specs.Spec](t, d.m.must(t, "cat /run/docker/containerd/daemon/io.containerd.runtime.v2.task/moby/"+id+"/config.json"))
}
