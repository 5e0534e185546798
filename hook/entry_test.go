package hook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook/state"
)

func TestWay(t *testing.T) {
	t.Parallel()
	type decision struct {
		Way                   Entry
		Inside, Enters, Binds bool
	}
	for _, tt := range []struct {
		name string
		in   Standing
		want decision
	}{
		{
			name: "runc or crun by root, no user namespace",
			in:   Standing{Stage: state.Prestart, Capable: true},
			want: decision{Way: EntrySetns},
		},
		{
			name: "runc or crun by root with id mappings, Docker userns-remap",
			in:   Standing{Stage: state.Prestart, Capable: true, Other: true},
			want: decision{Way: EntryUserNamespace, Binds: true},
		},
		{
			name: "rootless podman, rootless Docker",
			in:   Standing{Stage: state.CreateRuntime, Capable: true, Nested: true},
			want: decision{Way: EntrySetns, Binds: true},
		},
		{
			name: "rootless podman with keep-id or nomap",
			in:   Standing{Stage: state.CreateRuntime, Capable: true, Other: true, Nested: true},
			want: decision{Way: EntryUserNamespace, Binds: true},
		},
		{
			name: "rootless runc at prestart",
			in:   Standing{Stage: state.Prestart, Other: true, UID: 1000},
			want: decision{Way: EntryNsenter, Enters: true, Binds: true},
		},
		{
			name: "rootless runc at createRuntime, in a user namespace of somebody else",
			in:   Standing{Stage: state.CreateRuntime, Other: true, UID: 1000, Nested: true},
			want: decision{Way: EntryNsenter, Enters: true, Binds: true},
		},
		{
			name: "the same, after nsenter",
			in:   Standing{Stage: state.Prestart, Entered: true, Capable: true, Nested: true},
			want: decision{Way: EntryNsenter, Inside: true, Binds: true},
		},
		{
			name: "rootless runc at createContainer",
			in:   Standing{Stage: state.CreateContainer, Capable: true, Nested: true},
			want: decision{Way: EntryInside, Inside: true, Binds: true},
		},
		{
			name: "runc by root at createContainer",
			in:   Standing{Stage: state.CreateContainer, Capable: true},
			want: decision{Way: EntryInside, Inside: true},
		},
		{
			name: "root of a container without rights",
			in:   Standing{Stage: state.Prestart},
			want: decision{Way: EntrySetns},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := decision{Way: tt.in.Way(), Inside: tt.in.Inside(), Enters: tt.in.Enters(), Binds: tt.in.Binds()}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestParseIDMap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		text string
		want []specs.LinuxIDMapping
		fail bool
	}{
		{name: "the first namespace", text: "         0          0 4294967295\n", want: []specs.LinuxIDMapping{{Size: 4294967295}}},
		{
			name: "rootless", text: "         0       1001          1\n         1     165536      65536\n",
			want: []specs.LinuxIDMapping{{HostID: 1001, Size: 1}, {ContainerID: 1, HostID: 165536, Size: 65536}},
		},
		{name: "not written yet", text: ""},
		{
			name: "an id of a namespace that is not below ours", text: "0 4294967295 1\n1 5 1\n",
			want: []specs.LinuxIDMapping{{ContainerID: 1, HostID: 5, Size: 1}},
		},
		{name: "short", text: "0 1\n", fail: true},
		{name: "words", text: "a b c\n", fail: true},
		{name: "negative", text: "0 -1 1\n", fail: true},
		{name: "too large", text: "0 0 4294967296\n", fail: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseIDMap([]byte(tt.text))
			if (err != nil) != tt.fail {
				t.Errorf("parseIDMap: error %v, want one: %v", err, tt.fail)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("parseIDMap (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseIDMap(f *testing.F) {
	f.Add([]byte("         0          0 4294967295\n"))
	f.Add([]byte("0 1001 1\n1 165536 65536\n"))
	f.Add([]byte("0 4294967295 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		maps, err := parseIDMap(text)
		if err != nil {
			return
		}
		for _, m := range maps {
			if m.HostID == 1<<32-1 {
				t.Errorf("%q: %v has an id that is none", text, m)
			}
		}
	})
}

func TestIDMapsRoot(t *testing.T) {
	t.Parallel()
	remap := []specs.LinuxIDMapping{{ContainerID: 0, HostID: 200000, Size: 65536}}
	for _, tt := range []struct {
		name string
		in   IDMaps
		want *Owner
	}{
		{name: "none", in: IDMaps{}},
		{name: "mapped", in: IDMaps{UIDs: remap, GIDs: remap}, want: &Owner{UID: 200000, GID: 200000}},
		{
			name: "keep-id",
			in: IDMaps{
				UIDs: []specs.LinuxIDMapping{{ContainerID: 1001, HostID: 0, Size: 1}, {ContainerID: 0, HostID: 1, Size: 1001}},
				GIDs: remap,
			},
			want: &Owner{UID: 1, GID: 200000},
		},
		{
			name: "no root", in: IDMaps{UIDs: []specs.LinuxIDMapping{{ContainerID: 9, HostID: 5, Size: 1}, {ContainerID: 3, HostID: 7, Size: 1}}, GIDs: remap},
			want: &Owner{UID: 7, GID: 200000},
		},
		{name: "users only", in: IDMaps{UIDs: remap}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.in.Root()); diff != "" {
				t.Errorf("Root (-want +got):\n%s", diff)
			}
		})
	}
}
