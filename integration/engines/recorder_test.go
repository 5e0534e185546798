package engines

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// recorderDir is where the recorder keeps what it saw, inside the machine.
const recorderDir = "/run/recorder"

// record puts the recorder in front of a runtime and returns its path.
func (x *matrix) record(t *testing.T, m *machine, runtime string) string {
	t.Helper()
	lab.Install(t, x.recorder, m.path("/usr/local/bin/recorder"))
	path := map[string]string{"runc": "/usr/sbin/runc", "crun": "/usr/bin/crun"}[runtime]
	m.write(t, "/usr/local/bin/recorder.json", fmt.Sprintf(`{"runtime": %q, "dir": %q, "strip": %v}`, path, recorderDir, m.cgroups == lab.V2))
	return "/usr/local/bin/recorder"
}

// recorded returns the configurations that containers were made from since the
// last call, by what CRI calls their type ("" for others).
func (m *machine) recorded(t *testing.T) map[string]specs.Spec {
	t.Helper()
	files, err := filepath.Glob(m.path(recorderDir + "/*.json"))
	check(t, err)
	out := map[string]specs.Spec{}
	for _, file := range files {
		var spec specs.Spec
		text, err := os.ReadFile(file)
		check(t, err)
		check(t, json.Unmarshal(text, &spec))
		out[spec.Annotations["io.kubernetes.cri.container-type"]] = spec
		check(t, os.Remove(file))
	}
	return out
}

// calls returns the argument lists that hold a word.
func (m *machine) calls(word string) []string {
	var out []string
	for line := range strings.Lines(m.read(recorderDir + "/calls")) {
		if strings.Contains(line, `"`+word+`"`) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// ourHooks counts gpu-hook in all stages that it can be registered for.
func ourHooks(spec specs.Spec) int {
	if spec.Hooks == nil {
		return 0
	}
	n := 0
	for _, stage := range [][]specs.Hook{spec.Hooks.Prestart, spec.Hooks.CreateRuntime, spec.Hooks.CreateContainer} {
		for _, h := range stage {
			if name := filepath.Base(h.Path); name == "gpu-hook" || name == "gpu-runtime" || name == "nvidia-container-runtime-hook" {
				n++
			}
		}
	}
	return n
}

// wantEdited checks that a configuration names our hook once and the nodes of
// two GPUs.
func wantEdited(t *testing.T, spec specs.Spec) {
	t.Helper()
	if n := ourHooks(spec); n != 1 {
		t.Errorf("config.json has our hook %d times, want once", n)
	}
	gpus := 0
	for _, d := range spec.Linux.Devices {
		if d.Path == "/dev/nvidia0" || d.Path == "/dev/nvidia2" {
			gpus++
		}
	}
	if gpus != 2 {
		t.Errorf("config.json names %d of the two GPUs in linux.devices", gpus)
	}
}

// wantPlain checks that a configuration has nothing of ours.
func wantPlain(t *testing.T, spec specs.Spec) {
	t.Helper()
	if n := ourHooks(spec); n != 0 {
		t.Errorf("config.json has our hook %d times, want none", n)
	}
	for _, d := range spec.Linux.Devices {
		if strings.HasPrefix(d.Path, "/dev/nvidia") {
			t.Errorf("config.json has %s, want no GPU", d.Path)
		}
	}
}
