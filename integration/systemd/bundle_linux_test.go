package systemd

import (
	"fmt"
	"os"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup"
)

// mapped is the host's id of root in the container with id maps.
const mapped = 200000

// bundle writes the container's bundle: the witness alone in a root of its own.
func (sc scenario) bundle() (string, error) {
	dir := "/box/bundles/" + sc.name
	for _, d := range []string{"/proc", "/dev", "/out", "/box", "/etc"} {
		if err := os.MkdirAll(dir+"/rootfs"+d, 0o755); err != nil {
			return "", err
		}
	}
	caps := []string{"CAP_MKNOD", "CAP_DAC_OVERRIDE"}
	self := []string{"/box/test"} // The hook is a prestart one, as engines register it.
	config := specs.Spec{
		Version: "1.0.2",
		Root:    &specs.Root{Path: "rootfs"},
		Process: &specs.Process{
			Args: self, Cwd: "/", Env: []string{roleVariable + "=witness", "NAME=" + sc.name, "NVIDIA_VISIBLE_DEVICES=0"},
			Capabilities: &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps},
		},
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755"}},
			{Destination: "/out", Type: "bind", Source: "/box/out", Options: []string{"rbind", "rw"}},
			{Destination: "/box", Type: "bind", Source: "/box", Options: []string{"rbind", "ro"}},
		},
		Hooks: &specs.Hooks{Prestart: []specs.Hook{{
			Path: self[0], Args: self, Env: []string{roleVariable + "=hook", "HOW=" + sc.how, "PATH=/usr/bin:/bin"},
		}}},
		Linux: &specs.Linux{
			CgroupsPath: "system.slice:runc:" + sc.name,
			Resources:   &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}},
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.MountNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
			},
		},
	}
	if strings.Contains(sc.how, "userns") {
		id, size := uint32(mapped), uint32(65536)
		if sc.user() {
			id, size = 61001, 1
			config.Linux.CgroupsPath = "user.slice:runc:" + sc.name
		}
		if err := mapIDs(&config, dir, id, size); err != nil {
			return "", err
		}
	}
	return dir, save(dir+"/config.json", config)
}

// mapIDs gives the container a user namespace. No node can be made in it: the
// witness finds the box's.
func mapIDs(config *specs.Spec, dir string, id, size uint32) error {
	maps := []specs.LinuxIDMapping{{ContainerID: 0, HostID: id, Size: size}}
	config.Linux.UIDMappings, config.Linux.GIDMappings = maps, maps
	config.Linux.Namespaces = append(config.Linux.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
	for _, n := range nodes {
		path := dir + "/" + n.path[len("/dev/"):]
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(n.major, n.minor))); err != nil {
			return fmt.Errorf("mknod %s: %w", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			return err
		}
		config.Mounts = append(config.Mounts, specs.Mount{Destination: n.path, Type: "bind", Source: path, Options: []string{"bind"}})
	}
	if err := os.Chmod("/box/out", 0o777); err != nil {
		return err
	}
	return os.Chown(dir+"/rootfs", int(id), int(id))
}

// requestOf reads the device list of a bundle.
func requestOf(bundle string) cgroup.Request {
	var config specs.Spec
	if err := load(bundle+"/config.json", &config); err != nil {
		return cgroup.Request{}
	}
	return cgroup.Request{Spec: config.Linux.Resources.Devices}
}
