package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook/engine/tomldoc"
	"github.com/gpu-hook/gpu-hook/hook/fault"
)

func TestContainerdCycle(t *testing.T) {
	t.Parallel()
	for name, content := range fixtures(t, "containerd") {
		for variant, content := range variants(content) {
			for _, setDefault := range []bool{false, true} {
				t.Run(name+"/"+variant, func(t *testing.T) {
					t.Parallel()
					cycle(t, map[string]string{containerdFile: content}, Options{Engine: "containerd", SetDefault: setDefault})
				})
			}
		}
	}
}

func TestContainerdAbsent(t *testing.T) {
	t.Parallel()
	cycle(t, nil, Options{Engine: "containerd", SetDefault: true})
	cycle(t, nil, Options{Engine: "containerd", File: "/var/lib/x/config.toml.tmpl"})
}

// tableAt configures and gives the handler's table in the file at name.
func tableAt(t *testing.T, p place, name string) map[string]any {
	t.Helper()
	doc, err := tomldoc.Parse([]byte(p.get(name)))
	if err != nil {
		t.Fatal(err)
	}
	for _, plugin := range criPlugins[1:] {
		if table, ok := doc.Get("plugins", plugin, "containerd", "runtimes", handler).(map[string]any); ok {
			return table
		}
	}
	t.Fatalf("no handler gpu in %s:\n%s", name, p.get(name))
	return nil
}

// The handler is like the default runtime, but for its binary.
func TestContainerdTable(t *testing.T) {
	t.Parallel()
	const wrapper = "/usr/local/bin/gpu-runtime"
	options := func(more map[string]any) map[string]any {
		more["BinaryName"] = wrapper
		return more
	}
	tests := []struct {
		name  string
		want  map[string]any
		codes []string
	}{
		{"1.7-kubeadm", map[string]any{"runtime_type": runcType, "pod_annotations": []any{"cdi.k8s.io/*"}, "options": options(map[string]any{"SystemdCgroup": true})}, nil},
		{"2-default", map[string]any{"runtime_type": runcType, "pod_annotations": []any{}, "sandboxer": "podsandbox", "io_type": "", "options": options(map[string]any{"SystemdCgroup": true})}, nil},
		{"2.3-v4", map[string]any{"runtime_type": runcType, "options": options(map[string]any{"SystemdCgroup": true})}, nil},
		{"v1", map[string]any{"runtime_type": runcType, "options": options(map[string]any{"SystemdCgroup": true})}, []string{"version-1"}},
		{"docker-package", map[string]any{"runtime_type": runcType, "options": options(map[string]any{})}, []string{"cri-disabled", "version-1"}},
		{"k3s-template", map[string]any{"runtime_type": runcType, "options": options(map[string]any{"SystemdCgroup": true})}, nil},
		{"nvidia", map[string]any{"runtime_type": runcType, "privileged_without_host_devices": false, "options": options(map[string]any{"SystemdCgroup": true})}, []string{"other-binary"}},
		{"kata", map[string]any{"runtime_type": runcType, "options": options(map[string]any{"SystemdCgroup": true})}, nil},
		{"empty", map[string]any{"runtime_type": runcType, "options": options(map[string]any{})}, nil},
	}
	files := fixtures(t, "containerd")
	for _, tt := range tests {
		for _, setDefault := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, map[string]string{containerdFile: files[tt.name]})
				r := p.configure(Options{Engine: "containerd", SetDefault: setDefault})
				if diff := cmp.Diff(tt.codes, codes(r)); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.want, tableAt(t, p, containerdFile)); diff != "" {
					t.Errorf("handler (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestContainerdText(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{containerdFile: fixtures(t, "containerd")["nvidia"]})
	got := printed(t, p.configure(Options{Engine: "containerd", SetDefault: true, DryRun: true}))
	want := `# link /usr/local/bin/gpu-runtime -> /usr/local/bin/gpu-hook
# keep /etc/containerd/config.toml.gpu-hook-backup
--- a/etc/containerd/config.toml
+++ b/etc/containerd/config.toml
@@ -1,6 +1,7 @@
 version = 2
 [plugins."io.containerd.grpc.v1.cri".containerd]
-  default_runtime_name = "nvidia" # set by the GPU operator
+  # gpu-hook was: default_runtime_name = "nvidia" # set by the GPU operator
+  default_runtime_name = "gpu"
 
 [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
   privileged_without_host_devices = false
@@ -12,3 +13,11 @@
     SystemdCgroup = true
 [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
   runtime_type = "io.containerd.runc.v2"
+# gpu-hook begin: configure --remove takes these lines out
+[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.gpu]
+  privileged_without_host_devices = false
+  runtime_type = "io.containerd.runc.v2"
+  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.gpu.options]
+    BinaryName = "/usr/local/bin/gpu-runtime"
+    SystemdCgroup = true
+# gpu-hook end
# warning: runtime nvidia is started as /usr/local/nvidia/toolkit/nvidia-container-runtime; the handler gpu starts /usr/local/bin/gpu-runtime, which looks for runc and crun itself
# restart containerd (running containers go on): systemctl restart containerd
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dry run (-want +got):\n%s", diff)
	}
}

func TestContainerdRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		line          int
		code          fault.Code
		reason        string
	}{
		{"version-5", "# x\nversion = 5\n", 2, fault.Config, "version 5 is not known"},
		{"version-0", "version = 0\n", 1, fault.Config, "version 0 is not known"},
		{"version-text", "version = \"2\"\n", 1, fault.Config, "not a number"},
		{"no-version", "root = \"/\"\n\n[plugins.\"io.containerd.grpc.v1.cri\"]\n", 3, fault.Config, "no version line"},
		{"broken", "version = 2\n[plugins\n", 2, fault.Config, "expected"},
		{"duplicate-key", "version = 2\nroot = \"/a\"\nroot = \"/b\"\n", 3, fault.Config, "root"},
		{"template", "{{ template \"base\" . }}\n\n[plugins]\n", 1, fault.Config, "line of a template"},
		{"inline", "version = 2\nplugins = {\"io.containerd.grpc.v1.cri\" = {containerd = {runtimes = {}}}}\n", 2, fault.Config, "form that cannot be added to"},
		{"foreign-gpu", "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.gpu]\nruntime_type = \"x\"\n", 2, fault.Other, "not gpu-hook's"},
		{"generated", "# File generated by k3s. DO NOT EDIT. Use config.toml.tmpl instead.\nversion = 2\n", 1, fault.Other, "generated anew"},
		{"unclosed", "version = 2\n# gpu-hook begin: configure --remove takes these lines out\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.gpu.options]\nBinaryName = \"/x/gpu-runtime\"\n", 2, fault.Config, "is missing"},
		{"stranger-inside", "version = 2\n# gpu-hook begin: configure --remove takes these lines out\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.gpu.options]\nBinaryName = \"/x/gpu-runtime\"\n[debug]\nlevel = \"info\"\n# gpu-hook end\n", 3, fault.Config, "somebody else's"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{containerdFile: tt.content})
			before := p.tree()
			_, err := p.try(Options{Engine: "containerd"})
			wantFile(t, err, containerdFile, tt.line, tt.reason)
			if code := fault.CodeOf(err); code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
			p.same(before, "after a refusal")
		})
	}
}

// Another program that rewrote the file without comments has not made our part
// somebody else's.
func TestContainerdWithoutMarks(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{containerdFile: fixtures(t, "containerd")["nvidia"]})
	p.configure(Options{Engine: "containerd", SetDefault: true})
	var kept []string
	for line := range strings.Lines(p.get(containerdFile)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			kept = append(kept, line)
		}
	}
	p.put(containerdFile, strings.Join(kept, ""))
	if r := p.configure(Options{Engine: "containerd", SetDefault: true}); len(r.Changes) != 0 {
		t.Errorf("changed something:\n%s", printed(t, r))
	}
	p.configure(Options{Engine: "containerd", Remove: true})
	want := strings.Replace(fixtures(t, "containerd")["nvidia"], " # set by the GPU operator", "", 1)
	if diff := cmp.Diff(want, p.get(containerdFile)); diff != "" {
		t.Errorf("after --remove (-want +got):\n%s", diff)
	}
}

func TestContainerdRemoveKeepsOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{containerdFile: fixtures(t, "containerd")["1.7-kubeadm"]})
	p.configure(Options{Engine: "containerd", SetDefault: true})
	const added = "\n[debug]\n  level = \"debug\" # for a day\n"
	p.put(containerdFile, p.get(containerdFile)+added)
	p.configure(Options{Engine: "containerd", Remove: true})
	if diff := cmp.Diff(fixtures(t, "containerd")["1.7-kubeadm"]+added, p.get(containerdFile)); diff != "" {
		t.Errorf("after --remove (-want +got):\n%s", diff)
	}
}

// containerd 1 lets the last file with CRI settings win whole; containerd 2
// merges, so that a file of our own is enough.
func TestContainerdImports(t *testing.T) {
	t.Parallel()
	const conf = "/etc/containerd/conf.d/"
	main2 := "imports = [\"/etc/containerd/conf.d/*.toml\", \"other.toml\"]\n" + fixtures(t, "containerd")["1.7-kubeadm"]
	main3 := strings.Replace(fixtures(t, "containerd")["2-default"], "imports = []", "imports = ['conf.d/*.toml']", 1)
	tests := []struct {
		name  string
		files map[string]string
		want  string // the file that has our part
		codes []string
	}{
		{"v2-nothing-imported", map[string]string{containerdFile: main2, "/etc/containerd/other.toml": "version = 2\n"}, containerdFile, nil},
		{"v2-imported", map[string]string{containerdFile: main2, "/etc/containerd/other.toml": "version = 2\n", conf + "10-a.toml": fixtures(t, "containerd")["nvidia"], conf + "20-b.toml": "version = 2\n[debug]\nlevel = \"info\"\n"}, conf + "10-a.toml", []string{"other-binary"}},
		{"v3", map[string]string{containerdFile: main3}, conf + "99-gpu-hook.toml", nil},
		{"v3-beside", map[string]string{containerdFile: main3, conf + "50-x.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\nRoot = '/run/x'\n"}, conf + "99-gpu-hook.toml", nil},
		{"v3-later", map[string]string{containerdFile: main3, conf + "99-nvidia.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = 'runc'\n"}, conf + "99-gpu-hook.toml", []string{"default-overridden"}},
		{"k3s-generated", map[string]string{containerdFile: "# File generated by k3s. DO NOT EDIT.\n" + main3}, conf + "99-gpu-hook.toml", nil},
		{"circle", map[string]string{containerdFile: "version = 2\nimports = [\"/etc/containerd/config.toml\"]\n"}, containerdFile, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Engine: "containerd", SetDefault: true}
			r := cycle(t, tt.files, o)
			if diff := cmp.Diff(tt.codes, codes(r)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			p := newPlace(t, tt.files)
			p.configure(o)
			table := tableAt(t, p, tt.want)
			if tt.name == "v3-beside" && table["options"].(map[string]any)["Root"] != "/run/x" {
				t.Errorf("the imported option is not copied: %v", table)
			}
		})
	}
}

// containerd forgets its built-in runc as soon as a file names a runtime.
func TestContainerdNamesRunc(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"empty": true, "version-only": true, "dotted": true, "docker-package": true, "1.7-kubeadm": false, "kata": false, "2-default": false} {
		p := newPlace(t, map[string]string{containerdFile: fixtures(t, "containerd")[name]})
		o := Options{Engine: "containerd"}
		dry := o
		dry.DryRun = true
		if got := strings.Contains(printed(t, p.configure(dry)), ".runtimes.runc]\n+  runtime_type = \"io.containerd.runc.v2\"\n"); got != want {
			t.Errorf("%s: runc is named: %v, want %v", name, got, want)
		}
	}
}

func TestContainerdBaseSpec(t *testing.T) {
	t.Parallel()
	main := "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\nruntime_type = \"io.containerd.runc.v2\"\nbase_runtime_spec = \"/etc/containerd/base.json\"\n"
	files := map[string]string{containerdFile: main, "/etc/containerd/base.json": "{\"ociVersion\": \"1.1.0\", \"hooks\": {\"poststop\": [{\"path\": \"/x\"}], \"prestart\": [{\"path\": \"/y\"}]}}\n"}
	o := Options{Engine: "containerd", BaseSpec: true}
	cycle(t, files, o)
	p := newPlace(t, files)
	p.configure(o)
	const spec = "/etc/containerd/gpu-hook-base-spec.json"
	want := map[string]any{"runtime_type": runcType, "base_runtime_spec": spec}
	if diff := cmp.Diff(want, tableAt(t, p, containerdFile)); diff != "" {
		t.Errorf("handler (-want +got):\n%s", diff)
	}
	wantSpec := `{"ociVersion": "1.1.0", "hooks": {"poststop":[{"path":"/x"}],"prestart":[{"path":"/usr/local/bin/gpu-hook","args":["gpu-hook","prestart"],"env":["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]},{"path":"/y"}]}}` + "\n"
	if diff := cmp.Diff(wantSpec, p.get(spec)); diff != "" {
		t.Errorf("specification (-want +got):\n%s", diff)
	}
	p.configure(Options{Engine: "containerd"}) // and back to the wrapper
	if got := tableAt(t, p, containerdFile)["base_runtime_spec"]; got != "/etc/containerd/base.json" {
		t.Errorf("back to the wrapper: base_runtime_spec is %v", got)
	}
}

func TestContainerdBaseSpecNeedsCtr(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	_, err := p.try(Options{Engine: "containerd", BaseSpec: true})
	wantFile(t, err, "ctr", 0, "no such program")
}

// The wrapper's link stays while another engine's file names it.
func TestWrapperLinkIsShared(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	link := filepath.Join(p.dir, "usr/local/bin", wrapperName)
	p.configure(Options{Engine: "docker", HookLink: HookLinkNever})
	p.configure(Options{Engine: "containerd"})
	p.configure(Options{Engine: "docker", Remove: true})
	if _, err := os.Readlink(link); err != nil {
		t.Errorf("after the first --remove: %v", err)
	}
	p.configure(Options{Engine: "containerd", Remove: true})
	if _, err := os.Readlink(link); err == nil {
		t.Error("the link is still there after the last --remove")
	}
}

func FuzzContainerd(f *testing.F) {
	for _, content := range fixtures(f, "containerd") {
		f.Add([]byte(content), true)
	}
	f.Add([]byte("version = 2\n# gpu-hook was: x\n# gpu-hook end\n"), true)
	f.Add([]byte("version = 3\n[[a]]\nb = {c = [1, {d = 2}]}\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, setDefault bool) {
		c, err := criFile{file: file{path: containerdFile, exists: true}, version: 2}.with(data)
		if err == nil {
			c, err = c.versioned()
		}
		if err != nil {
			return
		}
		if c.ours() {
			_, _ = c.restored()
			return
		}
		want := map[string]any{"runtime_type": runcType, "options": map[string]any{"BinaryName": "/usr/local/bin/gpu-runtime", "Odd key": []any{int64(1), 1.5, "\u0001"}}}
		edited, err := c.edited(want, setDefault)
		if err != nil {
			return
		}
		again, err := c.with(edited)
		if err != nil || !again.is(want, setDefault) || !again.ours() {
			t.Fatalf("edited to %q: %v", edited, err)
		}
		if strings.Contains(string(data), "gpu-hook") {
			return // marks of ours that are not ours
		}
		back, err := again.restored()
		if err != nil || string(back.data) != string(data) && c.defaultName() != handler {
			t.Fatalf("restored %q to %q: %v", data, back.data, err)
		}
	})
}
