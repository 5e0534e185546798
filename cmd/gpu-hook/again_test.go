package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestArgsAgain starts the hook a second time with the meaning of the first.
func TestArgsAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		argv []string
		want []string
	}{
		{"plain", []string{"gpu-hook", "--config", "/c", "prestart"}, []string{"--config", "/c", "prestart"}},
		{"no command", []string{"gpu-hook", "--host-root=/h"}, []string{"--host-root=/h", "prestart"}},
		{"Docker's name", []string{"/usr/bin/nvidia-container-runtime-hook", "prestart"}, []string{"prestart", "--called-for-gpu"}},
		{"nothing", nil, []string{"prestart"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, err := parseArgs(tt.argv)
			if err != nil {
				t.Fatal(err)
			}
			got := o.argsAgain(tt.argv, "prestart")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("argsAgain (-want +got):\n%s", diff)
			}
			second, err := parseArgs(append([]string{"/proc/self/fd/9"}, append(got, "--entered", "4:1")...))
			if err != nil || second.command != "prestart" || second.again.entered != "4:1" ||
				second.again.calledForGPU != calledAsHook(tt.argv) || second.config != o.config || second.hostRoot != o.hostRoot {
				t.Errorf("the second start reads %+v, %v", second, err)
			}
		})
	}
}
