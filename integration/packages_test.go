package integration

import (
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestPackagesInside works in a container with a GPU as people do: install a
// package, run ldconfig, install and reinstall packages with driver files of
// the host's version and of another, and remove them. The host's driver stays
// the one that programs get.
func TestPackagesInside(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := host535(t, lab.Debian)
	root := lab.Debootstrap(t, "bookworm")
	lab.Install(t, lab.Witness(t), root+"/usr/bin/witness")
	small := lab.Archives(t, "packages", "bookworm", "", "libyaml-0-2", "libc-bin")
	same := lab.Archives(t, "driver-files", "bookworm", "", "libcuda1", "libnvidia-ml1")
	other := lab.Archives(t, "driver-files", "trixie", "", "libcuda1", "libnvidia-ml1")
	steps := []struct{ name, line string }{
		{"at the start", "true"},
		{"ldconfig", "ldconfig"},
		{"apt-get install", "apt-get install -o APT::Sandbox::User=root -qq -y /debs/small/libyaml*.deb"},
		{"apt-get install --reinstall", "apt-get install -o APT::Sandbox::User=root -qq -y --reinstall --allow-downgrades /debs/small/libc-bin*.deb"},
		{"driver packages of the version of the host", "dpkg --force-depends -i /debs/same/*.deb"},
		{"the same again", "dpkg --force-depends -i /debs/same/*.deb && ldconfig"},
		{"driver packages of another version", "dpkg --force-depends -i /debs/other/*.deb && ldconfig"},
		{"purge", "dpkg --force-depends -P libcuda1 libnvidia-ml1 && ldconfig"},
	}
	var script strings.Builder
	script.WriteString("export DEBIAN_FRONTEND=noninteractive\n")
	for _, step := range steps {
		script.WriteString("echo '== " + step.name + "'; (" + step.line + ") >/tmp/out 2>&1; rc=$?\n" +
			"echo \"rc $rc\"; [ $rc = 0 ] || cat /tmp/out; witness driver:libcuda.so.1 load:libyaml-0.so.2\n")
	}
	b := lab.NewBundle(t, root, lab.Options{
		Host: host, Overlay: true, Env: askTwo(), Args: []string{"/bin/sh", "-c", script.String()},
		Mounts: []specs.Mount{
			lab.Bind(small, "/debs/small", "ro"), lab.Bind(same, "/debs/same", "ro"), lab.Bind(other, "/debs/other", "ro"),
		},
	})
	got := lab.Run(t, lab.Runc(t), b, lab.Box{})
	if got.Code != 0 {
		t.Fatalf("runc ended with %d: %s", got.Code, got.Stderr)
	}
	parts := strings.Split(got.Stdout, "== ")[1:]
	if len(parts) != len(steps) {
		t.Fatalf("%d steps ended, want %d:\n%s", len(parts), len(steps), got.Stdout)
	}
	for i, part := range parts {
		if !strings.Contains(part, "\nrc 0\n") {
			t.Errorf("%s: %s", steps[i].name, part)
		}
		facts := lab.ParseFacts(t, part)
		if cuda := facts["driver:libcuda.so.1"]; cuda.Value != 12020 {
			t.Errorf("%s: cuDriverGetVersion = %+v, want the host's 12020", steps[i].name, cuda)
		}
		if yaml := facts["load:libyaml-0.so.2"]; i >= 2 && yaml.Error != "" {
			t.Errorf("%s: load libyaml: %+v", steps[i].name, yaml)
		}
	}
	if left := lab.Leftovers(t, b.Upper); left != nil {
		t.Errorf("empty driver files left in the root: %q", left)
	}
}
