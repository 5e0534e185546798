package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// rootless turns a bundle's configuration into one that an ordinary user can
// run: one mapped id, no cgroup.
func rootless(hook func(*specs.Hooks, specs.Hook)) func(*specs.Spec) {
	return func(s *specs.Spec) {
		userNS(lab.UserID, 1)(s)
		s.Linux.CgroupsPath = ""
		s.Linux.Resources = nil
		if hook != nil {
			h := s.Hooks.Prestart[0]
			s.Hooks = &specs.Hooks{}
			hook(s.Hooks, h)
		}
	}
}

// inside registers the hook for the stage that is inside of the container, with
// an environment that an image would like it to have.
func inside(hooks *specs.Hooks, h specs.Hook) {
	h.Args[len(h.Args)-1] = "createContainer"
	hooks.CreateContainer = []specs.Hook{h}
}

// publicHook is gpu-hook where every user may start it.
func publicHook(t *testing.T) string {
	t.Helper()
	path := filepath.Join(lab.Temp(t), "gpu-hook")
	lab.Install(t, lab.Hook(t), path)
	return path
}

// TestRootless runs containers of an ordinary user with runc, whose prestart
// hooks have no rights.
func TestRootless(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.UserNS(t)
	host := madeHost(t)
	files := lab.Tree(t, host.Dir)
	hook := publicHook(t)
	for _, c := range []struct {
		name    string
		runtime func(lab.T) lab.Runtime
		cgroups lab.Cgroups
	}{
		{"runc-machine", lab.Runc, lab.Machine},
		{"runc-v2", lab.Runc, lab.V2},
		{"module-machine", lab.RuncModule, lab.Machine},
		{"module-v2", lab.RuncModule, lab.V2},
		{"crun-v1", lab.Crun, lab.V1},
	} {
		for _, way := range []struct {
			name, entry string
			hook        func(*specs.Hooks, specs.Hook)
		}{
			{"prestart", "nsenter", nil},
			{"createRuntime", "nsenter", func(hooks *specs.Hooks, h specs.Hook) {
				h.Args[len(h.Args)-1] = "createRuntime"
				hooks.CreateRuntime = []specs.Hook{h}
			}},
			{"createContainer", "inside", inside},
		} {
			t.Run(c.name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				root := lab.Root(t, lab.Glibc)
				b := lab.NewBundle(t, root, lab.Options{
					Host: host, Hook: hook, Env: askTwo("LD_PRELOAD=/nothing.so", "GODEBUG=execerrdot=0", "XDG_RUNTIME_DIR=/tmp"),
					Args: witnessOf(accessQuestions(), thenLdconfig), Edit: rootless(way.hook),
				})
				b.GiveTo(t, lab.UserID)
				got := lab.RunAsUser(t, c.runtime(t), b, lab.Box{Cgroups: c.cgroups})
				if strings.HasPrefix(c.name, "crun") && way.entry == "nsenter" {
					// crun hides its process: the hook cannot get in, and says what can.
					if !strings.Contains(got.Log, "code=17") || !strings.Contains(got.Log, "createContainer") || got.Code == 0 {
						t.Errorf("crun ended with %d, want the hook's advice in the log:\n%s", got.Code, got.Log)
					}
					lab.NoteAccess(t, "user/"+c.name+"/"+way.name, "n/a: crun hides its process; the error says: register createContainer")
					return
				}
				if got.Code != 0 {
					t.Fatalf("%s ended with %d: %s\nlog:\n%s", c.name, got.Code, got.Stderr, got.Log)
				}
				a := wantAccess(t, got)
				if strings.Contains(got.Log, "level=warning") {
					t.Errorf("want no warnings in the log:\n%s", got.Log)
				}
				if entry := entryOf(got.Log); entry != way.entry {
					t.Errorf("entry %q, want %s; log:\n%s", entry, way.entry, got.Log)
				}
				noteAccess(t, "user/"+c.name+"/"+way.name, got, a)
				if left := lab.Leftovers(t, b.Root); left != nil {
					t.Errorf("empty driver files left in the root: %q", left)
				}
			})
		}
	}
	t.Cleanup(func() { wantUnchanged(t, "the stand-in host", files, lab.Tree(t, host.Dir)) })
}

// TestCreateContainerAsRoot runs the hook inside of root's containers: nodes
// are made there, and rules set in the cgroup that the hook itself is in.
func TestCreateContainerAsRoot(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	root := lab.Root(t, lab.Glibc)
	for _, c := range combinations() {
		for _, kind := range []string{"plain", "userns"} {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				tree := root
				if kind == "userns" {
					tree = lab.Root(t, lab.Glibc)
					chownTree(t, tree, 200000)
				}
				b := lab.NewBundle(t, tree, lab.Options{
					Host: host, Hook: publicHook(t), Overlay: true, Env: askTwo("LD_PRELOAD=/nothing.so"),
					Args: witnessOf(accessQuestions(), thenLdconfig),
					Edit: func(s *specs.Spec) {
						if kind == "userns" {
							userNS(200000, 65536)(s)
						}
						h := s.Hooks.Prestart[0]
						s.Hooks = &specs.Hooks{}
						inside(s.Hooks, h)
					},
				})
				// The hook is the container's root, and logs what it may write.
				lab.Write(t, b.Log, "")
				if err := os.Chmod(b.Log, 0o666); err != nil {
					t.Fatal(err)
				}
				got := lab.Run(t, c.runtime(t), b, lab.Box{Cgroups: c.cgroups, Setup: "chown --reference=" + tree + " " + b.Dir + "/rootfs"})
				if kind == "userns" {
					// Nobody sets rules for a container of root from inside of its
					// user namespace: that is for prestart. The container starts, and
					// the log says why it has no GPU.
					if got.Code != 0 || !strings.Contains(got.Log, "entry=inside") || !strings.Contains(got.Log, "warning=cgroup-denies") {
						t.Errorf("%s ended with %d: %s\nlog:\n%s", c.name, got.Code, got.Stderr, got.Log)
					}
					return
				}
				if got.Code != 0 {
					t.Fatalf("%s ended with %d: %s\nlog:\n%s", c.name, got.Code, got.Stderr, got.Log)
				}
				noteAccess(t, "root/"+c.name+"/createContainer", got, wantAccess(t, got))
				if entry := entryOf(got.Log); entry != "inside" {
					t.Errorf("entry %q, want inside", entry)
				}
			})
		}
	}
}

// TestWrongStage registers the command of one stage for another: the container
// does not start, and nothing is mounted where the container is not.
func TestWrongStage(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	root := lab.Root(t, lab.Glibc)
	for _, tt := range []struct {
		name string
		edit func(*specs.Hooks, specs.Hook)
		want string
	}{
		{
			name: "createContainer at createRuntime",
			edit: func(hooks *specs.Hooks, h specs.Hook) {
				h.Args[len(h.Args)-1] = "createContainer"
				hooks.CreateRuntime = []specs.Hook{h}
			},
			want: "so this is no createContainer hook",
		},
		{
			name: "prestart at createContainer",
			edit: func(hooks *specs.Hooks, h specs.Hook) { hooks.CreateContainer = []specs.Hook{h} },
			want: "so this is no prestart hook",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Env: askTwo(),
				Edit: func(s *specs.Spec) {
					h := s.Hooks.Prestart[0]
					s.Hooks = &specs.Hooks{}
					tt.edit(s.Hooks, h)
				},
			})
			got := lab.Run(t, lab.Runc(t), b, lab.Box{})
			if got.Code == 0 || !strings.Contains(got.Log, tt.want) || !strings.Contains(got.Log, "code=10") {
				t.Errorf("runc ended with %d, want %q and code=10 in the log:\n%s", got.Code, tt.want, got.Log)
			}
			if got.MountsAfter != got.MountsBefore {
				t.Errorf("mounts of the runtime's namespace changed:\n%s\nwere:\n%s", got.MountsAfter, got.MountsBefore)
			}
		})
	}
}

// TestNoNsenter takes nsenter away from an ordinary user's prestart hook, and
// plants another one where a hook that asks PATH would find it.
func TestNoNsenter(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.UserNS(t)
	b := lab.NewBundle(t, lab.Root(t, lab.Glibc), lab.Options{
		Host: madeHost(t), Hook: publicHook(t), Env: askTwo(), Edit: rootless(nil),
	})
	b.GiveTo(t, lab.UserID)
	bin := lab.Temp(t)
	lab.Write(t, bin+"/nsenter", "#!/bin/sh\ntouch "+bin+"/called\n")
	if err := os.Chmod(bin+"/nsenter", 0o755); err != nil {
		t.Fatal(err)
	}
	b.Spec.Hooks.Prestart[0].Env = []string{"PATH=" + bin}
	b.Save(t)
	got := lab.RunAsUser(t, lab.Runc(t), b, lab.Box{Setup: "chmod 777 " + bin + "; mount --bind /dev/null /usr/bin/nsenter"})
	if got.Code == 0 || !strings.Contains(got.Stderr, "install nsenter (util-linux), or register") || !strings.Contains(got.Stderr, "createContainer") {
		t.Errorf("runc ended with %d, want the cure: %s", got.Code, got.Stderr)
	}
	if _, err := os.Stat(bin + "/called"); err == nil {
		t.Error("the nsenter on PATH was run")
	}
}

// TestNoHostNode asks for a GPU whose node the host lacks, where none can be
// made: the container does not start, and the error says what makes one.
func TestNoHostNode(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.UserNS(t)
	host := madeHost(t)
	if err := os.Remove(filepath.Join(host.Dir, "dev/nvidia-uvm")); err != nil {
		t.Fatal(err)
	}
	b := lab.NewBundle(t, lab.Root(t, lab.Glibc), lab.Options{Host: host, Overlay: true, Env: askTwo(), Edit: userNS(200000, 65536)})
	got := lab.Run(t, lab.Runc(t), b, lab.Box{})
	if got.Code == 0 || !strings.Contains(got.Stderr, "the host has none to bind; make it on the host with: nvidia-modprobe -u -c 0") || !strings.Contains(got.Log, "code=15") {
		t.Errorf("runc ended with %d: %s\nlog:\n%s", got.Code, got.Stderr, got.Log)
	}
}
