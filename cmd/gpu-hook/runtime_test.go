package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseRuntimeArgs: behind "runtime" every word is the runtime's.
func TestParseRuntimeArgs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		argv       []string
		wantConfig string
		wantArgs   []string
	}{
		{"words", []string{"gpu-hook", "runtime", "--root", "/r", "create", "--bundle", "/b", "c1"}, "", []string{"--root", "/r", "create", "--bundle", "/b", "c1"}},
		{"options-of-both", []string{"gpu-hook", "--config", "/c", "runtime", "--config", "x", "--version"}, "/c", []string{"--config", "x", "--version"}},
		{"by-name", []string{"/usr/bin/gpu-runtime", "--log-level", "loud", "--help"}, "", []string{"--log-level", "loud", "--help"}},
		{"by-name-alone", []string{"gpu-runtime"}, "", []string{}},
		{"nothing", []string{"gpu-hook", "runtime"}, "", []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseArgs(tt.argv)
			if err != nil || got.command != "runtime" || got.config != tt.wantConfig {
				t.Errorf("parseArgs(%q) = %+v, %v", tt.argv, got, err)
			}
			if diff := cmp.Diff(tt.wantArgs, got.args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseDevices(t *testing.T) {
	t.Parallel()
	got, err := parseArgs([]string{"gpu-hook", "createRuntime", "--device", "0:1", "--device=GPU-x", "--annotations"})
	if err != nil || !got.annotations {
		t.Fatalf("parseArgs = %+v, %v", got, err)
	}
	if diff := cmp.Diff(devicesFlag{"0:1", "GPU-x"}, got.devices); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	if _, err := parseArgs([]string{"gpu-hook", "createRuntime", "--device="}); !errors.As(err, &errUsage{}) {
		t.Errorf("an empty device is no usage error: %v", err)
	}
}

func TestRunCDIEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		argv []string
		code int
	}{
		{"no-driver", []string{"gpu-hook", "--config", bareConfig(t), "--host-root", t.TempDir(), "cdi"}, 12},
		{"kind", []string{"gpu-hook", "--config", bareConfig(t), "cdi", "--kind", "x"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if code, stdout, stderr := call(t, "", tt.argv...); code != tt.code || stdout != "" || stderr == "" {
				t.Errorf("%q ended with %d, %q, %q", tt.argv, code, stdout, stderr)
			}
		})
	}
}

// bareConfig is a configuration without a log and with a runtime that is not
// there.
func bareConfig(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.toml")
	text := "load-kernel-modules = false\n[log]\nfile = \"\"\n[runtime]\nruntimes = [\"/nonexistent/runc\"]\n"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRunRuntimeFails(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := call(t, "", "gpu-hook", "--config", bareConfig(t), "runtime", "state", "c")
	if code != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "gpu-hook: find an OCI runtime") {
		t.Errorf("without a runtime: %d, %q, %q", code, stdout, stderr)
	}
}
