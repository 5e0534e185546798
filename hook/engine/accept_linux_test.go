package engine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook/engine/tomldoc"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// run runs a program of the machine.
func run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // straight from os/exec
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}

// dump is what the installed containerd makes of a place's files.
func dump(t *testing.T, p place) (*tomldoc.Doc, error) {
	t.Helper()
	// Paths in imports are the host's; here they lie in the place.
	text := strings.ReplaceAll(p.get(containerdFile), "\"/etc/containerd/", "\""+p.dir+"/etc/containerd/")
	name := filepath.Join(p.dir, "dumped.toml")
	p.put("dumped.toml", text)
	out, err := run(t, "containerd", "--config", name, "config", "dump")
	if err != nil {
		return nil, err
	}
	if at := strings.Index(out, "disabled_plugins"); at > 0 && !strings.HasPrefix(out, "version") {
		out = out[at:] // warnings come on the same stream in some versions
	}
	return parseDump(t, out), nil
}

func parseDump(t *testing.T, text string) *tomldoc.Doc {
	t.Helper()
	doc, err := tomldoc.Parse([]byte(text))
	if err != nil {
		t.Fatalf("containerd config dump: %v\n%s", err, text)
	}
	return doc
}

// The installed containerd reads what we wrote as we meant it, and everything
// else as before.
func TestContainerdAccepts(t *testing.T) {
	t.Parallel()
	need.Containerd(t)
	files := fixtures(t, "containerd")
	text, err := run(t, "containerd", "config", "default")
	if err != nil {
		t.Fatal(err)
	}
	files["its-own-default"] = text
	files["imports"] = "imports = [\"/etc/containerd/conf.d/*.toml\"]\n" + files["1.7-kubeadm"]
	files["2-drop-in"] = strings.Replace(files["2-default"], "imports = []", "imports = [\"/etc/containerd/conf.d/*.toml\"]", 1)
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := map[string]string{containerdFile: content}
			if name == "imports" {
				all["/etc/containerd/conf.d/50-x.toml"] = files["nvidia"]
			}
			p := newPlace(t, all)
			before, err := dump(t, p)
			if err != nil {
				t.Logf("this containerd does not read it before either: %v", err)
				return
			}
			p.configure(Options{Engine: "containerd", SetDefault: true})
			after, err := dump(t, p)
			if err != nil {
				t.Fatalf("after configure: %v", err)
			}
			c := criFile{version: 2}
			if after.Get("plugins", criPlugins[3]) != nil {
				c.version = 3
			}
			switch {
			case name == "v1" && c.version == 3, name == "docker-package":
				return // ignored, and we warned
			case c.version == 2 && strings.HasPrefix(name, "2"):
				return // containerd 1 reads newer files without a word, and ignores them
			}
			options, _ := after.Get(c.keys("runtimes", handler, "options")...).(map[string]any)
			if options["BinaryName"] != "/usr/local/bin/gpu-runtime" || after.Get(c.keys("default_runtime_name")...) != "gpu" {
				t.Errorf("containerd sees options %v, default %v", options, after.Get(c.keys("default_runtime_name")...))
			}
			delete(before.Tree, "imports") // printed in no particular order
			delete(after.Tree, "imports")
			significant(before.Tree)
			significant(after.Tree)
			if diff := cmp.Diff(c.foreign(before), c.foreign(after)); diff != "" {
				t.Errorf("containerd sees other changes (-before +after):\n%s", diff)
			}
		})
	}
}

// significant leaves out what says nothing: containerd prints the zero values
// of some tables and not of others.
func significant(tree map[string]any) {
	for key, value := range tree {
		if table, ok := value.(map[string]any); ok {
			significant(table)
			if len(table) == 0 {
				delete(tree, key)
			}
		}
		if list, ok := value.([]any); ok && len(list) == 0 || reflect.ValueOf(value).IsZero() || value == "podsandbox" { // 1.7 fills that in later
			delete(tree, key)
		}
	}
}

func TestContainerdBaseSpecOfCtr(t *testing.T) {
	t.Parallel()
	need.Containerd(t)
	data, err := host{}.ctrSpec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spec, err := withHook("ctr oci spec", data, testBinary)
	if err != nil || !strings.Contains(string(spec), testBinary) || !strings.Contains(string(spec), "maskedPaths") {
		t.Errorf("withHook: %v\n%s", err, spec)
	}
}

func TestDockerAccepts(t *testing.T) {
	t.Parallel()
	need.Docker(t)
	for name, content := range fixtures(t, "docker") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{dockerFile: content})
			file := filepath.Join(p.dir, dockerFile)
			validate := []string{"--validate", "--config-file", file}
			if out, err := exec.CommandContext(t.Context(), "dockerd", validate...).CombinedOutput(); err != nil {
				t.Logf("this dockerd does not read it before either: %s", out)
				return
			}
			p.configure(Options{Engine: "docker", SetDefault: true})
			if out, err := exec.CommandContext(t.Context(), "dockerd", validate...).CombinedOutput(); err != nil {
				t.Errorf("dockerd: %s\n%s", out, p.get(dockerFile))
			}
		})
	}
}

// The hook that the file names runs once, with the environment that it names.
func TestPodmanRunsHook(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Podman(t)
	need.Runc(t)
	need.Busybox(t)
	need.Cgroup1(t)
	dir, err := os.MkdirTemp("", "gh") // Podman wants its run directory's path below 50 characters
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := place{t, dir}
	p.put("bin/gpu-hook", "#!/bin/sh\ncat >/dev/null\n(echo \"$0 $*\"; env | grep GPU_HOOK) >>"+dir+"/ran\n")
	text, err := hooksText(filepath.Join(dir, "bin/gpu-hook"), []string{"podman"})
	if err != nil {
		t.Fatal(err)
	}
	p.put("hooks/gpu-hook.json", string(text))
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	p.put("rootfs/bin/busybox", string(data))
	for _, name := range []string{"bin/gpu-hook", "rootfs/bin/busybox"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err = run(t, "podman", "--root", dir+"/data", "--runroot", dir+"/run", "--cgroup-manager=cgroupfs", "--runtime", "runc", "--hooks-dir", dir+"/hooks",
		"run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--rootfs", dir+"/rootfs", "/bin/busybox", "true")
	if err != nil {
		t.Fatal(err)
	}
	want := dir + "/bin/gpu-hook prestart\nGPU_HOOK_CONFIGURED=podman\n"
	if diff := cmp.Diff(want, p.get("ran")); diff != "" {
		t.Errorf("the hook (-want +got):\n%s", diff)
	}
}
