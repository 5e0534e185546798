package engines

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// containerd is a containerd in a machine.
type containerd struct {
	*matrix
	m    *machine
	cell cell
	two  bool // version 2: another configuration file, CDI
	stop func()
	// before is the configuration without gpu-hook.
	before string
}

func containerdCells() []cell {
	return []cell{
		{"containerd", "bookworm", "runc", lab.Machine},
		{"containerd", "bookworm", "runc", lab.V2},
		{"containerd", "bookworm", "crun", lab.V1},
		{"containerd", "sid", "runc", lab.Machine},
		{"containerd", "sid", "runc", lab.V2},
		{"containerd", "sid", "crun", lab.V1},
		{"containerd", "sid", "crun", lab.V2},
	}
}

func (x *matrix) containerd(t *testing.T) {
	t.Parallel()
	for _, c := range containerdCells() {
		suite := c.version
		t.Run(suite+"-"+layout(c.cgroups)+"-"+c.runtime, func(t *testing.T) {
			t.Parallel()
			d := &containerd{matrix: x, m: boot(t, suite, c.cgroups), cell: c, two: suite == "sid"}
			words := strings.Fields(d.m.must(t, "containerd --version")) // "containerd github.com/containerd/containerd 1.6.20~ds1 ..."
			d.cell.version = strings.FieldsFunc(words[2], func(r rune) bool { return r == '~' || r == '+' })[0]
			x.refusals(d.cell, suite)
			d.setUp(t)
			d.ctrWays(t)
			d.criWays(t)
			d.kubernetes(t)
			d.try(t, d.cell, "nothing left", func(t *testing.T) { d.m.nothingLeft(t) })
		})
	}
}

// containerdFile is its configuration.
const containerdFile = "/etc/containerd/config.toml"

// The configuration of both versions: %[1]s is the data folder, %[2]s the
// runtime. The sandbox's OOM score needs CAP_SYS_RESOURCE otherwise.
const (
	configOne = `version = 2
root = "%[1]s"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc" # the usual one
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      container_annotations = ["cdi.k8s.io/*"]
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "%[2]s"
`
	configTwo = `version = 3
root = "%[1]s"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "localhost/pause:1"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc" # the usual one
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "%[2]s"
`
)

func (d *containerd) setUp(t *testing.T) {
	t.Helper()
	recorder := d.record(t, d.m, d.cell.runtime)
	d.m.runtime = recorder
	d.m.use(t, d.host535)
	lab.Install(t, d.cri, d.m.path("/usr/local/bin/cri"))
	d.before = d.config(recorder)
	d.m.write(t, containerdFile, d.before)
	d.restart(t)
	for _, namespace := range []string{"default", "k8s.io"} {
		d.m.must(t, "ctr -n "+namespace+" images import "+d.images.base)
	}
	d.m.must(t, "ctr -n k8s.io images import "+d.images.pause)
}

// config is the configuration before gpu-hook.
func (d *containerd) config(recorder string) string {
	return fmt.Sprintf(map[bool]string{false: configOne, true: configTwo}[d.two], d.m.dir+"/containerd", recorder)
}

// removes takes gpu-hook out: the bytes that were there, and no handler.
func (d *containerd) removes(t *testing.T) {
	t.Helper()
	d.m.must(t, "gpu-hook configure containerd --remove")
	d.wantBefore(t)
}

func (d *containerd) wantBefore(t *testing.T) {
	t.Helper()
	if after := d.m.read(containerdFile); after != d.before {
		t.Errorf("%s is now\n%s\nand was\n%s", containerdFile, after, d.before)
	}
	d.m.wantRemoved(t)
	d.restart(t)
	if r := d.m.pod(t, criOrder{Name: "gone", Handler: "gpu"}); !strings.Contains(r.Error, "no runtime for") {
		t.Errorf("after the removal the handler gpu says %q", r.Error)
	}
}

// restart starts containerd anew with the configuration there is.
func (d *containerd) restart(t *testing.T) {
	t.Helper()
	if d.stop != nil {
		d.stop()
	}
	d.stop = d.m.daemon(t, "containerd", "containerd", "ctr version")
}

// ctr is a command that runs the probe; each needs an id of its own.
func (d *containerd) ctr(flags, id string) string {
	return fmt.Sprintf("ctr run --rm --cgroup /%s/%s %s %s %s /bin/probe", d.m.parent, id, flags, baseImage, id)
}

func (d *containerd) ctrWays(t *testing.T) {
	t.Helper()
	d.try(t, d.cell, "ctr: own spec", func(t *testing.T) {
		root := d.m.dir + "/rootfs"
		lab.CopyTree(t, d.root, root)
		d.m.write(t, "/tmp/edit.sh", `set -e
ctr oci spec | sed -e 's|"path":"rootfs"|"path":"`+root+`"|;s|"path": "rootfs"|"path": "`+root+`"|' \
	-e 's|"cgroupsPath": *"[^"]*"|"cgroupsPath":"/`+d.m.parent+`/own"|' >/tmp/plain.json
`)
		d.m.must(t, "sh /tmp/edit.sh")
		spec := decode[map[string]any](t, d.m.read("/tmp/plain.json"))
		process, _ := spec["process"].(map[string]any)
		process["args"] = []string{"/bin/probe"}
		process["env"] = []string{"PATH=/usr/bin:/bin", "NVIDIA_VISIBLE_DEVICES=0,2"}
		delete(process, "terminal")
		delete(process, "rlimits")
		spec["hooks"] = map[string]any{"prestart": []any{map[string]any{"path": "/usr/local/bin/gpu-hook", "args": []string{"gpu-hook", "prestart"}}}}
		d.m.write(t, "/tmp/spec.json", string(encode(t, spec)))
		wantGPUs(t, d.m.must(t, "ctr run --rm --runc-binary /usr/local/bin/recorder --config /tmp/spec.json own"), cuda535)
	})
	d.m.must(t, "gpu-hook configure containerd")
	d.try(t, d.cell, "ctr: --runc-binary", func(t *testing.T) {
		wantGPUs(t, d.m.must(t, d.ctr("--runc-binary /usr/local/bin/gpu-runtime --env NVIDIA_VISIBLE_DEVICES=0,2", "two")), cuda535)
		wantEdited(t, d.m.recorded(t)[""])
		wantNoGPU(t, d.m.must(t, d.ctr("--runc-binary /usr/local/bin/gpu-runtime", "none")))
		wantPlain(t, d.m.recorded(t)[""])
	})
	d.try(t, d.cell, "ctr: failure reaches the user", func(t *testing.T) {
		d.m.wantLine(t, d.m.try(t, d.ctr("--runc-binary /usr/local/bin/gpu-runtime --env NVIDIA_VISIBLE_DEVICES=9", "bad")), true, "9")
	})
}

// asksTwo is the environment of a container that wants two GPUs.
func asksTwo() map[string]string { return map[string]string{"NVIDIA_VISIBLE_DEVICES": "0,2"} }

func (d *containerd) criWays(t *testing.T) {
	t.Helper()
	d.restart(t)
	d.try(t, d.cell, "CRI handler", func(t *testing.T) {
		d.m.recorded(t)
		r := d.m.pod(t, criOrder{Name: "handler", Handler: "gpu", Env: asksTwo(), Update: true}).lived(t, d.m)
		wantGPUs(t, r.Exec[0].Stdout, cuda535)
		wantGPUs(t, r.ExecAfter[0].Stdout, cuda535) // The rules stand in config.json: an update keeps them.
		made := d.m.recorded(t)
		wantEdited(t, made["container"])
		wantPlain(t, made["sandbox"])
		d.wantUpdate(t)
	})
	d.try(t, d.cell, "CRI handler: no GPU asked", func(t *testing.T) {
		wantNoGPU(t, d.m.pod(t, criOrder{Name: "none", Handler: "gpu"}).lived(t, d.m).Exec[0].Stdout)
		wantNoGPU(t, d.m.pod(t, criOrder{Name: "plain", Env: asksTwo()}).lived(t, d.m).Exec[0].Stdout)
	})
	d.try(t, d.cell, "CRI handler: volume list", func(t *testing.T) { d.volumes(t) })
	d.try(t, d.cell, "CRI handler: failure", func(t *testing.T) {
		r := d.m.pod(t, criOrder{Name: "bad", Handler: "gpu", Env: map[string]string{"NVIDIA_VISIBLE_DEVICES": "9"}})
		if !strings.Contains(r.Error, "gpu-hook: ") {
			t.Errorf("the kubelet reads %q at %s, want the line", r.Error, r.Step)
		}
	})
	d.cdiWays(t)
	d.try(t, d.cell, "configure --remove", func(t *testing.T) { d.removes(t) })
	d.m.must(t, "gpu-hook configure containerd --base-spec")
	d.restart(t)
	d.try(t, d.cell, "CRI base spec", func(t *testing.T) {
		d.m.recorded(t)
		r := d.m.pod(t, criOrder{Name: "base", Handler: "gpu", Env: asksTwo(), Update: true}).lived(t, d.m)
		wantGPUs(t, r.Exec[0].Stdout, cuda535)
		if d.cell.runtime == "crun" {
			d.remark(t, "pass: but crun's update loses the rules (the handler keeps them)")
			wantClosed(t, r.ExecAfter[0].Stdout)
		} else {
			wantGPUs(t, r.ExecAfter[0].Stdout, cuda535)
		}
		made := d.m.recorded(t)
		wantPlain(t, made["sandbox"]) // A base specification is for containers alone.
		if n := ourHooks(made["container"]); n != 1 {
			t.Errorf("config.json has our hook %d times, want once", n)
		}
		wantNoGPU(t, d.m.pod(t, criOrder{Name: "basenone", Handler: "gpu"}).lived(t, d.m).Exec[0].Stdout)
	})
	d.try(t, d.cell, "CRI base spec: failure", func(t *testing.T) {
		r := d.m.pod(t, criOrder{Name: "bad", Handler: "gpu", Env: map[string]string{"NVIDIA_VISIBLE_DEVICES": "9"}})
		if r.Error == "" || d.cell.runtime == "runc" && !strings.Contains(r.Error, "gpu-hook: ") {
			t.Errorf("the kubelet reads %q at %s, want the line", r.Error, r.Step)
		}
	})
}

// wantUpdate checks that the wrapper passed the update on as it came: as two
// words from containerd 1, as one from 2.
func (d *containerd) wantUpdate(t *testing.T) {
	t.Helper()
	calls := d.m.calls("update")
	want := `"--resources","-"`
	if d.two {
		want = `"--resources=-"`
	}
	if len(calls) == 0 || !strings.Contains(calls[len(calls)-1], want) {
		t.Errorf("the runtime was called with %q, want %s", calls, want)
	}
}

// volumes asks as Kubernetes' device plugin does: by mounts that an image
// cannot make, so its environment names only their folder.
func (d *containerd) volumes(t *testing.T) {
	t.Helper()
	const folder = "/var/run/nvidia-container-devices"
	o := criOrder{Name: "volumes", Handler: "gpu", Env: map[string]string{"NVIDIA_VISIBLE_DEVICES": folder}}
	for _, gpu := range []int{0, 2} {
		o.Mounts = append(o.Mounts, criMount{"/dev/null", folder + "/" + d.host535.GPUs[gpu].UUID})
	}
	wantGPUs(t, d.m.pod(t, o).lived(t, d.m).Exec[0].Stdout, cuda535)
}

// cdiWays asks by CDI's names: in CDIDevices and in annotations, which
// containerd 2 understands itself and the wrapper where containerd passes them.
func (d *containerd) cdiWays(t *testing.T) {
	t.Helper()
	annotations := map[string]string{"cdi.k8s.io/plugin": "nvidia.com/gpu=0,nvidia.com/gpu=2"}
	if !d.two {
		d.try(t, d.cell, "CRI handler: CDI annotation", func(t *testing.T) {
			r := d.m.pod(t, criOrder{Name: "annotation", Handler: "gpu", Annotations: annotations}).lived(t, d.m)
			wantGPUs(t, r.Exec[0].Stdout, cuda535)
		})
		d.note(d.cell, "CRI CDI", "n/a: containerd 1.6 has no CDI")
		return
	}
	d.m.must(t, "mkdir -p /etc/cdi; gpu-hook cdi >/etc/cdi/gpu-hook.json")
	d.m.must(t, "sleep 0.3") // containerd watches the folder.
	for way, o := range map[string]criOrder{
		"CRI CDI: devices":    {Name: "cdi", CDI: []string{"nvidia.com/gpu=0", "nvidia.com/gpu=2"}, Update: true},
		"CRI CDI: annotation": {Name: "annotation", Annotations: maps.Clone(annotations)},
	} {
		d.try(t, d.cell, way, func(t *testing.T) {
			r := d.m.pod(t, o).lived(t, d.m)
			wantGPUs(t, r.Exec[0].Stdout, cuda535)
			if o.Update {
				wantGPUs(t, r.ExecAfter[0].Stdout, cuda535)
			}
		})
	}
	d.m.must(t, "rm /etc/cdi/gpu-hook.json")
}
