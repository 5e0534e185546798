package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// writeBundle makes dir a bundle.
func writeBundle(t *testing.T, dir, config string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ConfigName), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What runc 1.1.5 and crun 1.8.1 gave a hook that was registered for three
// stages, with the bundle it belongs to.
func TestFixtures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status specs.ContainerState
		root   string
	}{
		{"runc-1.1.5", specs.StateCreating, ""},
		{"crun-1.8.1", specs.StateCreated, "rootfs"},
	}
	for _, tt := range tests {
		dir := filepath.Join("..", "..", "integration", "testdata", "state", tt.name)
		for _, stage := range []Stage{Prestart, CreateRuntime, CreateContainer} {
			t.Run(tt.name+"/"+string(stage), func(t *testing.T) {
				t.Parallel()
				s, err := Read(open(t, filepath.Join(dir, string(stage)+".json")))
				if err != nil {
					t.Fatal(err)
				}
				if s.ID != "c1" || s.Status != tt.status || s.Root != tt.root || s.Bundle != "/run/bundles/c1" {
					t.Errorf("Read = %+v", s)
				}
				if err := s.Check(stage); err != nil {
					t.Errorf("Check(%s) = %v, want nil", stage, err)
				}
				if err := s.Check(Prestart); (err != nil) != (stage == CreateContainer) {
					t.Errorf("Check(%s) = %v for a state of %s", Prestart, err, stage)
				}
			})
		}
		t.Run(tt.name+"/bundle", func(t *testing.T) {
			t.Parallel()
			b, err := OpenBundle(dir)
			if err != nil {
				t.Fatal(err)
			}
			if b.Spec.Root.Path != "rootfs" || len(b.Spec.Process.Env) != 6 || len(b.Spec.Mounts) < 7 || b.Spec.Privileged() {
				t.Errorf("OpenBundle = %+v", b.Spec)
			}
			if len(b.Spec.Process.Capabilities.Bounding) != 3 || len(b.Spec.Linux.Namespaces) < 5 {
				t.Errorf("OpenBundle = %+v", b.Spec)
			}
		})
	}
}

func TestOpenBundleDecodes(t *testing.T) {
	t.Parallel()
	dir := writeBundle(t, t.TempDir(), `{
		"ociVersion": "1.2.0", "unknown": {"linux": 1},
		"process": {"user": {"uid": 1000, "gid": 100, "additionalGids": [44]}, "env": ["A=b", "odd", "=x"],
			"capabilities": {"bounding": ["CAP_SYS_ADMIN"], "effective": []}},
		"root": {"path": "r", "readonly": true},
		"mounts": [{"destination": "/d", "source": "/s", "type": "bind", "options": ["ro"]}],
		"annotations": {"k": "v"},
		"hooks": {"prestart": [{"path": "/usr/bin/gpu-hook"}]},
		"linux": {
			"uidMappings": [{"containerID": 0, "hostID": 100000, "size": 65536}],
			"gidMappings": [{"containerID": 0, "hostID": 200000, "size": 65536}],
			"namespaces": [{"type": "mount"}],
			"resources": {"devices": [{"allow": true, "type": "c", "major": 195, "minor": 0, "access": "rw"}], "memory": {"limit": 1}},
			"cgroupsPath": "/x", "mountLabel": "label", "rootfsPropagation": "rslave",
			"seccomp": {"defaultAction": "SCMP_ACT_ALLOW"}}}`)
	got, err := OpenBundle(dir)
	if err != nil {
		t.Fatal(err)
	}
	major, minor := int64(195), int64(0)
	want := Bundle{Dir: dir, Spec: Spec{
		Version: "1.2.0",
		Process: Process{
			User: specs.User{UID: 1000, GID: 100, AdditionalGids: []uint32{44}}, Env: []string{"A=b", "odd", "=x"},
			Capabilities: Capabilities{Bounding: []string{"CAP_SYS_ADMIN"}},
		},
		Root:        specs.Root{Path: "r", Readonly: true},
		Mounts:      []specs.Mount{{Destination: "/d", Source: "/s", Type: "bind", Options: []string{"ro"}}},
		Annotations: map[string]string{"k": "v"},
		Linux: Linux{
			UIDMappings: []specs.LinuxIDMapping{{HostID: 100000, Size: 65536}},
			GIDMappings: []specs.LinuxIDMapping{{HostID: 200000, Size: 65536}},
			Namespaces:  []specs.LinuxNamespace{{Type: "mount"}},
			Resources:   Resources{Devices: []specs.LinuxDeviceCgroup{{Allow: true, Type: "c", Major: &major, Minor: &minor, Access: "rw"}}},
			CgroupsPath: "/x", MountLabel: "label", RootfsPropagation: "rslave",
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("OpenBundle (-want +got):\n%s", diff)
	}
}

func TestOpenBundleRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"missing", func(*testing.T, string) {}, "no such file"},
		{"fifo", func(t *testing.T, dir string) {
			t.Helper()
			if err := unix.Mkfifo(filepath.Join(dir, ConfigName), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file"},
		{"directory", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Mkdir(filepath.Join(dir, ConfigName), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file"},
		{"device", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Symlink("/dev/zero", filepath.Join(dir, ConfigName)); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file"},
		{"loop", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Symlink(ConfigName, filepath.Join(dir, ConfigName)); err != nil {
				t.Fatal(err)
			}
		}, "too many levels"},
		{"too-large", func(t *testing.T, dir string) {
			t.Helper()
			writeBundle(t, dir, "{")
			if err := os.Truncate(filepath.Join(dir, ConfigName), maxConfig+1); err != nil {
				t.Fatal(err)
			}
		}, "longer than 67108864 bytes"},
		{"empty", func(t *testing.T, dir string) { t.Helper(); writeBundle(t, dir, "") }, "unexpected end"},
		{"truncated", func(t *testing.T, dir string) { t.Helper(); writeBundle(t, dir, `{"linux":{"seccomp":{`) }, "unexpected end"},
		{"not-json", func(t *testing.T, dir string) { t.Helper(); writeBundle(t, dir, "\x7fELF") }, "invalid character"},
		{"array", func(t *testing.T, dir string) { t.Helper(); writeBundle(t, dir, "[]") }, "cannot unmarshal array"},
		{"wrong-type", func(t *testing.T, dir string) { t.Helper(); writeBundle(t, dir, `{"process":{"env":"A=b"}}`) }, "cannot unmarshal string"},
		{"wrong-capabilities", func(t *testing.T, dir string) {
			t.Helper()
			writeBundle(t, dir, `{"process":{"capabilities":7}}`)
		}, "cannot unmarshal number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tt.make(t, dir)
			_, err := OpenBundle(dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), ConfigName) {
				t.Errorf("OpenBundle = %v, want %q and the file's name", err, tt.want)
			}
		})
	}
}

func TestRootfs(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"b/rootfs", "elsewhere/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"abs": filepath.Join(dir, "elsewhere/deep"), "rel": "../elsewhere/deep", "loop": "loop", "dangling": "nothing"} {
		if err := os.Symlink(target, filepath.Join(dir, "b", name)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		path string
		want string // below dir; "" for an error
	}{
		{"relative", "rootfs", "b/rootfs"},
		{"dots", "./x/../rootfs/", "b/rootfs"},
		{"parent", "../elsewhere", "elsewhere"},
		{"bundle", ".", "b"},
		{"absolute", filepath.Join(dir, "elsewhere"), "elsewhere"},
		{"absolute-link", "abs", "elsewhere/deep"},
		{"relative-link", "rel", "elsewhere/deep"},
		{"loop", "loop", ""},
		{"dangling", "dangling", ""},
		{"missing", "none", ""},
		{"unnamed", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := Bundle{Dir: filepath.Join(dir, "b"), Spec: Spec{Root: specs.Root{Path: tt.path}}}
			got, err := b.Rootfs()
			if tt.want == "" {
				if err == nil {
					t.Errorf("Rootfs = %q, want an error", got)
				}
				return
			}
			if want := filepath.Join(dir, tt.want); err != nil || got != want {
				t.Errorf("Rootfs = %q, %v; want %q", got, err, want)
			}
		})
	}
}

// crun hands hooks the bundle "/" in some releases when its working directory
// is not the bundle.
func TestWrongBundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	relative := writeBundle(t, filepath.Join(dir, "relative"), `{"ociVersion":"relative","root":{"path":"rootfs"}}`)
	engine := writeBundle(t, filepath.Join(dir, "engine"), `{"ociVersion":"engine","root":{"path":"/merged/x"}}`)
	beside := writeBundle(t, filepath.Join(dir, "beside"), fmt.Sprintf(`{"ociVersion":"beside","root":{"path":%q}}`, filepath.Join(dir, "beside", "rootfs")))
	nothing := filepath.Join(dir, "nothing")
	tests := []struct {
		name    string
		bundle  string
		root    string
		cmdline string
		want    string // ociVersion of the one found; "" for an error
	}{
		{"right", relative, "rootfs", "", "relative"},
		{"right-runc", relative, "", "", "relative"},
		{"beside-root", nothing, filepath.Join(beside, "rootfs"), "", "beside"},
		{"command-line", nothing, "/merged/x", "crun\x00create\x00--bundle\x00" + engine + "\x00--pid-file\x00p\x00c1\x00", "engine"},
		{"command-line-equals", nothing, "/merged/x", "crun\x00create\x00--bundle=" + engine + "\x00c1\x00", "engine"},
		{"command-line-short", nothing, "/merged/x", "crun\x00create\x00-b\x00" + engine + "\x00c1\x00", "engine"},
		{"another-container-here", relative, "/merged/x", "crun\x00create\x00-b\x00" + engine + "\x00c1\x00", "engine"},
		{"root-reads-differently", relative, "/other", "", "relative"},
		{"not-its-root", nothing, "/merged/y", "crun\x00create\x00-b\x00" + engine + "\x00c1\x00", ""},
		{"relative-on-command-line", nothing, "/merged/x", "crun\x00create\x00-b\x00engine\x00c1\x00", ""},
		{"cut-command-line", nothing, "/merged/x", "crun\x00create\x00-b", ""},
		{"runc", nothing, "", "runc\x00create\x00--bundle\x00" + engine + "\x00c1\x00", ""},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := finder{proc: t.TempDir(), runtime: 100 + i}
			if tt.cmdline != "" {
				args := filepath.Join(f.proc, fmt.Sprint(f.runtime))
				if err := errors.Join(os.Mkdir(args, 0o755), os.WriteFile(filepath.Join(args, "cmdline"), []byte(tt.cmdline), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			b, err := f.bundle(State{State: specs.State{Bundle: tt.bundle}, Root: tt.root})
			if tt.want != "" {
				if err != nil || b.Spec.Version != tt.want {
					t.Errorf("bundle = %q, %v; want %q", b.Spec.Version, err, tt.want)
				}
				return
			}
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("bundle = %q, %v; want %v", b.Spec.Version, err, fs.ErrNotExist)
			}
			var wrong *WrongBundleError
			if named := errors.As(err, &wrong) && strings.Contains(wrong.Cure(), "crun"); named != (tt.root != "") {
				t.Errorf("bundle: error %v names crun: %v, want %v", err, named, tt.root != "")
			}
		})
	}
}
