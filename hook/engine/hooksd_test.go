package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook/engine/tomldoc"
)

const sharedHook = hooksDir + "/" + hooksFile

func TestPodmanCycle(t *testing.T) {
	t.Parallel()
	cycle(t, nil, Options{Engine: "podman"})
	cycle(t, map[string]string{"/etc/containers/containers.conf": fixtures(t, "podman")["containers"]}, Options{Engine: "podman"})
}

func TestHooksText(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.configure(Options{Engine: "podman"})
	want := `{
  "version": "1.0.0",
  "hook": {
    "path": "/usr/local/bin/gpu-hook",
    "args": [
      "gpu-hook",
      "prestart"
    ],
    "env": [
      "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
      "GPU_HOOK_CONFIGURED=podman"
    ]
  },
  "when": {
    "always": true
  },
  "stages": [
    "prestart"
  ]
}
`
	if diff := cmp.Diff(want, p.get(sharedHook)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", sharedHook, diff)
	}
	want = ownMark + "[engine.runtimes]\ngpu = [\"/usr/local/bin/gpu-runtime\"]\n"
	if diff := cmp.Diff(want, p.get(podmanFile)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", podmanFile, diff)
	}
}

// The file goes into a directory that the engine reads, and others that would
// give GPUs a second time are named.
func TestHooksDirectories(t *testing.T) {
	t.Parallel()
	nvidia := fixtures(t, "podman")["oci-nvidia-hook"]
	conf := fixtures(t, "podman")["containers"]
	old := `{"hook": "/usr/bin/nvidia-container-runtime-hook", "arguments": ["prestart"], "cmds": [".*"], "stages": ["prestart"]}`
	const etc = "/etc/containers/oci/hooks.d"
	tests := []struct {
		name  string
		files map[string]string
		want  string
		codes []string
	}{
		{"default", nil, sharedHook, nil},
		{"etc-is-not-read", map[string]string{etc + "/oci-nvidia-hook.json": nvidia}, sharedHook, nil},
		{"named", map[string]string{"/etc/containers/containers.conf": conf}, etc + "/" + hooksFile, nil},
		{"drop-in", map[string]string{"/etc/containers/containers.conf": conf, "/etc/containers/containers.conf.d/z.conf": "[engine]\nhooks_dir = [\"/srv/hooks\"]\n"}, "/srv/hooks/" + hooksFile, nil},
		{"toolkit", map[string]string{hooksDir + "/oci-nvidia-hook.json": nvidia}, sharedHook, []string{"second-hook"}},
		{"toolkit-old", map[string]string{hooksDir + "/a.json": old, hooksDir + "/b.json": "{broken"}, sharedHook, []string{"second-hook"}},
		{"ours-twice", map[string]string{hooksDir + "/00-gpu.json": `{"version": "1.0.0", "hook": {"path": "/opt/gpu-hook"}}`}, sharedHook, []string{"second-hook"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, tt.files)
			r := p.configure(Options{Engine: "podman"})
			if diff := cmp.Diff(tt.codes, codes(r)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if _, ok := parseHooks([]byte(p.get(tt.want))); !ok {
				t.Errorf("%s: %s", tt.want, p.get(tt.want))
			}
		})
	}
}

// Podman and CRI-O read the same directory: one file, which stays until the
// last of them is done with it.
func TestHooksAreShared(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.configure(Options{Engine: "podman"})
	p.configure(Options{Engine: "crio"})
	entry, _ := parseHooks([]byte(p.get(sharedHook)))
	if diff := cmp.Diff([]string{"crio", "podman"}, entry.users()); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
	if r := p.configure(Options{Engine: "podman"}); len(r.Changes) != 0 {
		t.Errorf("the second run changed something:\n%s", printed(t, r))
	}
	p.configure(Options{Engine: "podman", Remove: true})
	entry, _ = parseHooks([]byte(p.get(sharedHook)))
	if diff := cmp.Diff([]string{"crio"}, entry.users()); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
	p.configure(Options{Engine: "crio", Remove: true})
	if got := p.tree(); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

func TestHooksRefusesForeign(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{sharedHook: "{}", podmanFile: "[engine]\n"} {
		p := newPlace(t, map[string]string{name: content})
		before := p.tree()
		_, err := p.try(Options{Engine: "podman"})
		wantFile(t, err, name, 0, "not gpu-hook's")
		p.configure(Options{Engine: "podman", Remove: true})
		p.same(before, "after a refusal and --remove")
	}
	p := newPlace(t, map[string]string{"/etc/containers/containers.conf": "[engine]\nhooks_dir = [\n"})
	_, err := p.try(Options{Engine: "podman"})
	wantFile(t, err, "/etc/containers/containers.conf", 2, "")
}

func TestCRIO(t *testing.T) {
	t.Parallel()
	files := fixtures(t, "crio")
	tests := []struct {
		name       string
		files      map[string]string
		setDefault bool
		want       map[string]any
		hooks      string
		codes      []string
	}{
		{"nothing", nil, false, map[string]any{}, sharedHook, nil},
		{"main", map[string]string{crioMain: files["crio"]}, true, map[string]any{}, sharedHook, nil},
		{
			"drop-in",
			map[string]string{crioMain: files["crio"], "/etc/crio/crio.conf.d/10-crun.conf": files["99-crun"]},
			true,
			map[string]any{"monitor_path": "/usr/libexec/crio/conmon", "allowed_annotations": []any{"io.containers.trace-syscall"}},
			"/etc/containers/oci/hooks.d/" + hooksFile, nil,
		},
		{
			"later-default",
			map[string]string{"/etc/crio/crio.conf.d/99-nvidia.toml": "[crio.runtime]\ndefault_runtime = \"nvidia\"\n[crio.runtime.runtimes.runc]\nmonitor_cgroup = \"pod\"\n"},
			true,
			map[string]any{"monitor_cgroup": "pod"},
			sharedHook,
			[]string{"default-overridden"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Engine: "crio", SetDefault: tt.setDefault}
			r := cycle(t, tt.files, o)
			if diff := cmp.Diff(tt.codes, codes(r)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			p := newPlace(t, tt.files)
			p.configure(o)
			doc, err := tomldoc.Parse([]byte(p.get(crioFile)))
			if err != nil {
				t.Fatal(err)
			}
			tt.want["runtime_path"], tt.want["runtime_type"], tt.want["runtime_root"] = "/usr/local/bin/gpu-runtime", "oci", "/run/gpu-runtime"
			if diff := cmp.Diff(any(tt.want), doc.Get("crio", "runtime", "runtimes", "gpu")); diff != "" {
				t.Errorf("handler (-want +got):\n%s", diff)
			}
			if got := doc.Get("crio", "runtime", "default_runtime"); (got == "gpu") != tt.setDefault {
				t.Errorf("default_runtime is %v", got)
			}
			if _, err := os.Stat(filepath.Join(p.dir, tt.hooks)); err != nil {
				t.Error(err)
			}
		})
	}
}

func FuzzParseHooks(f *testing.F) {
	for _, content := range fixtures(f, "podman") {
		f.Add([]byte(content))
	}
	f.Add([]byte(`{"hook": "/x"}`))
	f.Add([]byte(`{"hook": {"env": ["GPU_HOOK_CONFIGURED="]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entry, ok := parseHooks(data)
		if users := entry.users(); !ok && len(users) > 0 {
			t.Errorf("users %q of what is no hook", users)
		}
	})
}

// The wrapper's link is found through the file that names it.
func TestRemoveKnowsThePath(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		p := newPlace(t, map[string]string{"/opt/x/gpu-hook": ""})
		if err := os.Chmod(filepath.Join(p.dir, "opt/x/gpu-hook"), 0o755); err != nil {
			t.Fatal(err)
		}
		before := p.tree()
		p.configure(Options{Engine: engine, Binary: "/opt/x/gpu-hook"})
		p.configure(Options{Engine: engine, Remove: true})
		p.same(before, engine)
	}
}
