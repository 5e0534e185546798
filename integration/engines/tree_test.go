package engines

import (
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// tree returns the root of a suite with all engines in it.
func tree(t *testing.T, suite string) string {
	t.Helper()
	packages := map[string][]string{
		"bookworm": {"docker.io", "containerd", "runc", "crun", "podman", "containernetworking-plugins", "uidmap"},
		"sid":      {"docker.io", "docker-cli", "containerd", "runc", "crun", "podman", "uidmap"},
	}
	return lab.System(t, suite, packages[suite]...)
}
