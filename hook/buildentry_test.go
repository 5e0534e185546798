package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

// TestBuildEntry looks at what the plan says of the way in.
func TestBuildEntry(t *testing.T) {
	t.Parallel()
	ids := []specs.LinuxIDMapping{{HostID: 200000, Size: 65536}}
	maps := IDMaps{UIDs: ids, GIDs: ids}
	type said struct {
		Entry  Entry
		Owner  *Owner
		Method string
		Noted  bool
	}
	for _, tt := range []struct {
		name     string
		standing Standing
		want     said
	}{
		{"root", Standing{Capable: true}, said{Entry: EntrySetns, Method: MethodMknod}},
		{
			"root, user namespace",
			Standing{Capable: true, Other: true, Maps: maps},
			said{Entry: EntryUserNamespace, Owner: &Owner{UID: 200000, GID: 200000}, Method: MethodBind},
		},
		{"rootless podman", Standing{Capable: true, Nested: true}, said{Entry: EntrySetns, Method: MethodBind, Noted: true}},
		{
			"rootless podman, keep-id",
			Standing{Capable: true, Nested: true, Other: true, Maps: maps},
			said{Entry: EntryUserNamespace, Owner: &Owner{UID: 200000, GID: 200000}, Method: MethodBind, Noted: true},
		},
		{"rootless runc, seen from outside", Standing{UID: 1000, Other: true, Maps: maps}, said{Entry: EntryNsenter, Method: MethodBind, Noted: true}},
		{"rootless runc, inside", Standing{Entered: true, Nested: true}, said{Entry: EntryNsenter, Method: MethodBind, Noted: true}},
		{"createContainer", Standing{Stage: state.CreateContainer}, said{Entry: EntryInside, Method: MethodMknod}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := someFacts()
			f.Standing, f.IDs = tt.standing, tt.standing.Maps
			p := build(t, f)
			got := said{Entry: p.Container.Entry, Owner: p.Container.Owner, Method: p.DeviceNodes[0].Method, Noted: p.RulesNote != ""}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if len(p.DeviceRules) == 0 {
				t.Error("the plan names no rules")
			}
		})
	}
}

// TestPrepareNoNode: a node that the host lacks cannot be bound; above all, no
// source must not mean the host's root directory.
func TestPrepareNoNode(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/dev/nvidia-uvm": "nvidia-modprobe -u", "/dev/nvidia0": "nvidia-persistenced"} {
		_, err := DeviceNode{Path: path, Major: 195}.prepare(&Roots{})
		if err == nil || !strings.Contains(fault.CureOf(err), want) {
			t.Errorf("prepare %s: %v, want a cure with %q", path, err, want)
		}
	}
}
