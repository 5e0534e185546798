package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseArgs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		argv    []string
		want    options
		wantErr bool
	}{
		{"prestart", []string{"gpu-hook", "prestart"}, options{command: "prestart"}, false},
		{"Docker's name", []string{"nvidia-container-runtime-hook", "prestart"}, options{command: "prestart"}, false},
		{"options before", []string{"gpu-hook", "--config", "/c", "prestart"}, options{command: "prestart", config: "/c", configSet: true}, false},
		{"options after", []string{"gpu-hook", "prestart", "--config=/c", "-host-root=/h"}, options{command: "prestart", config: "/c", configSet: true, hostRoot: "/h"}, false},
		{"NVIDIA's words", []string{"hook", "-config=/c", "-debug", "prestart"}, options{command: "prestart", config: "/c", configSet: true, debug: true, logLevel: "debug"}, false},
		{"-version", []string{"hook", "-version"}, options{command: "version", version: true}, false},
		{"nothing", []string{"hook"}, options{}, false},
		{"no argv", nil, options{}, false},
		{"createRuntime", []string{"x", "createRuntime"}, options{command: "createRuntime"}, false},
		{"help", []string{"x", "--help"}, options{command: "help"}, false},
		{"reapply", []string{"x", "reapply", "--check", "c1"}, options{command: "reapply", check: true, args: []string{"c1"}}, false},
		{"unknown option", []string{"x", "--frobnicate"}, options{}, true},
		{"option without value", []string{"x", "prestart", "--config"}, options{}, true},
		{"too many words", []string{"x", "prestart", "more"}, options{}, true},
		{"unknown format", []string{"x", "plan", "--format", "yaml"}, options{}, true},
		{"unknown level", []string{"x", "plan", "--log-level", "loud"}, options{}, true},
		{"relative root", []string{"x", "plan", "--host-root", "h"}, options{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseArgs(tt.argv)
			if tt.wantErr {
				if !errors.As(err, &errUsage{}) {
					t.Fatalf("parseArgs(%q) = %v, want a usage error", tt.argv, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("parseArgs(%q): %v", tt.argv, err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(options{}, again{}, configureFlags{})); diff != "" {
				t.Errorf("parseArgs(%q) (-want +got):\n%s", tt.argv, diff)
			}
		})
	}
}

func FuzzParseArgs(f *testing.F) {
	f.Add("prestart", "--config", "/c")
	f.Add("-debug", "prestart", "-config=x")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		_, err := parseArgs([]string{"gpu-hook", a, b, c})
		if err != nil && !errors.As(err, &errUsage{}) {
			t.Errorf("parseArgs(%q %q %q) = %v, no usage error", a, b, c, err)
		}
	})
}
