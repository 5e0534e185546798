package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigure(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{"usr/local/bin/gpu-hook": "", "etc/docker/daemon.json": "{}\n", "etc/containerd/config.toml": "version = 9\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		args   string
		code   int
		stdout string // a part of it
		stderr string
	}{
		{"dry-run", "docker --dry-run", 0, "+++ b/etc/docker/daemon.json", ""},
		{"option-first", "--dry-run docker", 0, "+++ b/etc/docker/daemon.json", ""},
		{"unknown-version", "containerd", 19, "", "gpu-hook: configure containerd: /etc/containerd/config.toml:1: version 9 is not known (1 to 4 are); get a newer gpu-hook"},
		{"no-engine", "", 2, "", "unknown engine"},
		{"two-engines", "docker podman", 2, "", "unexpected argument"},
		{"unknown-engine", "lxc", 2, "", "unknown engine"},
		{"option-of-another", "podman --base-spec", 2, "", "--base-spec is for containerd"},
		{"no-program", "podman --binary /opt/gpu-hook", 1, "", "gpu-hook: configure podman: /opt/gpu-hook: there is no such program; install"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			null, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			var stdout, stderr bytes.Buffer
			code := run(append([]string{"gpu-hook", "configure", "--root", root}, strings.Fields(tt.args)...), null, &stdout, &stderr)
			if code != tt.code || !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) || strings.Count(stderr.String(), "\n") > 1 {
				t.Errorf("configure %s: code %d, stdout %q, stderr %q; want %d, %q, %q", tt.args, code, stdout.String(), stderr.String(), tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}
