package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const capabilities = "compute,utility,video"
	for _, tt := range []struct {
		name, args, err string
		want            options
	}{
		{name: "nothing", want: options{pairs: 25, cgroups: "machine", capabilities: capabilities}},
		{name: "docker", args: "-engine docker", want: options{pairs: 15, engine: "docker", cgroups: "machine", capabilities: capabilities}},
		{name: "docker, pairs", args: "-engine docker -pairs 9", want: options{pairs: 9, engine: "docker", cgroups: "machine", capabilities: capabilities}},
		{
			name: "a peer means docker", args: "-peer-cdi /tmp/x.yaml -host-root /",
			want: options{pairs: 15, engine: "docker", peer: "/tmp/x.yaml", hostRoot: "/", cgroups: "machine", capabilities: capabilities},
		},
		{name: "another engine", args: "-engine podman", err: "the only engine is docker"},
		{name: "host without engine", args: "-host-root /", err: "needs -engine docker"},
		{name: "layout", args: "-engine docker -cgroups v2", err: "machine's layout"},
		{name: "below zero", args: "-pairs -1", err: "below 0"},
		{name: "arguments", args: "docker", err: "only flags"},
		{name: "unknown flag", args: "-nonsense", err: "not defined"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			got, err := parse(strings.Fields(tt.args), &said)
			if tt.err != "" {
				if err == nil || !strings.Contains(said.String(), tt.err) {
					t.Errorf("error %v, said %q, want %q", err, said.String(), tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("parse (-want +got):\n%s", diff)
			}
		})
	}
}
