package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook/fault"
)

func TestDockerCycle(t *testing.T) {
	t.Parallel()
	for name, content := range fixtures(t, "docker") {
		for variant, content := range variants(content) {
			if strings.HasPrefix(content, "\n\n\ufeff") {
				continue // a byte order mark has one place
			}
			for _, setDefault := range []bool{false, true} {
				t.Run(name+"/"+variant, func(t *testing.T) {
					t.Parallel()
					cycle(t, map[string]string{dockerFile: content}, Options{Engine: "docker", SetDefault: setDefault})
				})
			}
		}
	}
}

func TestDockerAbsent(t *testing.T) {
	t.Parallel()
	cycle(t, nil, Options{Engine: "docker", SetDefault: true})
	cycle(t, nil, Options{Engine: "docker", File: "/srv/docker/daemon.json"})
}

func TestDockerText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		setDefault    bool
		want          string
	}{
		{"absent", "", false, "{\n  \"runtimes\": {\n    \"gpu\": {\n      \"path\": \"/usr/local/bin/gpu-runtime\"\n    }\n  }\n}\n"},
		{
			"tabs", "{\n\t\"debug\": true\n}\n", true,
			"{\n\t\"debug\": true,\n\t\"runtimes\": {\n\t\t\"gpu\": {\n\t\t\t\"path\": \"/usr/local/bin/gpu-runtime\"\n\t\t}\n\t},\n\t\"default-runtime\": \"gpu\"\n}\n",
		},
		{"one-line", `{"a":1}`, true, `{"a":1, "runtimes": {"gpu": {"path": "/usr/local/bin/gpu-runtime"}}, "default-runtime": "gpu"}`},
		{
			"default-keeps-its-place", "{\n  \"default-runtime\": \"crun\",\n  \"a\": 1\n}", true,
			"{\n  \"default-runtime\": \"gpu\",\n  \"a\": 1,\n  \"runtimes\": {\n    \"gpu\": {\n      \"path\": \"/usr/local/bin/gpu-runtime\"\n    }\n  }\n}",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := editDaemon(file{path: dockerFile, data: []byte(tt.content)}, "/usr/local/bin/gpu-runtime", tt.setDefault)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("daemon.json (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDockerRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		line          int
		code          fault.Code
		reason        string
	}{
		{"comment", "{\n  // no\n  \"a\": 1\n}", 2, fault.Config, "comments are not JSON"},
		{"block-comment", "{\n  \"a\": 1 /* no */\n}", 2, fault.Config, "comments are not JSON"},
		{"hash", "# no\n{}", 1, fault.Config, "comments are not JSON"},
		{"duplicate", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"a\": 3\n}", 4, fault.Config, `"a" stands there twice`},
		{"duplicate-escaped", "{\n  \"a\": 1,\n  \"\\u0061\": 3\n}", 3, fault.Config, "twice"},
		{"duplicate-below", "{\n  \"x\": [{\n  \"a\": 1,\n  \"a\": 3\n}]}", 4, fault.Config, "twice"},
		{"truncated", "{\n  \"a\": 1,\n", 2, fault.Config, "unexpected end"},
		{"trailing-comma", "{\n  \"a\": 1,\n}\n", 3, fault.Config, "invalid character"},
		{"two-values", "{}\n{}\n", 2, fault.Config, "invalid character"},
		{"list", "\n[]\n", 2, fault.Config, "not a JSON object"},
		{"runtimes-list", "{\n\"runtimes\": []}", 2, fault.Config, "runtimes is not an object"},
		{"foreign-gpu", "{\n\"runtimes\": {\n\"gpu\": {\"path\": \"/opt/other\"}}}", 3, fault.Other, "not gpu-hook's"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{dockerFile: tt.content})
			before := p.tree()
			_, err := p.try(Options{Engine: "docker"})
			wantFile(t, err, dockerFile, tt.line, tt.reason)
			if code := fault.CodeOf(err); code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
			p.same(before, "after a refusal")
		})
	}
}

// Somebody else's changes since stay, and the default runtime never points at
// nothing.
func TestDockerRemoveKeepsOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{dockerFile: "{\n  \"default-runtime\": \"crun\",\n  \"debug\": true\n}\n"})
	p.configure(Options{Engine: "docker", SetDefault: true})
	p.put(dockerFile, strings.Replace(p.get(dockerFile), `"debug": true`, `"debug": false, "mtu": 1400`, 1))
	if r := p.configure(Options{Engine: "docker"}); len(r.Changes) != 0 {
		t.Errorf("a run after somebody else's change changed something:\n%s", printed(t, r))
	}
	p.configure(Options{Engine: "docker", Remove: true})
	if diff := cmp.Diff("{\n  \"default-runtime\": \"crun\",\n  \"debug\": false, \"mtu\": 1400\n}\n", p.get(dockerFile)); diff != "" {
		t.Errorf("after --remove (-want +got):\n%s", diff)
	}
	if got := p.tree(); len(got) != 2 {
		t.Errorf("left behind: %v", got)
	}
}

func TestDockerRemoveWithoutCopy(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{dockerFile: "{\n  \"a\": 1\n}\n"})
	p.configure(Options{Engine: "docker", SetDefault: true})
	if err := os.Remove(filepath.Join(p.dir, dockerFile+BackupSuffix)); err != nil {
		t.Fatal(err)
	}
	p.configure(Options{Engine: "docker", Remove: true})
	if got := p.get(dockerFile); got != "{\n  \"a\": 1\n}\n" {
		t.Errorf("after --remove: %q", got)
	}
}

func TestDockerMovedBinary(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{dockerFile: "{}\n"})
	p.configure(Options{Engine: "docker", SetDefault: true})
	p.put("/opt/bin/gpu-hook", "")
	if err := os.Chmod(filepath.Join(p.dir, "/opt/bin/gpu-hook"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.configure(Options{Engine: "docker", Binary: "/opt/bin/gpu-hook"})
	var got struct {
		Runtimes map[string]map[string]string
		Default  string `json:"default-runtime"`
	}
	if err := json.Unmarshal([]byte(p.get(dockerFile)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Runtimes["gpu"]["path"] != "/opt/bin/gpu-runtime" || got.Default != "gpu" {
		t.Errorf("daemon.json says %+v", got)
	}
	if target := p.tree()["usr/local/bin/"+hookName]; target != "-> /opt/bin/gpu-hook" {
		t.Errorf("the hook's link is %q", target)
	}
	p.configure(Options{Engine: "docker", Remove: true}) // knows the path from the file
	if _, there := p.tree()["opt/bin/"+wrapperName]; there {
		t.Error("the wrapper's link is still there")
	}
	if got := p.get(dockerFile); got != "{}\n" {
		t.Errorf("after --remove: %q", got)
	}
}

func TestDockerHookLink(t *testing.T) {
	t.Parallel()
	const ours = "usr/local/bin/" + hookName
	tests := []struct {
		name  string
		link  HookLink
		files map[string]string
		want  string   // our link
		codes []string // of warnings
		err   bool
	}{
		{"nobody", "", nil, "-> " + testBinary, nil, false},
		{"never", HookLinkNever, nil, "", nil, false},
		{"toolkit", HookLinkAuto, map[string]string{"/usr/bin/" + hookName: "x"}, "", []string{"gpus-elsewhere"}, false},
		{"toolkit-always", HookLinkAlways, map[string]string{"/usr/bin/" + hookName: "x"}, "-> " + testBinary, []string{"gpus-ours"}, false},
		{"toolkit-first", HookLinkAlways, map[string]string{"/usr/local/sbin/" + hookName: "x"}, "", nil, true},
		{"toolkit-here", HookLinkAlways, map[string]string{"/usr/local/bin/" + hookName: "x"}, "-rw-r--r-- x", nil, true},
		{"cdi", "", map[string]string{"/usr/bin/" + cdiHookName: "x"}, "-> " + testBinary, []string{"cdi-first"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, tt.files)
			r, err := p.try(Options{Engine: "docker", HookLink: tt.link})
			if (err != nil) != tt.err {
				t.Fatalf("error is %v", err)
			}
			if diff := cmp.Diff(tt.codes, codes(r)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if got := p.tree()[ours]; got != tt.want {
				t.Errorf("%s is %q, want %q", ours, got, tt.want)
			}
		})
	}
}

// A package's own links are relative, and not ours to remove.
func TestDockerPackageLinks(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{dockerFile: "{}\n"})
	for _, name := range []string{hookName, wrapperName} {
		if err := os.Symlink(ownName, filepath.Join(p.dir, "usr/local/bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	before := p.tree()
	if r := p.configure(Options{Engine: "docker"}); len(r.Warnings) != 0 || len(r.Changes) != 2 {
		t.Errorf("report:\n%s", printed(t, r))
	}
	p.configure(Options{Engine: "docker", Remove: true})
	p.same(before, "after --remove")
}

func TestDockerSnap(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{dockerSnap: "{}"})
	if diff := cmp.Diff([]string{"snap"}, codes(p.configure(Options{Engine: "docker", DryRun: true}))); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	cycle(t, map[string]string{dockerSnap: "{}"}, Options{Engine: "docker", File: dockerSnap})
}

func FuzzDocker(f *testing.F) {
	for _, content := range fixtures(f, "docker") {
		f.Add([]byte(content), true)
	}
	f.Add([]byte("{\"runtimes\":{\"gpu\":{\"path\":\"/x/gpu-runtime\"}},\"default-runtime\":\"gpu\"}"), false)
	f.Add([]byte("{// \n}"), false)
	f.Fuzz(func(t *testing.T, data []byte, setDefault bool) {
		d, err := parseDaemon(file{path: dockerFile, data: data, exists: true})
		if err != nil {
			return
		}
		if d.ours() {
			if _, err := foreign(d.restored(file{})); err != nil {
				t.Fatalf("without our part: %v", err)
			}
			return
		}
		edited, err := editDaemon(d.file, "/usr/local/bin/gpu-runtime", setDefault)
		if err != nil {
			if strings.Contains(err.Error(), "internal error") {
				t.Fatal(err)
			}
			return
		}
		again, err := parseDaemon(file{path: dockerFile, data: edited, exists: true})
		if err != nil || !again.is("/usr/local/bin/gpu-runtime", setDefault) {
			t.Fatalf("edited to %q: %v", edited, err)
		}
		if back := again.restored(d.file); string(back) != string(data) {
			t.Fatalf("restored %q to %q", data, back)
		}
		if err := sameDaemon("", data, again.restored(file{})); err != nil {
			t.Fatal(err)
		}
	})
}
