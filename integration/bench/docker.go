package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// benchImage is the image of all runs, as Docker knows it.
const benchImage = "localhost/bench:1"

// cdiSince is the first Docker whose docker run --device takes CDI names.
const cdiSince = 25

// way is one way to run a container, with the time of each run.
type way struct {
	name  string
	flags []string
	times []time.Duration
}

// runDocker measures docker run and returns the ratio of gpu-hook to plain.
func runDocker(t lab.T, o options) float64 {
	client, found := programs(t)
	if o.peer != "" && major(found) < cdiSince {
		t.Fatalf("Docker %s has no CDI: PEER_CDI needs Docker %d or later", found, cdiSince)
	}
	need.Root(t)
	need.MountNS(t)
	// An interrupt ends the runs, not the program: the daemon is to be stopped.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	dir := lab.Temp(t)
	peer := ""
	if o.peer != "" {
		peer = filepath.Base(o.peer)
		lab.Install(t, o.peer, filepath.Join(dir, peer))
	}
	log := filepath.Join(dir, "hook.log")
	root := o.hostRoot
	if root == "" {
		root = standIn(t, o.capabilities).Dir
	}
	lab.Write(t, filepath.Join(dir, "config.toml"),
		"host-root = \""+root+"\"\nload-kernel-modules = false\n[log]\nfile = \""+log+"\"\nlevel = \"info\"\n")
	// dockerd looks for this name on its PATH when it starts.
	lab.Link(t, lab.Hook(t), filepath.Join(dir, "bin", "nvidia-container-runtime-hook"))
	d := startDaemon(t, dir, client, peer)
	d.load(t, lab.Root(t, lab.Glibc))

	ways := []way{{name: "plain"}, {name: "gpu-hook", flags: []string{"--gpus", "all"}}}
	if peer != "" {
		ways = append(ways, way{name: "CDI", flags: []string{"--device", "nvidia.com/gpu=all"}})
	}
	d.rounds(t, stop, ways, 3, o.capabilities) // The page cache, the dentry cache and the CPU warm up.
	if lab.Content(log) == "" {
		t.Fatalf("docker run --gpus all did not start gpu-hook: Docker %s gave the GPUs another way", found)
	}
	for i := range ways {
		ways[i].times = nil
	}
	d.rounds(t, stop, ways, o.pairs, o.capabilities)
	driver, err := d.docker("info", "--format", "{{.Driver}}, cgroup v{{.CgroupVersion}}")
	if err != nil {
		t.Fatalf("%v", err)
	}
	host := "a stand-in host with 8 GPUs"
	if o.hostRoot != "" {
		host = "the host at " + o.hostRoot
	}
	fmt.Printf("%d pairs, docker run --rm --network none IMAGE /bin/true, Docker %s (%s), %s\n\n", o.pairs, found, driver, host)
	return printWays(os.Stdout, ways)
}

// standIn makes a host with 8 GPUs.
func standIn(t lab.T, capabilities string) *lab.StandIn {
	driver := lab.DriverFiles
	if capabilities == "all" {
		driver = func(t lab.T, _ string) lab.Driver { return lab.FullDriver(t) }
	}
	host := lab.Host(t, lab.HostSpec{Driver: driver(t, "535"), Layout: lab.Debian, GPUs: lab.GPUs(8, lab.A100)})
	if capabilities == "all" {
		host.DRI(t)
	}
	return host
}

// load makes a tree the image of all runs.
func (d *daemon) load(t lab.T, root string) {
	file := filepath.Join(d.dir, "image.tar")
	if out, err := exec.Command("tar", "-C", root, "-cf", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("pack the image: %v: %s", err, out)
	}
	if _, err := d.docker("import", file, benchImage); err != nil {
		t.Fatalf("%v", err)
	}
}

// rounds runs all ways n times, each round beginning with the next of them.
func (d *daemon) rounds(t lab.T, stop <-chan os.Signal, ways []way, n int, capabilities string) {
	for i := range n {
		for j := range ways {
			select {
			case got := <-stop:
				t.Fatalf("ended by a signal: %v", got)
			default:
			}
			w := &ways[(i+j)%len(ways)]
			w.times = append(w.times, d.run(t, w.flags, capabilities))
		}
	}
}

// run runs a container and returns how long the client took.
func (d *daemon) run(t lab.T, flags []string, capabilities string) time.Duration {
	args := append([]string{"run", "--rm", "--network", "none", "-e", "NVIDIA_DRIVER_CAPABILITIES=" + capabilities}, flags...)
	begin := time.Now()
	_, err := d.docker(append(args, benchImage, "/bin/true")...)
	took := time.Since(begin)
	if err != nil {
		t.Fatalf("%v\n%s", err, d.log())
	}
	return took
}

// printWays prints the times of each way, the first of which is the plain one
// and the second gpu-hook, and how they compare within a pair. It returns the
// ratio of gpu-hook to plain.
func printWays(w io.Writer, ways []way) float64 {
	head(w, "docker run, ms")
	for _, x := range ways {
		row(w, x.name, inMs(x.times))
	}
	compare := func(x, y way) float64 {
		ratio := row(w, x.name+" / "+y.name, each(inMs(x.times), inMs(y.times), over))
		row(w, x.name+" - "+y.name+", ms", each(inMs(x.times), inMs(y.times), minus))
		return ratio
	}
	plain, hook := ways[0], ways[1]
	ratio := compare(hook, plain)
	for _, peer := range ways[2:] {
		compare(peer, plain)
		compare(hook, peer)
	}
	return ratio
}
