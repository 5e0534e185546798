package hook

import (
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

func TestWarnAccess(t *testing.T) {
	t.Parallel()
	node := func(path string, mode, uid, gid uint32) devices.Node {
		return devices.Node{Path: path, Mode: mode, UID: uid, GID: gid}
	}
	ranges := []specs.LinuxIDMapping{{ContainerID: 0, HostID: 100000, Size: 1000}}
	some := IDMaps{UIDs: ranges, GIDs: ranges}
	withGroup := IDMaps{UIDs: ranges, GIDs: append([]specs.LinuxIDMapping{{ContainerID: 5000, HostID: 44, Size: 1}}, ranges...)}
	ordinary := specs.User{UID: 1000, GID: 1000}
	for _, tt := range []struct {
		name  string
		user  specs.User
		ids   IDMaps
		nodes []devices.Node
		want  []string // one for each warning
	}{
		{name: "root", nodes: []devices.Node{node("/dev/a", 0o600, 0, 44)}},
		{name: "world", user: ordinary, nodes: []devices.Node{node("/dev/a", 0o666, 0, 0)}},
		{name: "read-only-for-all", user: ordinary, nodes: []devices.Node{node("/dev/cap", 0o444, 0, 0)}},
		{name: "no-write-for-others", user: ordinary, nodes: []devices.Node{node("/dev/a", 0o664, 0, 44)}, want: []string{"group 44"}},
		{name: "own-node", user: ordinary, nodes: []devices.Node{node("/dev/a", 0o600, 1000, 0)}},
		{name: "own-group", user: ordinary, nodes: []devices.Node{node("/dev/a", 0o660, 0, 1000)}},
		{name: "more-groups", user: specs.User{UID: 1000, AdditionalGids: []uint32{44}}, nodes: []devices.Node{node("/dev/a", 0o660, 0, 44)}},
		{
			name: "groups", user: ordinary,
			nodes: []devices.Node{node("/dev/a", 0o660, 0, 44), node("/dev/b", 0o660, 0, 44), node("/dev/c", 0o660, 0, 44), node("/dev/d", 0o660, 0, 27)},
			want:  []string{"/dev/a, /dev/b and 1 more; add the group 44", "/dev/d; add the group 27"},
		},
		{name: "root-only", user: ordinary, nodes: []devices.Node{node("/dev/a", 0o600, 0, 44)}, want: []string{"no group of the container can"}},
		{name: "group-0", user: ordinary, nodes: []devices.Node{node("/dev/a", 0o660, 0, 0)}, want: []string{"no group of the container can"}},
		{name: "mapped-root", ids: some, nodes: []devices.Node{node("/dev/a", 0o660, 0, 44)}, want: []string{"no group of the container can"}},
		{name: "mapped-root-and-group", ids: withGroup, nodes: []devices.Node{node("/dev/a", 0o660, 0, 44)}, want: []string{"add the group 5000"}},
		{name: "mapped-member", user: specs.User{AdditionalGids: []uint32{5000}}, ids: withGroup, nodes: []devices.Node{node("/dev/a", 0o660, 0, 44)}},
		{name: "mapped-own-node", ids: some, nodes: []devices.Node{node("/dev/a", 0o600, 100000, 100000)}},
		{name: "mapped-world", ids: some, nodes: []devices.Node{node("/dev/a", 0o666, 0, 0)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := Facts{Nodes: tt.nodes, IDs: tt.ids}
			spec := state.Spec{}
			spec.Process.User = tt.user
			f.warnAccess(Subject{Bundle: state.Bundle{Spec: spec}})
			if len(f.Warnings) != len(tt.want) {
				t.Fatalf("warnings: %v, want %d", f.Warnings, len(tt.want))
			}
			for _, want := range tt.want {
				found := false
				for _, w := range f.Warnings {
					found = found || w.Code == "node-permission" && strings.Contains(w.Message, want)
				}
				if !found {
					t.Errorf("warnings: %v, want %q", f.Warnings, want)
				}
			}
		})
	}
}
