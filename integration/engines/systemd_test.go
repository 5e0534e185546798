package engines

import (
	_ "embed" // The script of the first process is a file of its own.
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

//go:embed testdata/systemd.sh
var systemdScript string

// systemd is a machine that its own systemd runs, with Docker and containerd as
// units and systemd as the cgroup driver.
func (x *matrix) systemd(t *testing.T) {
	t.Parallel()
	need.SystemdBox(t)
	need.BPF(t)
	tree := lab.System(t, "bookworm", "systemd", "dbus", "systemd-sysv", "docker.io", "containerd", "runc", "podman", "containernetworking-plugins", "uidmap")
	m, leader := begin(t, tree, systemdScript)
	m.leader, m.suite, m.cgroups, m.slice = leader, "bookworm", lab.V2, "/kubepods.slice"
	m.must(t, "for i in $(seq 200); do systemctl is-active -q basic.target && exit 0; sleep 0.1; done; exit 1")
	lab.Install(t, os.Getenv(lab.BinaryVar), m.path("/usr/local/bin/gpu-hook"))
	x.systemdDocker(t, m)
	x.systemdContainerd(t, m)
}

// reload is what drops rules that systemd does not know of.
const reload = "systemctl daemon-reload && systemctl daemon-reload"

func (x *matrix) systemdDocker(t *testing.T, m *machine) {
	t.Helper()
	c := cell{"docker", "20.10.24", "runc+systemd", lab.V2}
	m.use(t, x.host535)
	m.write(t, daemonFile, fmt.Sprintf(`{"bridge": "none", "iptables": false, "ip6tables": false, "data-root": %q, "exec-opts": ["native.cgroupdriver=systemd"]}`, m.dir+"/docker"))
	m.must(t, "gpu-hook configure docker && systemctl restart docker && docker load -q -i "+x.images.base)
	if got := strings.TrimSpace(m.must(t, "docker info -f '{{.CgroupDriver}} {{.CgroupVersion}}'")); got != "systemd 2" {
		t.Fatalf("Docker's cgroup driver is %q, want systemd on v2", got)
	}
	for way, flags := range map[string]string{"--gpus": twoGPUs, "--runtime": runtimeFlag + " " + twoByEnv} {
		x.try(t, c, way+": daemon-reload", func(t *testing.T) {
			id := strings.TrimSpace(m.must(t, "docker run -d --network none "+flags+" "+baseImage))
			defer m.try(t, "docker rm -f "+id)
			wantGPUs(t, m.must(t, "docker exec "+id+" /bin/probe"), cuda535)
			m.must(t, reload)
			wantGPUs(t, m.must(t, "docker exec "+id+" /bin/probe"), cuda535)
		})
	}
	m.must(t, "systemctl stop docker docker.socket")
}

// systemdContainerd goes the whole way of a node: the DaemonSet's pod installs,
// systemd restarts containerd, a pod gets its GPUs and keeps them, and the end
// of the DaemonSet's pod undoes it all.
func (x *matrix) systemdContainerd(t *testing.T, m *machine) {
	t.Helper()
	d := &containerd{matrix: x, m: m, cell: cell{"containerd", "1.6.20", "runc+systemd", lab.V2}}
	recorder := x.record(t, m, "runc")
	m.runtime = recorder
	m.use(t, x.host535)
	lab.Install(t, x.cri, m.path("/usr/local/bin/cri"))
	d.before = strings.Replace(d.config(recorder), "BinaryName", "SystemdCgroup = true\n        BinaryName", 1)
	m.write(t, containerdFile, d.before)
	m.must(t, "systemctl restart containerd && for f in "+x.images.base+" "+x.images.pause+" "+x.installer+"; do ctr -n k8s.io images import $f; done; rm /usr/local/bin/gpu-hook")
	d.try(t, d.cell, "Kubernetes: DaemonSet, daemon-reload", func(t *testing.T) {
		o := installerPod(t)
		o.WaitFor = m.dir + "/end"
		done := make(chan criReport, 1)
		started := m.must(t, "systemctl show -p ExecMainStartTimestampMonotonic containerd")
		go func() { done <- m.pod(t, o) }()
		for range 500 {
			if m.try(t, "systemctl show -p ExecMainStartTimestampMonotonic containerd").stdout != started && m.try(t, "ctr version").code == 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		mark := m.dir + "/mark"
		check(t, os.Mkdir(mark, 0o755))
		user := criOrder{
			Name: "user", Handler: "gpu", Env: asksTwo(), WaitFor: m.dir + "/reloaded", Mounts: []criMount{{mark, "/mark"}},
			Exec: [][]string{{"/bin/sh", "-c", "/bin/probe; touch /mark/probed"}},
		}
		ran := make(chan criReport, 1)
		go func() { ran <- m.pod(t, user) }()
		for range 500 {
			if _, err := os.Stat(mark + "/probed"); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		m.must(t, reload)
		lab.Write(t, user.WaitFor, "")
		r := <-ran
		lab.Write(t, o.WaitFor, "")
		i := <-done
		if r.Error != "" || i.Error != "" {
			t.Fatalf("user: %s\ninstaller: %s\n%s", r.Error, i.Error, m.tail(m.dir+"/logs/installer.log"))
		}
		wantGPUs(t, r.Exec[0].Stdout, cuda535)
		wantGPUs(t, r.ExecAfter[0].Stdout, cuda535)
		for range 100 { // The last thing that the installer does is to ask for a restart.
			if m.try(t, "ctr version").code == 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if after := m.read(containerdFile); after != d.before {
			t.Errorf("%s is now\n%s\nand was\n%s", containerdFile, after, d.before)
		}
	})
}
