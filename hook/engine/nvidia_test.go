package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/engine/tomldoc"
)

// converted is what our file says after an import.
func converted(t *testing.T, content string) (config.Config, string, []string) {
	t.Helper()
	doc, err := tomldoc.Parse([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	text, leftOut := convert(doc.Tree)
	c, err := config.Parse("config.toml", text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return c, string(text), leftOut
}

func TestImportDefaults(t *testing.T) {
	t.Parallel()
	c, text, leftOut := converted(t, fixtures(t, "nvidia")["defaults"])
	want := config.Default()
	want.SupportedDriverCapabilities = []string{"compat32", "compute", "display", "graphics", "ngx", "utility", "video"}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("NVIDIA's defaults are not ours (-want +got):\n%s", diff)
	}
	if len(leftOut) != 0 {
		t.Errorf("not carried over: %q", leftOut)
	}
	for _, key := range []string{"nvidia-ctk.path", "nvidia-container-cli.ldconfig", "modes.cdi.spec-dirs"} {
		if !strings.Contains(text, key) {
			t.Errorf("%s is not mentioned in:\n%s", key, text)
		}
	}
}

func TestImportOperator(t *testing.T) {
	t.Parallel()
	c, _, leftOut := converted(t, fixtures(t, "nvidia")["operator"])
	want := config.Default()
	want.AcceptEnv, want.AcceptVolumeMounts, want.DisableRequire = config.EnvPrivileged, true, true
	want.SwarmResource = "DOCKER_RESOURCE_GPU"
	want.SupportedDriverCapabilities = []string{"compute", "utility"}
	want.LoadKernelModules = false
	want.Driver.Root = "/run/nvidia/driver"
	want.Cgroups.Mode = config.CgroupOff
	want.Compat.Mode = config.CompatOff
	want.Log.Level = config.LevelDebug
	want.Runtime.Runtimes = []string{"/usr/sbin/runc", "crun"}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	var keys []string
	for _, line := range leftOut {
		key, rest, _ := strings.Cut(line, " = ")
		if !strings.Contains(rest, ": ") {
			t.Errorf("no reason in %q", line)
		}
		keys = append(keys, key)
	}
	wantKeys := []string{
		"features.allow-ldconfig-from-container", "features.ignore-imex-channel-requests", "nvidia-container-cli.debug",
		"nvidia-container-cli.environment", "nvidia-container-cli.ldcache", "nvidia-container-cli.user", "nvidia-container-runtime.debug",
		"nvidia-container-runtime.mode", "nvidia-container-runtime.modes.cdi.annotation-prefixes", "something-new", "supported-driver-capabilities",
	}
	if diff := cmp.Diff(wantKeys, keys); diff != "" {
		t.Errorf("not carried over (-want +got):\n%s", diff)
	}
}

// Each key alone, with a value of the wrong kind, is reported and never makes
// a file that we would refuse.
func TestImportWrongTypes(t *testing.T) {
	t.Parallel()
	for _, rule := range nvidiaKeys() {
		for _, value := range []any{int64(7), "%\n\x01", []any{int64(1)}, true} {
			in := &imported{settings: map[string]string{}}
			in.key(rule.key, value)
			if len(in.settings)+len(in.leftOut)+len(in.unneeded) == 0 {
				t.Errorf("%s = %v vanished", rule.key, value)
			}
		}
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{nvidiaFile: fixtures(t, "nvidia")["operator"]})
	before := p.tree()
	dry := printed(t, p.configure(Options{Import: true, DryRun: true}))
	p.same(before, "after --dry-run")
	if !strings.Contains(dry, "+++ b/etc/gpu-hook/config.toml") || !strings.Contains(dry, "+accept-env = \"privileged\"") {
		t.Errorf("dry run:\n%s", dry)
	}
	r := p.configure(Options{Import: true, Engine: "docker"})
	if len(r.Changes) != 4 { // ours, two links, daemon.json
		t.Errorf("report:\n%s", printed(t, r))
	}
	if again := p.configure(Options{Import: true, Engine: "docker"}); len(again.Changes) != 0 {
		t.Errorf("the second run changed something:\n%s", printed(t, again))
	}
	p.put(config.DefaultPath, "disable-require = true\n")
	_, err := p.try(Options{Import: true})
	wantFile(t, err, config.DefaultPath, 0, "is there already")
	p.put(nvidiaFile, "disable-require = true\n[x\n")
	_, err = p.try(Options{Import: true})
	wantFile(t, err, nvidiaFile, 2, "")
	_, err = newPlace(t, nil).try(Options{Import: true})
	wantFile(t, err, nvidiaFile, 0, "does not exist")
}

func FuzzImport(f *testing.F) {
	for _, content := range fixtures(f, "nvidia") {
		f.Add([]byte(content))
	}
	f.Add([]byte("\"a\\nb = 1\" = \"x\\ny\"\n[nvidia-container-cli]\nroot = \"/\\u0001\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := tomldoc.Parse(data)
		if err != nil {
			return
		}
		text, _ := convert(doc.Tree)
		if _, err := config.Parse("config.toml", text); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
	})
}
