package engines

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// rootless is an ordinary user with engines of their own, in a machine.
type rootless struct {
	m      *machine
	images images
	host   *lab.StandIn
	cell   string
	home   string
}

// TestRootless runs the engines of an ordinary user, and Docker with
// userns-remap. The configuration file is the one of root's engines.
func TestRootless(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs minutes")
	}
	need.Root(t)
	need.MountNS(t)
	need.UserNS(t)
	need.Overlay(t)
	need.Packages(t)
	need.CC(t)
	pictures := makeImages(t)
	host := lab.Host(t, lab.HostSpec{Driver: lab.MadeDriver(t, "535.261.03", cuda535), GPUs: lab.GPUs(4, lab.A100)})
	rootlesskit := lab.Packages(t, "bookworm", "rootlesskit")
	tree(t, "bookworm")
	for _, c := range []struct {
		name    string
		cgroups lab.Cgroups
		test    func(*testing.T, *rootless)
	}{
		{"podman-runc-machine", lab.Machine, func(t *testing.T, r *rootless) { r.podman(t, "runc") }},
		{"podman-runc-v2", lab.V2, func(t *testing.T, r *rootless) { r.podman(t, "runc") }},
		{"podman-crun-v1", lab.V1, func(t *testing.T, r *rootless) { r.podman(t, "crun") }},
		{"docker-runc-machine", lab.Machine, func(t *testing.T, r *rootless) { r.docker(t, rootlesskit) }},
		{"runc-ranges-machine", lab.Machine, func(t *testing.T, r *rootless) { r.ranges(t) }},
		{"remap-runc-machine", lab.Machine, func(t *testing.T, r *rootless) { r.remap(t) }},
		{"remap-runc-v2", lab.V2, func(t *testing.T, r *rootless) { r.remap(t) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &rootless{m: boot(t, "bookworm", c.cgroups), images: pictures, host: host, cell: c.name}
			r.addUser(t)
			c.test(t, r)
		})
	}
}

const user = "gpuuser"

// addUser makes an account with subordinate ids, in the machine's own /etc.
func (r *rootless) addUser(t *testing.T) {
	t.Helper()
	r.home = r.m.dir + "/home"
	r.m.must(t, "useradd -m -d "+r.home+" "+user+" && grep "+user+" /etc/subuid /etc/subgid")
	r.m.must(t, "mkdir -p /run/user/$(id -u gpuuser) && chown gpuuser /run/user/$(id -u gpuuser) && chmod 700 /run/user/$(id -u gpuuser)")
	r.m.write(t, "/etc/gpu-hook/config.toml", "host-root = \""+r.host.Dir+"\"\nload-kernel-modules = false\n[log]\nfile = \""+r.home+"/hook.log\"\n")
	r.m.must(t, "chmod 644 /etc/gpu-hook/config.toml; chmod 755 /etc/gpu-hook")
}

// as is a shell line that the user runs.
func (r *rootless) as(script string) string {
	return "exec setpriv --reuid gpuuser --regid gpuuser --init-groups --reset-env env PATH=$PATH D=$D " +
		"sh -c 'export XDG_RUNTIME_DIR=/run/user/$(id -u) HOME=" + r.home + "; cd $HOME; umask 077; " + strings.ReplaceAll(script, "'", `'\''`) + "'"
}

// inContainer asks all that a rootless container is promised.
const inContainer = "/bin/probe; /bin/witness open:/dev/nvidia1 open:/dev/nvidia3 open:/dev/nvidia-modeset open:/dev/kmsg open:/dev/null " +
	"node:/dev/one:195:1 node:/tmp/kmsg:1:11 stat:/etc/ld.so.cache stat:/usr/bin/nvidia-smi write:/usr/local/nvidia/lib64/x; " +
	"ldconfig >/tmp/out 2>&1; echo ldconfig=$?; cat /tmp/out; find / -xdev -size 0 -name \"*nvidia*\" -type f; find / -xdev -size 0 -name \"libcuda*\" -type f"

// check compares what a container said with the promises, and notes a line.
func (r *rootless) check(t *testing.T, cell, stdout, entry string, root bool) {
	t.Helper()
	facts := lab.ParseFacts(t, stdout)
	opens, refused := 0, 0
	for _, name := range []string{"nvidia0", "nvidia2", "nvidiactl", "nvidia-uvm"} {
		if e := syscall.Errno(facts["open:/dev/"+name].Errno); e == syscall.ENXIO {
			opens++
		} else {
			t.Errorf("open /dev/%s: %v, want ENXIO", name, e)
		}
	}
	if got := facts["driver:libcuda.so.1"]; got.Value != cuda535 || got.Path != "/usr/local/nvidia/lib64/libcuda.so.1" {
		t.Errorf("the loader took %+v, want the host's libcuda from the private tree", got)
	}
	if got := facts["load:libnvidia-ml.so.1"]; got.Error != "" {
		t.Errorf("load libnvidia-ml.so.1: %s", got.Error)
	}
	for _, question := range []string{
		"open:/dev/nvidia1", "open:/dev/nvidia3", "open:/dev/nvidia-modeset", "open:/dev/kmsg",
		"node:/dev/one:195:1", "node:/tmp/one:195:1", "node:/tmp/kmsg:1:11",
	} {
		switch e := syscall.Errno(facts[question].Errno); e {
		case syscall.EPERM, syscall.EACCES, syscall.ENOENT:
			refused++
		default:
			t.Errorf("%s: %v, want it refused", question, e)
		}
	}
	if e := facts["open:/dev/null"].Errno; e != 0 {
		t.Errorf("open /dev/null: %v", syscall.Errno(e))
	}
	if e := syscall.Errno(facts["write:/usr/local/nvidia/lib64/x"].Errno); e != syscall.EROFS {
		t.Errorf("write into the tree: %v, want EROFS", e)
	}
	for _, question := range []string{"stat:/etc/ld.so.cache", "stat:/usr/bin/nvidia-smi"} {
		if f := facts[question]; f.Errno != 0 || f.UID != 0 || f.GID != 0 {
			t.Errorf("%s: %+v, want it there and the container's root's", question, f)
		}
	}
	if root && !strings.HasSuffix(stdout, "ldconfig=0\n") {
		t.Errorf("want no complaint of ldconfig and no leftovers:\n%s", stdout)
	}
	log := r.m.read(r.home + "/hook.log")
	if !strings.Contains(log, "entry="+entry+" ") {
		t.Errorf("want entry=%s in the log:\n%s", entry, log)
	}
	if strings.Contains(log, "level=warning") {
		t.Errorf("want no warnings in the log:\n%s", log)
	}
	r.m.must(t, "rm -f "+r.home+"/hook.log")
	lab.NoteAccess(t, cell, "%-16s opens %d/4  refused %d/7", entry, opens, refused)
}

// podman is rootless Podman, whose hooks are in the user namespace of its
// containers, or in the one above.
func (r *rootless) podman(t *testing.T, runtime string) {
	t.Helper()
	p := podman{m: r.m}
	p.register(t, "/usr/local/bin/gpu-hook", "prestart")
	engine := "podman --cgroup-manager=cgroupfs --runtime " + runtime
	r.m.must(t, r.as("podman load -q -i "+r.images.base))
	for _, way := range []struct {
		name, flags, entry string
		root               bool
	}{
		{"", "", "setns", true},
		{" keep-id", "--userns=keep-id", "user-namespace", false},
		{" keep-id, root", "--userns=keep-id --user 0:0", "user-namespace", true},
		{" nomap", "--userns=nomap", "user-namespace", true},
		{" uidmap", "--uidmap 0:1:5000 --gidmap 0:1:5000", "user-namespace", true},
		{" read-only", "--read-only --tmpfs /tmp", "setns", false},
	} {
		t.Run("podman"+way.name, func(t *testing.T) {
			out := r.m.must(t, r.as(engine+" run --rm --network none -e NVIDIA_VISIBLE_DEVICES=0,2 "+way.flags+" "+baseImage+" sh -c '"+inContainer+"'"))
			r.check(t, r.cell+way.name, out, way.entry, way.root)
		})
	}
	r.leavesNothing(t, engine)
	t.Run("root's podman", func(t *testing.T) { r.rootful(t, runtime) })
}

// rootful is root's Podman with id mappings.
func (r *rootless) rootful(t *testing.T, runtime string) {
	t.Helper()
	r.m.write(t, "/etc/gpu-hook/config.toml", "host-root = \""+r.host.Dir+"\"\nload-kernel-modules = false\n[log]\nfile = \""+r.home+"/hook.log\"\n")
	engine := "podman --root " + r.m.dir + "/rootful --runroot /run/rootful --cgroup-manager=cgroupfs --runtime " + runtime
	r.m.must(t, "chmod 755 "+r.m.dir+"; "+engine+" load -q -i "+r.images.base)
	flags := " --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --cgroup-parent /" + r.m.parent
	if r.m.cgroups == lab.V2 {
		flags += " --pids-limit -1"
	}
	out := r.m.must(t, engine+" run --rm --network none --cgroups=no-conmon --uidmap 0:200000:5000"+flags+" -e NVIDIA_VISIBLE_DEVICES=0,2 "+baseImage+" sh -c '"+inContainer+"'")
	r.check(t, "root's "+r.cell+" uidmap", out, "user-namespace", true)
}

// leavesNothing looks at a running container: the user's record of it, no log
// where none can be written, and nothing on the host.
func (r *rootless) leavesNothing(t *testing.T, engine string) {
	t.Helper()
	before := r.m.must(t, "cat /proc/self/mountinfo")
	r.m.write(t, "/etc/gpu-hook/config.toml", "host-root = \""+r.host.Dir+"\"\nload-kernel-modules = false\n")
	id := strings.TrimSpace(r.m.must(t, r.as(engine+" run -d --network none -e NVIDIA_VISIBLE_DEVICES=0 "+baseImage)))
	if out := r.m.must(t, r.as("gpu-hook ps")); !strings.Contains(out, id) {
		t.Errorf("gpu-hook ps of the user does not name %s:\n%s", id, out)
	}
	r.m.must(t, r.as(engine+" rm -f -t 0 "+id))
	if out := r.m.must(t, "ls -d /run/gpu-hook /var/log/gpu-hook.log 2>/dev/null; :"); out != "" {
		t.Errorf("the user's hook made %s", out)
	}
	if after := r.m.must(t, "cat /proc/self/mountinfo"); after != before {
		t.Errorf("mounts on the host:\n%s\nbefore:\n%s", after, before)
	}
}

// docker is rootless Docker in RootlessKit, whose hooks are root of its user
// namespace. No script of Docker's is needed.
func (r *rootless) docker(t *testing.T, rootlesskit string) {
	t.Helper()
	for _, name := range []string{"rootlesskit", "rootlesskit-docker-proxy"} {
		lab.Install(t, rootlesskit+"/usr/bin/"+name, r.m.path("/usr/bin/"+name))
	}
	r.m.must(t, "ln -sf gpu-hook /usr/local/bin/nvidia-container-runtime-hook")
	r.m.write(t, r.home+"/daemon.json", string(encode(t, map[string]any{
		"bridge": "none", "iptables": false, "ip6tables": false, "userland-proxy": false, "ip-forward": false,
		"data-root": r.home + "/docker", "exec-root": r.home + "/exec", "pidfile": r.home + "/pid", "hosts": []string{"unix://" + r.home + "/s"},
	})))
	r.m.must(t, "chown gpuuser "+r.home+"/daemon.json")
	stop := r.m.daemon(t, "rootlesskit", "sh -c \""+strings.NewReplacer(`"`, `\"`, "$", `\$`).Replace(r.as("exec rootlesskit --state-dir="+r.home+"/rk --net=host --copy-up=/etc --copy-up=/run --propagation=rslave "+
		"sh -c \"rm -f /run/docker /run/containerd /run/xtables.lock; exec dockerd --rootless --config-file "+r.home+"/daemon.json\""))+"\"",
		r.as("docker -H unix://"+r.home+"/s ps"))
	defer stop()
	client := "docker -H unix://" + r.home + "/s "
	r.m.must(t, r.as(client+"load -q -i "+r.images.base))
	out := r.m.must(t, r.as(client+`run --rm --network none --gpus "\"device=0,2\"" `+baseImage+" sh -c '"+inContainer+"'"))
	r.check(t, r.cell, out, "setns", true)
}

// remap is root's Docker with userns-remap.
func (r *rootless) remap(t *testing.T) {
	t.Helper()
	r.m.must(t, "ln -sf gpu-hook /usr/local/bin/nvidia-container-runtime-hook; chmod 755 "+r.m.dir+"; chmod o+x "+filepath.Dir(r.m.dir))
	r.m.write(t, "/etc/docker/daemon.json", string(encode(t, map[string]any{
		"bridge": "none", "iptables": false, "ip6tables": false, "userns-remap": "default",
		"data-root": r.m.dir + "/docker", "exec-root": "/run/docker", "cgroup-parent": "/" + r.m.parent,
	})))
	stop := r.m.daemon(t, "dockerd", "dockerd", "docker ps")
	defer stop()
	r.m.must(t, "docker load -q -i "+r.images.base)
	out := r.m.must(t, `docker run --rm --network none --gpus '"device=0,2"' `+baseImage+" sh -c '"+inContainer+"'")
	r.check(t, r.cell, out, "user-namespace", true)
}

// ranges is runc by itself with the user's subordinate ids, which newuidmap
// maps. (With the user as another one than the container's root runc does not
// start: it cannot give its own pipe away.)
func (r *rootless) ranges(t *testing.T) {
	t.Helper()
	var uid, first, count uint32
	if _, err := fmt.Sscan(r.m.must(t, "id -u gpuuser; sed -n 's/^gpuuser:\\(.*\\):\\(.*\\)/\\1 \\2/p' /etc/subuid"), &uid, &first, &count); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(lab.Temp(t), "rootfs")
	lab.CopyTree(t, r.images.root, root)
	b := lab.NewBundle(t, root, lab.Options{
		Host: r.host, Hook: "/usr/local/bin/gpu-hook", Env: []string{"NVIDIA_VISIBLE_DEVICES=0,2"},
		Config: "load-kernel-modules = false\n[log]\nfile = \"" + r.home + "/hook.log\"\n",
		Args:   []string{"/bin/sh", "-c", inContainer},
		Edit: func(s *specs.Spec) {
			s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: "user"})
			s.Linux.UIDMappings = []specs.LinuxIDMapping{{HostID: uid, Size: 1}, {ContainerID: 1, HostID: first, Size: count}}
			s.Linux.GIDMappings = s.Linux.UIDMappings
			s.Linux.CgroupsPath, s.Linux.Resources = "", nil
		},
	})
	b.GiveTo(t, int(uid))
	out := r.m.must(t, r.as("runc --root /run/user/$(id -u)/runc run --bundle "+b.Dir+" "+b.ID))
	r.check(t, r.cell, out, "nsenter", true)
}
