package wrapper

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/rawjson"
)

// asking is a container of an engine that asks for the first GPU; unknown
// members and numbers that no type holds have to stay.
const asking = `{
	"ociVersion": "1.2.0", "vendor": {"x": 1e400, "y": 123456789012345678901234567890, "z": [ 0.10 , "ü\u00e4" ]},
	"process": {"user": {"uid": 1000, "gid": 100}, "env": ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=0"], "oomScoreAdj": 7},
	"root": {"path": "rootfs"},
	"hooks": {"prestart": [{"path": "/bin/true", "future": -0}], "futureStage": {}},
	"linux": {"devices": [{"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229}],
		"resources": {"devices": [{"allow": false, "access": "rwm"}], "unified": {"memory.max": "max"}},
		"seccomp": {"defaultAction": "SCMP_ACT_ERRNO", "future": 1}}
}`

// added is what an edit put into a text, by path.
func added(t *testing.T, before, after string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, path := range []string{"hooks.createRuntime", "linux.devices", "linux.resources.devices", "process.user.additionalGids", "process.env"} {
		was, is := texts(t, before, path), texts(t, after, path)
		for i, v := range is {
			if i >= len(was) || was[i] != v {
				out[path] += v + "\n"
			}
		}
	}
	return out
}

func texts(t *testing.T, text, path string) []string {
	t.Helper()
	raw, err := rawjson.Find([]byte(text), strings.Split(path, ".")...)
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if raw != nil {
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for _, v := range list {
		out = append(out, string(v))
	}
	return out
}

// rest is what a text means without the lists that we add to.
func rest(t *testing.T, text string) map[string]any {
	t.Helper()
	v := decode(t, text)
	for _, path := range []string{"hooks.createRuntime", "linux.devices", "linux.resources.devices", "process.user.additionalGids", "process.env"} {
		keys := strings.Split(path, ".")
		m := v
		for _, key := range keys[:len(keys)-1] {
			m, _ = m[key].(map[string]any)
		}
		delete(m, keys[len(keys)-1])
	}
	return v
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	root := host(t, 0)
	dir := bundle(t, asking)
	file := filepath.Join(dir, "config.json")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	got, err := prepare(t, dir, root)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"hooks.createRuntime": `{"path":"/usr/bin/gpu-hook","args":["gpu-hook","--host-root","` + root + `","createRuntime"],"env":["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]}` + "\n",
		"linux.devices": `{"path":"/dev/nvidia-uvm","type":"c","major":510,"minor":0,"fileMode":438,"uid":0,"gid":0}
{"path":"/dev/nvidia-uvm-tools","type":"c","major":510,"minor":1,"fileMode":438,"uid":0,"gid":0}
{"path":"/dev/nvidia0","type":"c","major":195,"minor":0,"fileMode":438,"uid":0,"gid":0}
{"path":"/dev/nvidiactl","type":"c","major":195,"minor":255,"fileMode":438,"uid":0,"gid":0}
`,
		"linux.resources.devices": `{"allow":true,"type":"c","major":195,"minor":0,"access":"rw"}
{"allow":true,"type":"c","major":195,"minor":255,"access":"rw"}
{"allow":true,"type":"c","major":510,"minor":0,"access":"rw"}
{"allow":true,"type":"c","major":510,"minor":1,"access":"rw"}
`,
	}
	if diff := cmp.Diff(want, added(t, asking, got)); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(rest(t, asking), rest(t, got)); diff != "" {
		t.Errorf("the rest changed (-before +after):\n%s", diff)
	}
	if mode := modeOf(t, file); mode != 0o640 {
		t.Errorf("mode %v, want that of the old file", mode)
	}
	if left := entries(t, dir); left != "config.json rootfs" {
		t.Errorf("the bundle holds %s", left)
	}
	var before, after unix.Stat_t
	_ = unix.Stat(file, &before)
	again, err := prepare(t, dir, root)
	_ = unix.Stat(file, &after)
	if err != nil || again != got || before.Ino != after.Ino {
		t.Errorf("a second run changed the file: %v\n%s", err, cmp.Diff(got, again))
	}
}

func TestPrepareLeavesAlone(t *testing.T) {
	t.Parallel()
	root := host(t, 0)
	ask := `"process":{"env":["NVIDIA_VISIBLE_DEVICES=0"]}`
	for _, tt := range []struct{ name, config string }{
		{"no-request", `{"process":{"env":["A=1"]}}`},
		{"no-process", `{}`},
		{"void", `{"process":{"env":["NVIDIA_VISIBLE_DEVICES=void"]}}`},
		{"sandbox", `{` + ask + `,"annotations":{"io.kubernetes.cri.container-type":"sandbox"}}`},
		{"cri-o-sandbox", `{` + ask + `,"annotations":{"io.kubernetes.cri-o.ContainerType":"sandbox"}}`},
		{"our-CDI", `{` + ask + `,"hooks":{"createRuntime":[{"path":"/usr/bin/gpu-hook","args":["gpu-hook","createRuntime","--device","0"]}]}}`},
		{"NVIDIA-CDI", `{` + ask + `,"hooks":{"createContainer":[{"path":"/usr/bin/nvidia-cdi-hook","args":["nvidia-cdi-hook","update-ldcache"]}]},"annotations":{"cdi.k8s.io/x":"nvidia.com/gpu=0"}}`},
		{"annotation-of-others", `{"annotations":{"cdi.k8s.io/x":"vendor.com/net=0"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := prepare(t, bundle(t, tt.config), root)
			if err != nil || got != tt.config {
				t.Errorf("prepare = %v, file:\n%s", err, got)
			}
		})
	}
}

func TestPrepareVariants(t *testing.T) {
	t.Parallel()
	const rules = 4
	group := host(t, 44)
	world := host(t, 0)
	env := func(more string) string { return `{"process":{"env":["NVIDIA_VISIBLE_DEVICES=0"]` + more + `}` }
	tests := []struct {
		name   string
		host   string
		config string
		nodes  int
		rules  int
		hook   string // a part of our entry; "" = none
		gids   string
	}{
		{"bare", world, env("") + `}`, 4, rules, `"createRuntime"`, ""},
		{"nulls", world, env("") + `,"linux":null,"hooks":null}`, 4, rules, `"createRuntime"`, ""},
		{"docker", world, env("") + `,"hooks":{"prestart":[{"path":"/usr/bin/nvidia-container-runtime-hook","args":["nvidia-container-runtime-hook","prestart"]}]}}`, 4, rules, "", ""},
		{"same-hook", world, env("") + `,"hooks":{"createRuntime":[{"path":"/opt/gpu-hook","args":["gpu-hook","prestart"]}]}}`, 4, rules, "", ""},
		{"privileged", world, env("") + `,"linux":{"resources":{"devices":[{"allow":true,"access":"rwm"}]}}}`, 4, 0, `"createRuntime"`, ""},
		{"node-there", world, env("") + `,"linux":{"devices":[{"path":"/dev/nvidia0","type":"c","major":195,"minor":0}]}}`, 3, rules, `"createRuntime"`, ""},
		{"volume-at-dev", world, env("") + `,"mounts":[{"destination":"/dev","type":"bind","source":"/dev","options":["rbind"]}]}`, 0, rules, `"createRuntime"`, ""},
		{"user-namespace", world, env("") + `,"linux":{"uidMappings":[{"containerID":0,"hostID":100000,"size":65536}],"gidMappings":[{"containerID":0,"hostID":100000,"size":65536}]}}`, 0, rules, `"createRuntime"`, ""},
		{"annotation", world, `{"annotations":{"cdi.k8s.io/plugin_0":"nvidia.com/gpu=1"}}`, 4, rules, `"--annotations"`, ""},
		{"own-annotation", world, `{"annotations":{"gpu-hook/devices":"all"}}`, 5, 5, `"--annotations"`, ""},
		{"annotation-and-hook", world, `{"annotations":{"gpu-hook/devices":"all"},"process":{"env":["NVIDIA_VISIBLE_DEVICES=0"]},"hooks":{"prestart":[{"path":"/usr/bin/gpu-hook","args":["gpu-hook","prestart"]}]}}`, 4, rules, "", ""},
		{"group", group, env(`,"user":{"uid":1000,"gid":1000}`) + `}`, 4, rules, `"createRuntime"`, "44\n"},
		{"group-there", group, env(`,"user":{"uid":1000,"gid":1000,"additionalGids":[7,44]}`) + `}`, 4, rules, `"createRuntime"`, ""},
		{"group-added", group, env(`,"user":{"uid":0,"gid":0,"additionalGids":[7]}`) + `}`, 4, rules, `"createRuntime"`, "44\n"},
		{"group-not-mapped", group, env(`,"user":{"uid":0,"gid":0}`) + `,"linux":{"gidMappings":[{"containerID":0,"hostID":100000,"size":65536}]}}`, 0, rules, `"createRuntime"`, ""},
		{"none", world, `{"process":{"env":["NVIDIA_VISIBLE_DEVICES=none"]}}`, 3, 3, `"createRuntime"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := prepare(t, bundle(t, tt.config), tt.host)
			if err != nil {
				t.Fatal(err)
			}
			more := added(t, tt.config, got)
			if n := strings.Count(more["linux.devices"], "\n"); n != tt.nodes {
				t.Errorf("%d nodes, want %d: %s", n, tt.nodes, more["linux.devices"])
			}
			if n := strings.Count(more["linux.resources.devices"], "\n"); n != tt.rules {
				t.Errorf("%d rules, want %d: %s", n, tt.rules, more["linux.resources.devices"])
			}
			if hook := more["hooks.createRuntime"]; tt.hook == "" && hook != "" || !strings.Contains(hook, tt.hook) {
				t.Errorf("hook %s, want %q in it", hook, tt.hook)
			}
			if more["process.user.additionalGids"] != tt.gids {
				t.Errorf("gids %q, want %q", more["process.user.additionalGids"], tt.gids)
			}
			if more["process.env"] != "" {
				t.Errorf("environment %s, want nothing new", more["process.env"])
			}
		})
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	root, none := host(t, 0), t.TempDir()
	ask := `"process":{"env":["NVIDIA_VISIBLE_DEVICES=0"]}`
	tests := []struct {
		name, host, config string
		code               fault.Code
		want               string
	}{
		{"broken", root, `{` + ask, fault.State, "parse"},
		{"empty", root, ``, fault.State, "parse"},
		{"two-linux", root, `{` + ask + `,"linux":{},"linux":{}}`, fault.State, "linux stands there twice"},
		{"two-hooks", root, `{` + ask + `,"hooks":{},"hooks":{}}`, fault.State, "hooks stands there twice"},
		{"two-lists", root, `{` + ask + `,"linux":{"resources":{"devices":[],"devices":[]}}}`, fault.State, "linux.resources.devices stands there twice"},
		{"Linux", root, `{` + ask + `,"Linux":{}}`, fault.State, "another spelling"},
		{"hooks-list", root, `{` + ask + `,"hooks":[]}`, fault.State, "hooks"},
		{"linux-list", root, `{` + ask + `,"linux":[]}`, fault.State, "linux"},
		{"devices-object", root, `{` + ask + `,"linux":{"devices":{}}}`, fault.State, "linux.devices"},
		{"stage-object", root, `{` + ask + `,"hooks":{"createRuntime":{}}}`, fault.State, "hooks.createRuntime"},
		{"no-such-GPU", root, `{"process":{"env":["NVIDIA_VISIBLE_DEVICES=9"]}}`, fault.Request, "9"},
		{"no-driver", none, `{` + ask + `}`, fault.Driver, "driver"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := bundle(t, tt.config)
			got, err := prepare(t, dir, tt.host)
			if fault.CodeOf(err) != tt.code || !strings.Contains(fault.Line(err), tt.want) {
				t.Errorf("prepare = %d %v, want %d and %q", fault.CodeOf(err), fault.Line(err), tt.code, tt.want)
			}
			if got != tt.config || entries(t, dir) != "config.json rootfs" {
				t.Errorf("the bundle changed: %s, %s", entries(t, dir), got)
			}
		})
	}
}

func TestPrepareFiles(t *testing.T) {
	t.Parallel()
	root := host(t, 0)
	r, c := runner(root)
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		if _, err := r.prepare(tContext(), Call{Bundle: t.TempDir()}, c, nil); err != nil {
			t.Errorf("prepare = %v; the runtime says it better", err)
		}
	})
	t.Run("FIFO", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := unix.Mkfifo(filepath.Join(dir, "config.json"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.prepare(tContext(), Call{Bundle: dir}, c, nil); fault.CodeOf(err) != fault.State {
			t.Errorf("prepare = %v, want an error 10", err)
		}
	})
	t.Run("crun's-file", func(t *testing.T) {
		t.Parallel()
		dir := bundle(t, `{}`)
		write(t, filepath.Join(dir, "other.json"), asking)
		if _, err := r.prepare(tContext(), Call{Bundle: dir, Config: "other.json"}, c, nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(read(t, filepath.Join(dir, "other.json")), "createRuntime") || read(t, filepath.Join(dir, "config.json")) != "{}" {
			t.Error("the wrong file was changed")
		}
	})
	t.Run("link", func(t *testing.T) {
		t.Parallel()
		shared := filepath.Join(t.TempDir(), "shared.json")
		write(t, shared, asking)
		dir := t.TempDir()
		if err := os.Symlink(shared, filepath.Join(dir, "config.json")); err != nil {
			t.Fatal(err)
		}
		got, err := prepare(t, dir, root)
		if err != nil || !strings.Contains(got, "createRuntime") || read(t, shared) != asking {
			t.Errorf("prepare = %v; what the link led to is changed: %v", err, read(t, shared) != asking)
		}
	})
	t.Run("broken-configuration", func(t *testing.T) {
		t.Parallel()
		bad := errors.New("line 3")
		quiet := bundle(t, `{"process":{"env":["A=1"]}}`)
		if _, err := r.prepare(tContext(), Call{Bundle: quiet}, c, bad); err != nil {
			t.Errorf("a container that asks for no GPU is stopped: %v", err)
		}
		if _, err := r.prepare(tContext(), Call{Bundle: bundle(t, asking)}, c, bad); fault.CodeOf(err) != fault.Config {
			t.Errorf("prepare = %v, want an error 19", err)
		}
	})
	t.Run("10-MB", func(t *testing.T) {
		t.Parallel()
		big := strings.Replace(asking, `"vendor": {`, `"vendor": {"big": "`+strings.Repeat("x", 10<<20)+`", `, 1)
		got, err := prepare(t, bundle(t, big), root)
		if err != nil || len(got) <= len(big) || cmp.Diff(rest(t, big), rest(t, got)) != "" {
			t.Errorf("prepare = %v, %d bytes from %d", err, len(got), len(big))
		}
	})
}

// TestReplaceFails makes the directory one that nothing can be made in. Root
// may write anywhere but to a name that is too long for a file system.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, strings.Repeat("n", 250)) // room for the file, none for the one beside it
	write(t, name, "old")
	if err := replace(name, []byte("new")); !errors.Is(err, unix.ENAMETOOLONG) {
		t.Errorf("replace = %v, want ENAMETOOLONG", err)
	}
	if read(t, name) != "old" || strings.Contains(entries(t, dir), "gpu-hook") {
		t.Errorf("the directory holds %s", entries(t, dir))
	}
	if err := replace(filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("replace of nothing = %v", err)
	}
}
