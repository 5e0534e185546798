package access

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// numbers are a device's major and minor.
type numbers struct{ major, minor int }

// given is what a container that asks for the first and the third GPU gets: two
// GPUs, nvidiactl, and the two nodes of nvidia-uvm.
func given() map[numbers]bool {
	return map[numbers]bool{{195, 0}: true, {195, 2}: true, {195, 255}: true, {510, 0}: true, {510, 1}: true}
}

// asked are the devices that a container is asked for: those given, all their
// neighbours, and what every container has or must not have.
func asked() []numbers {
	list := []numbers{
		{1, 1},
		{1, 3},
		{1, 4},
		{1, 5},
		{1, 7},
		{1, 8},
		{1, 9},
		{1, 11},
		{5, 0},
		{5, 1},
		{5, 2},
		{10, 200},
		{10, 229},
		{136, 0},
		{194, 0},
		{196, 0},
		{226, 0},
		{226, 128},
		{237, 0},
		{237, 1},
		{237, 2},
		{509, 0},
		{511, 0},
		{511, 1},
		{195, 254},
		{195, 256},
	}
	for minor := range 9 {
		list = append(list, numbers{195, minor}, numbers{510, minor})
	}
	return append(list, numbers{195, 255})
}

// answers are the errors of opening devices: EPERM where the cgroup says no,
// ENXIO where it says yes and nobody answers. A node that could not even be
// made has another sign: that is a right of its own.
type answers map[numbers]string

func (n numbers) question() string { return fmt.Sprintf("node:/tmp/n:%d:%d", n.major, n.minor) }

// questions are the witness's command line. In a user namespace nothing can be
// made: there the nodes are bound from a folder of the host.
func questions(userns bool) []string {
	var list []string
	for _, n := range asked() {
		if userns {
			list = append(list, "open:"+n.bound())
		} else {
			list = append(list, n.question())
		}
	}
	return append(list, "open:/dev/null", "open:/dev/kmsg", "node:/dev/n:195:1")
}

func (n numbers) bound() string { return fmt.Sprintf("/nodes/%d-%d", n.major, n.minor) }

func answersOf(facts lab.Facts, userns bool) answers {
	all := answers{}
	for _, n := range asked() {
		f, ok := facts[n.question()]
		if userns {
			f, ok = facts["open:"+n.bound()]
		}
		if !ok {
			continue
		}
		all[n] = syscall.Errno(f.Errno).Error()
		if f.Error != "" {
			all[n] = f.Error + ": " + all[n]
		}
	}
	return all
}

// result is what a container with GPUs can open, how much it is refused as one
// without is, and what only one without could open.
type result struct{ opens, refused, closed int }

// compare wants a container with GPUs to differ from one without in what it was
// given, and in nothing else; a filter that was rebuilt may be narrower.
func compare(t *testing.T, without, with answers, rebuilt bool) result {
	t.Helper()
	var r result
	for n := range maps.Keys(with) {
		switch {
		case given()[n] && with[n] == syscall.ENXIO.Error() && without[n] == syscall.EPERM.Error():
			r.opens++
		case given()[n]:
			t.Errorf("device %d:%d: %q without GPUs and %q with, want it closed and then open", n.major, n.minor, without[n], with[n])
		case with[n] != without[n] && rebuilt && with[n] == syscall.EPERM.Error():
			r.closed++
		case with[n] != without[n]:
			t.Errorf("device %d:%d: %q without GPUs and %q with, want no change", n.major, n.minor, without[n], with[n])
		case with[n] == syscall.EPERM.Error():
			r.refused++
		}
	}
	if len(with) != len(asked()) || len(without) != len(asked()) {
		t.Errorf("%d and %d answers, want %d", len(without), len(with), len(asked()))
	}
	return r
}

// stage is what the containers of one test share.
type stage struct {
	host       *lab.StandIn
	root, user string // of the container's root, and of one with id maps
	nodes      string // the devices that a user namespace cannot make
	hook       string
}

func makeStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{
		host: lab.Host(t, lab.HostSpec{Driver: lab.MadeDriver(t, "535.261.03", 12020), GPUs: lab.GPUs(8, lab.A100)}),
		root: lab.Root(t, lab.Glibc), user: lab.Root(t, lab.Glibc), nodes: lab.Temp(t),
		hook: filepath.Join(lab.Temp(t), "gpu-hook"),
	}
	lab.Install(t, lab.Hook(t), s.hook)
	giveTree(t, s.user, mapped)
	for _, n := range asked() {
		node(t, filepath.Join(s.nodes, filepath.Base(n.bound())), n)
	}
	return s
}

// mapped is the host's id of the root of a container with id maps.
const mapped = 200000

// bundle makes a bundle; env asks for GPUs, or does not.
func (s *stage) bundle(t *testing.T, who string, env []string, o lab.Options) *lab.Bundle {
	t.Helper()
	o.Host, o.Hook, o.Overlay, o.Env = s.host, s.hook, true, slices.Concat(env, o.Env)
	root := s.root
	if who == userns {
		root = s.user
		o.Mounts = append(o.Mounts, lab.Bind(s.nodes, "/nodes", "ro"))
		edit := o.Edit
		o.Edit = func(spec *specs.Spec) {
			spec.Linux.Namespaces = append(spec.Linux.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
			spec.Linux.UIDMappings = []specs.LinuxIDMapping{{ContainerID: 0, HostID: mapped, Size: 65536}}
			spec.Linux.GIDMappings = spec.Linux.UIDMappings
			if edit != nil {
				edit(spec)
			}
		}
	}
	return lab.NewBundle(t, root, o)
}

// Who starts a container.
const (
	plain  = "root"
	userns = "userns"
)

// privateRun hides the machine's /run from everything in a box.
const privateRun = "mount -t tmpfs -o mode=755 run /run\n"

// askTwo asks for the first and the third GPU.
func askTwo() []string { return []string{"NVIDIA_VISIBLE_DEVICES=0,2"} }

// field reads a value of the hook's log.
func field(log, name string) string {
	i := strings.LastIndex(log, " "+name+"=")
	if i < 0 {
		return ""
	}
	value, _, _ := strings.Cut(strings.TrimSpace(log[i+len(name)+2:]), " ")
	value, _, _ = strings.Cut(value, "\n")
	return strings.Trim(value, `"`)
}
