package lab

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Options describe a bundle. The zero value runs /bin/witness without a
// question in a container that asks for no GPU, with our hook at prestart.
type Options struct {
	Host     *StandIn      // where the hook finds driver and GPUs; nil = the machine
	Env      []string      // of the container, after PATH
	Args     []string      // of the container's process; default /bin/witness
	Stages   []string      // of "prestart", "createRuntime"; an empty list that is not nil = no hook
	Hook     string        // the program; default [Hook]
	Config   string        // of gpu-hook, TOML; the log file is added when it names none
	Mounts   []specs.Mount // added last
	Dev      string        // host directory bound over /dev instead of a tmpfs
	ReadOnly bool          // root.readonly
	Overlay  bool          // the rootfs is an overlay over Root
	User     uint32        // uid and gid of the process
	Edit     func(*specs.Spec)
}

// Bundle is an OCI bundle on disk.
type Bundle struct {
	Dir, ID string
	Root    string // the tree given; the overlay's lower directory
	Upper   string // what a container changed in an overlay; "" without one
	Log     string // the hook's log file
	Hook    []string
	Spec    *specs.Spec
}

// NewBundle writes a bundle around a root.
func NewBundle(t T, root string, o Options) *Bundle {
	t.Helper()
	dir := Temp(t)
	var id [4]byte
	if _, err := rand.Read(id[:]); err != nil {
		t.Fatalf("%v", err)
	}
	b := &Bundle{Dir: dir, ID: "gpu-hook-" + hex.EncodeToString(id[:]), Root: root, Log: filepath.Join(dir, "hook.log")}
	rootPath := root
	if o.Overlay {
		mkdir(t, dir, "upper", "overlay-work", "rootfs")
		b.Upper = filepath.Join(dir, "upper")
		rootPath = "rootfs"
	}
	config := o.Config
	if !strings.Contains(config, "[log]") {
		config += "\n[log]\nfile = \"" + b.Log + "\"\n"
	}
	if !strings.Contains(config, "load-kernel-modules") {
		config = "load-kernel-modules = false\n" + config
	}
	Write(t, filepath.Join(dir, "config.toml"), config)
	if o.Hook == "" && (o.Stages == nil || len(o.Stages) > 0) {
		o.Hook = Hook(t)
	}
	b.Hook = []string{o.Hook, "--config", filepath.Join(dir, "config.toml")}
	if o.Host != nil {
		b.Hook = append(b.Hook, "--host-root", o.Host.Dir)
	}
	b.Spec = b.spec(o, rootPath)
	if o.Edit != nil {
		o.Edit(b.Spec)
	}
	b.Save(t)
	return b
}

// PlanScript is a shell line, for [Box.Setup], that writes the bundle's plan to
// a file of its folder; format is "json" or "text". A plan that ends as the hook
// would, with an error, is no failure.
func (b *Bundle) PlanScript(format, file string) string {
	path := filepath.Join(b.Dir, file)
	return strings.Join(b.Hook, " ") + " plan --bundle " + b.Dir + " --format " + format + " >" + path + " 2>/dev/null || [ -s " + path + " ]\n"
}

// Save writes config.json after a change of Spec.
func (b *Bundle) Save(t T) {
	t.Helper()
	text, err := json.MarshalIndent(b.Spec, "", "\t")
	if err != nil {
		t.Fatalf("%v", err)
	}
	Write(t, filepath.Join(b.Dir, "config.json"), string(text)+"\n")
}

func (b *Bundle) spec(o Options, rootPath string) *specs.Spec {
	args := o.Args
	if len(args) == 0 {
		args = []string{"/bin/witness"}
	}
	caps := []string{
		"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD",
		"CAP_NET_BIND_SERVICE", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
	}
	spec := &specs.Spec{
		Version: "1.0.2",
		Root:    &specs.Root{Path: rootPath, Readonly: o.ReadOnly},
		Process: &specs.Process{
			Cwd: "/", Args: args,
			Env:             append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, o.Env...),
			User:            specs.User{UID: o.User, GID: o.User},
			Capabilities:    &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps},
			NoNewPrivileges: true,
		},
		Mounts: mounts(o),
		Linux: &specs.Linux{
			CgroupsPath: "/" + b.ID,
			Namespaces:  []specs.LinuxNamespace{{Type: "pid"}, {Type: "mount"}, {Type: "ipc"}, {Type: "uts"}, {Type: "network"}},
			Resources: &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{
				{Allow: false, Access: "rwm"},
				{Allow: true, Type: "c", Access: "m"},
				{Allow: true, Type: "b", Access: "m"},
			}},
		},
	}
	if o.User == 0 {
		spec.Process.NoNewPrivileges = false
	}
	stages := o.Stages
	if stages == nil {
		stages = []string{"prestart"}
	}
	if len(stages) == 0 {
		return spec
	}
	spec.Hooks = &specs.Hooks{}
	for _, stage := range stages {
		h := specs.Hook{Path: o.Hook, Args: append(slices.Clone(b.Hook), stage)}
		h.Args[0] = "gpu-hook"
		if stage == "prestart" {
			spec.Hooks.Prestart = append(spec.Hooks.Prestart, h)
		} else {
			spec.Hooks.CreateRuntime = append(spec.Hooks.CreateRuntime, h)
		}
	}
	return spec
}

// mounts are those of an engine's ordinary container.
func mounts(o Options) []specs.Mount {
	out := []specs.Mount{{Destination: "/proc", Type: "proc", Source: "proc"}}
	if o.Dev != "" {
		out = append(out, Bind(o.Dev, "/dev", "rw"))
	} else {
		out = append(out,
			specs.Mount{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
			specs.Mount{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
			specs.Mount{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}},
		)
	}
	return append(out, o.Mounts...)
}

// Bind is what "-v FROM:TO:MODE" of an engine becomes, with mode "rw" or "ro".
func Bind(from, to, mode string) specs.Mount {
	return specs.Mount{Source: from, Destination: to, Type: "bind", Options: []string{"rbind", "rprivate", mode}}
}
