package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestDRI gives the card and render nodes of the selected GPU only, whatever
// their numbers, with links by PCI address and the host's mode and owner.
func TestDRI(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	host.DRI(t) // GPU 0 has card7, GPU 7 has card0
	root := lab.Root(t, lab.Glibc)
	const link = "/dev/dri/by-path/pci-0000:20:00.0-"
	for _, user := range []uint32{0, 1000} {
		for _, groups := range [][]uint32{nil, {44}} {
			t.Run(fmt.Sprintf("user-%d-groups-%v", user, groups), func(t *testing.T) {
				t.Parallel()
				b := lab.NewBundle(t, root, lab.Options{
					Host: host, Overlay: true, User: user,
					Env: []string{"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_DRIVER_CAPABILITIES=graphics"},
					Args: witnessOf([]string{
						"stat:/dev/dri/card6", "stat:/dev/dri/renderD134", "stat:/dev/dri/card7", "open:/dev/dri/card6", "stat:" + link + "card",
						"open:" + link + "render",
					}, "readlink "+link+"card"),
					Edit: func(s *specs.Spec) { s.Process.User.AdditionalGids = groups },
				})
				got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
				if got.Code != 0 || !strings.HasSuffix(got.Stdout, "\n../card6\n") {
					t.Errorf("runc ended with %d: %s\n%s", got.Code, got.Stderr, got.Stdout)
				}
				opens := syscall.ENXIO
				if user != 0 && groups == nil {
					opens = syscall.EACCES
				}
				wantErrnos(t, got.Facts, map[string]syscall.Errno{
					"stat:/dev/dri/card7": syscall.ENOENT, "open:/dev/dri/card6": opens, "open:" + link + "render": opens,
				})
				want := lab.Fact{Op: "stat", Arg: "/dev/dri/card6", Type: syscall.S_IFCHR, Mode: 0o660, GID: 44, Major: lab.DRIMajor, Minor: 6}
				if diff := cmp.Diff(want, got.Facts["stat:/dev/dri/card6"]); diff != "" {
					t.Errorf("card (-want +got):\n%s", diff)
				}
				if warned := strings.Contains(got.Log, "--group-add 44"); warned != (opens == syscall.EACCES) {
					t.Errorf("warned of the group: %v\n%s", warned, got.Log)
				}
			})
		}
	}
}

// TestDRISelection plans for requests that bring DRI nodes and others.
func TestDRISelection(t *testing.T) {
	t.Parallel()
	need.Root(t)
	with, without := madeHost(t), madeHost(t)
	with.DRI(t)
	lab.Write(t, filepath.Join(with.Dir, "sys/bus/pci/devices", with.GPUs[3].BusID, "drm/card4/dev"), "no numbers\n")
	remove(t, filepath.Join(with.Dir, "dev/dri/renderD130")) // GPU 5: sysfs alone has the numbers
	remove(t, filepath.Join(with.Dir, "sys/bus/pci/devices", with.GPUs[6].BusID, "drm/card1/dev"))
	root := lab.Root(t, lab.Glibc)
	for _, tt := range []struct {
		name, devices, caps string
		host                *lab.StandIn
		want                []string
		warns               bool
	}{
		{name: "graphics", devices: "0,2", caps: "graphics", want: []string{"card5", "card7", "renderD133", "renderD135"}},
		{name: "display", devices: "2", caps: "display", want: []string{"card5", "renderD133"}},
		{name: "compute", devices: "2", caps: "compute,utility,video"},
		{name: "no-gpu", devices: "none", caps: "graphics"},
		{name: "bad-numbers", devices: "3", caps: "graphics", want: []string{"renderD132"}, warns: true},
		{name: "host-node-missing", devices: "5", caps: "graphics", want: []string{"card2", "renderD130"}},
		{name: "sysfs-file-missing", devices: "6", caps: "graphics", want: []string{"card1", "renderD129"}},
		{name: "module-missing", host: without, devices: "0", caps: "graphics", warns: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := with
			if tt.host != nil {
				host = tt.host
			}
			p := plannedOK(t, planBundle(t, host, root, "NVIDIA_VISIBLE_DEVICES="+tt.devices, "NVIDIA_DRIVER_CAPABILITIES="+tt.caps))
			var got []string
			for _, n := range p.DeviceNodes {
				if name, ok := strings.CutPrefix(n.Path, "/dev/dri/"); ok {
					got = append(got, name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			links := 0
			for _, l := range p.Symlinks {
				if strings.HasPrefix(l.Path, "/dev/dri/by-path/") {
					links++
				}
			}
			if links != len(tt.want) {
				t.Errorf("%d links by path, want %d", links, len(tt.want))
			}
			if slices.Contains(codes(p), "no-dri") != tt.warns {
				t.Errorf("warnings: %v", p.Warnings)
			}
		})
	}
}

// TestNodeOwner gives GPU nodes of mode 0660 the host's mode and owner, and names
// the group that a user lacks.
func TestNodeOwner(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	for _, name := range []string{"nvidia2", "nvidiactl"} {
		node := filepath.Join(host.Dir, "dev", name)
		if err := os.Chown(node, 0, 27); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(node, 0o660); err != nil {
			t.Fatal(err)
		}
	}
	b := lab.NewBundle(t, lab.Root(t, lab.Glibc), lab.Options{
		Host: host, Overlay: true, User: 1000, Env: askTwo(),
		Args: []string{"/bin/witness", "stat:/dev/nvidia2", "open:/dev/nvidia2", "open:/dev/nvidia0", "open:/dev/nvidia-uvm"},
	})
	got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
	want := lab.Fact{Op: "stat", Arg: "/dev/nvidia2", Type: syscall.S_IFCHR, Mode: 0o660, GID: 27, Major: 195, Minor: 2}
	if diff := cmp.Diff(want, got.Facts["stat:/dev/nvidia2"]); diff != "" {
		t.Errorf("node (-want +got):\n%s\n%s", diff, got.Stderr)
	}
	wantErrnos(t, got.Facts, map[string]syscall.Errno{
		"open:/dev/nvidia2": syscall.EACCES, "open:/dev/nvidia0": syscall.ENXIO, "open:/dev/nvidia-uvm": syscall.ENXIO,
	})
	if !strings.Contains(got.Log, "--group-add 27") || !strings.Contains(got.Log, "user 1000 cannot open /dev/nvidiactl and /dev/nvidia2") {
		t.Errorf("the log does not name the group:\n%s", got.Log)
	}
}

// TestNodeGroupByWrapper gives the container's user the group that opens the
// nodes: the runtime wrapper can, before the container exists.
func TestNodeGroupByWrapper(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	host.DRI(t)
	inner := lab.Runc(t)
	b := wrappedBundle(t, inner, host, lab.Options{
		User: 1000, Env: []string{"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_DRIVER_CAPABILITIES=graphics"},
		Args: witnessOf([]string{"open:/dev/dri/card6", "open:/dev/dri/renderD134", "stat:/dev/dri/card7"}, "id -G"),
	})
	got := lab.Run(t, wrapped(t, inner, b), b, lab.Box{Cgroups: lab.Machine})
	if got.Code != 0 || !strings.HasSuffix(got.Stdout, "\n1000 44\n") {
		t.Errorf("runc ended with %d: %s\n%s", got.Code, got.Stderr, got.Stdout)
	}
	wantErrnos(t, got.Facts, map[string]syscall.Errno{
		"open:/dev/dri/card6": syscall.ENXIO, "open:/dev/dri/renderD134": syscall.ENXIO, "stat:/dev/dri/card7": syscall.ENOENT,
	})
	if strings.Contains(got.Log, "--group-add") {
		t.Errorf("warned of a group that the container has:\n%s", got.Log)
	}
}

// TestNodeGroupInUserNamespace maps the host's group of the nodes into a
// container with a user namespace: they show that group's number there, and its
// members may open them.
func TestNodeGroupInUserNamespace(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.UserNS(t)
	host := madeHost(t)
	host.DRI(t)
	root := lab.Root(t, lab.Glibc)
	chownTree(t, root, 200000)
	for _, member := range []bool{true, false} {
		t.Run(fmt.Sprintf("member-%v", member), func(t *testing.T) {
			t.Parallel()
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, User: 1000, Env: []string{"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_DRIVER_CAPABILITIES=graphics"},
				Args: []string{"/bin/witness", "stat:/dev/dri/card6", "open:/dev/dri/card6", "open:/dev/nvidia1"},
				Edit: func(s *specs.Spec) {
					userNS(200000, 65536)(s)
					s.Linux.GIDMappings = []specs.LinuxIDMapping{{ContainerID: 0, HostID: 200000, Size: 5000}, {ContainerID: 5000, HostID: 44, Size: 1}}
					if member {
						s.Process.User.AdditionalGids = []uint32{5000}
					}
				},
			})
			got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
			want := lab.Fact{
				Op: "stat", Arg: "/dev/dri/card6", Type: syscall.S_IFCHR, Mode: 0o660, UID: hook.OverflowID, GID: 5000, Major: lab.DRIMajor, Minor: 6,
			}
			if diff := cmp.Diff(want, got.Facts["stat:/dev/dri/card6"]); diff != "" {
				t.Errorf("card (-want +got):\n%s\n%s\n%s", diff, got.Stderr, got.Log)
			}
			opens := syscall.ENXIO
			if !member {
				opens = syscall.EACCES
			}
			wantErrnos(t, got.Facts, map[string]syscall.Errno{"open:/dev/dri/card6": opens, "open:/dev/nvidia1": syscall.ENXIO})
			if warned := strings.Contains(got.Log, "--group-add 5000"); warned == member {
				t.Errorf("warned of the group: %v\n%s", warned, got.Log)
			}
		})
	}
}
