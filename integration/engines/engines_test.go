package engines

import (
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// matrix is what all cells share.
type matrix struct {
	table
	images           images
	root             string // what the image is made of
	host535, host550 *lab.StandIn
	cri, recorder    string // programs
	installer        string // the DaemonSet's image
}

// TestEngines is the matrix: engine, version, cgroup layout, runtime, way.
func TestEngines(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.MountNS(t)
	need.Overlay(t)
	need.Packages(t)
	need.DriverFiles(t)
	x := &matrix{
		images:  makeImages(t),
		host535: lab.Host(t, lab.HostSpec{Driver: lab.DriverFiles(t, "535"), Layout: lab.Debian, GPUs: lab.GPUs(4, lab.A100)}),
		host550: lab.Host(t, lab.HostSpec{Driver: lab.DriverFiles(t, "550"), GPUs: lab.GPUs(4, lab.A100)}),
	}
	x.root = x.images.root
	x.cri, x.recorder = criClient(t), lab.Temp(t)+"/recorder"
	lab.Build(t, x.recorder, "./integration/engines/recorder")
	x.installer = installerImage(t)
	for _, suite := range []string{"bookworm", "sid"} {
		tree(t, suite) // Once, before two cells want it.
	}
	x.note(cell{"cri-o", "-", "-", lab.Machine}, "-", "n/a: no package and no Go module to build it from; hook/engine tests its configuration formats")
	t.Cleanup(func() { x.print(t) })
	t.Run("docker", x.docker)
	t.Run("podman", x.podman)
	t.Run("containerd", x.containerd)
	t.Run("systemd", x.systemd)
}

// refusals notes, beside a cell that can be tested, those of the same engine
// that cannot: crun starts nothing there.
func (x *matrix) refusals(c cell, suite string) {
	if c.runtime != "crun" || c.cgroups != lab.V1 {
		return
	}
	c.cgroups = lab.Machine
	x.note(c, "-", "n/a: crun refuses a mixture of cgroup v1 and v2")
	c.cgroups = lab.V2
	switch {
	case suite == "bookworm":
		x.note(c, "-", "n/a: crun 1.8.1 raises RLIMIT_MEMLOCK on v2, which needs CAP_SYS_RESOURCE")
	case c.engine == "docker":
		x.note(c, "-", "n/a: crun wants the controller io for Docker's containers; the tests' v2 lacks it")
	}
}
