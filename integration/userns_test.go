package integration

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// accessQuestions ask what a container in a user namespace can open, and whether
// the driver works there.
func accessQuestions() []string {
	return []string{
		"open:/dev/nvidia0", "open:/dev/nvidia2", "open:/dev/nvidiactl", "open:/dev/nvidia-uvm", "open:/dev/nvidia-uvm-tools",
		"open:/dev/nvidia1", "open:/dev/nvidia7", "open:/dev/nvidia-modeset", "open:/dev/kmsg", "open:/dev/null",
		"node:/tmp/one:195:1", "node:/tmp/kmsg:1:11", "node:/dev/one:195:1",
		"stat:/dev/nvidia0", "stat:/usr/local/nvidia/lib64/libcuda.so.1", "stat:/etc/ld.so.cache", "stat:/usr/bin/nvidia-smi",
		"write:/usr/local/nvidia/lib64/x", "driver:libcuda.so.1", "load:libnvidia-ml.so.1",
	}
}

// then are shell lines after the witness: the loader must not complain.
const thenLdconfig = "ldconfig >/dev/null 2>/tmp/ldconfig; echo ldconfig=$?; cat /tmp/ldconfig; ldconfig -p | grep libcuda.so.1; " +
	"echo ours=$(grep -c 'tmpfs gpu-hook' /proc/self/mountinfo)\n"

// accesses is what a line of the table says: what was asked for opens (ENXIO: the
// cgroup and the mount say yes, and only the driver is missing), what was not
// is refused.
type accesses struct{ opens, refused int }

// wantAccess checks everything that a container in a user namespace is promised.
func wantAccess(t *testing.T, r lab.Result) accesses {
	t.Helper()
	var a accesses
	for _, name := range []string{"nvidia0", "nvidia2", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		if e := syscall.Errno(r.Facts["open:/dev/"+name].Errno); e == syscall.ENXIO {
			a.opens++
		} else {
			t.Errorf("open /dev/%s: %v, want ENXIO", name, e)
		}
	}
	for _, question := range []string{
		"open:/dev/nvidia1", "open:/dev/nvidia7", "open:/dev/nvidia-modeset", "open:/dev/kmsg",
		"node:/tmp/one:195:1", "node:/tmp/kmsg:1:11", "node:/dev/one:195:1",
	} {
		if e := syscall.Errno(r.Facts[question].Errno); e == syscall.EPERM || e == syscall.EACCES || e == syscall.ENOENT {
			a.refused++
		} else {
			t.Errorf("%s: %v, want it refused", question, e)
		}
	}
	if e := r.Facts["open:/dev/null"].Errno; e != 0 {
		t.Errorf("open /dev/null: %v", syscall.Errno(e))
	}
	if e := syscall.Errno(r.Facts["write:/usr/local/nvidia/lib64/x"].Errno); e != syscall.EROFS {
		t.Errorf("write into the tree: %v, want EROFS", e)
	}
	for _, question := range []string{"stat:/etc/ld.so.cache", "stat:/usr/bin/nvidia-smi"} {
		if f := r.Facts[question]; f.Errno != 0 || f.UID != 0 || f.GID != 0 {
			t.Errorf("%s: %+v, want it there and the container's root's", question, f)
		}
	}
	wantDriver(t, r.Facts, 12020, "/usr/local/nvidia/lib64/libcuda.so.1")
	if f := r.Facts["load:libnvidia-ml.so.1"]; f.Error != "" || !strings.HasPrefix(f.Path, "/usr/local/nvidia/lib64/") {
		t.Errorf("load libnvidia-ml.so.1: %+v, want it from the private tree", f)
	}
	for _, line := range []string{"ldconfig=0\n", "libcuda.so.1 (libc6,x86-64) => /usr/local/nvidia/lib64/libcuda.so.1\n", "ours=1\n"} {
		if !strings.Contains(r.Stdout, line) {
			t.Errorf("no line %q in:\n%s", line, r.Stdout)
		}
	}
	return a
}

// noteAccess adds a container to the table.
func noteAccess(t *testing.T, cell string, r lab.Result, a accesses) {
	t.Helper()
	lab.NoteAccess(t, cell, "%-16s opens %d/5  refused %d/7", entryOf(r.Log), a.opens, a.refused)
}

// entryOf reads the way in from the hook's log.
func entryOf(log string) string {
	_, after, _ := strings.Cut(log, " entry=")
	entry, _, _ := strings.Cut(after, " ")
	return strings.TrimSpace(entry)
}

// userNS gives a bundle a user namespace of its own.
func userNS(root, size uint32) func(*specs.Spec) {
	return func(s *specs.Spec) {
		s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: "user"})
		s.Linux.UIDMappings = []specs.LinuxIDMapping{{ContainerID: 0, HostID: root, Size: size}}
		s.Linux.GIDMappings = s.Linux.UIDMappings
	}
}

// chownTree gives a tree to a user, as an engine gives its layers.
func chownTree(t *testing.T, dir string, id int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, id, id)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUserNamespace runs containers of root with id mappings: nodes are the
// host's, bound, and files belong to the container's root.
func TestUserNamespace(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.UserNS(t)
	host := madeHost(t)
	root := lab.Root(t, lab.Glibc)
	chownTree(t, root, 200000)
	files := lab.Tree(t, host.Dir)
	for _, c := range combinations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Env: askTwo(), Args: witnessOf(accessQuestions(), thenLdconfig), Edit: userNS(200000, 65536),
			})
			got := lab.Run(t, c.runtime(t), b, lab.Box{Cgroups: c.cgroups, Setup: "chown 200000:200000 " + b.Dir + "/rootfs"})
			if got.Code != 0 {
				t.Fatalf("%s ended with %d: %s\nlog:\n%s", c.name, got.Code, got.Stderr, got.Log)
			}
			a := wantAccess(t, got)
			if entry := entryOf(got.Log); entry != "user-namespace" {
				t.Errorf("entry %q, want user-namespace", entry)
			}
			noteAccess(t, "root/"+c.name+"/userns", got, a)
			for name, text := range upper(t, b) {
				if !strings.Contains(text, " 200000:200000 ") {
					t.Errorf("%s is not the container's root's: %s", name, text)
				}
			}
			if left := lab.Leftovers(t, b.Upper); left != nil {
				t.Errorf("empty driver files left in the root: %q", left)
			}
			if got.MountsBefore != got.MountsAfter {
				t.Errorf("mounts of the runtime's namespace changed:\n%s", cmp.Diff(got.MountsBefore, got.MountsAfter))
			}
		})
	}
	t.Cleanup(func() { wantUnchanged(t, "the stand-in host", files, lab.Tree(t, host.Dir)) })
}

// TestProcInUserNamespace covers the driver's params where /proc belongs to
// another user namespace: for a root and for an ordinary user's runtime.
func TestProcInUserNamespace(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.UserNS(t)
	host := madeHost(t)
	hook := publicHook(t)
	for _, tt := range []struct {
		name string
		root int
		size uint32
		run  func(lab.T, lab.Runtime, *lab.Bundle, lab.Box) lab.Result
	}{
		{"root", 200000, 65536, lab.Run},
		{"user", lab.UserID, 1, lab.RunAsUser},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fill := filepath.Join(lab.Temp(t), "fill")
			lab.Write(t, fill, "#!/bin/sh -e\nstate=$(cat)\npid=$(echo \"$state\" | sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/')\n"+
				"exec nsenter -t $pid -U -m $1 cp -r "+host.Dir+"/proc/driver/. $2/proc/driver/\n")
			credentials := map[string]string{"root": "--setuid=0", "user": "--preserve-credentials"}[tt.name]
			root := lab.Root(t, lab.Glibc)
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Hook: hook, Env: askTwo(), Args: []string{"/bin/sh", "-c", showProc},
				Edit: func(s *specs.Spec) {
					userNS(uint32(tt.root), tt.size)(s)
					if tt.name == "user" {
						s.Linux.CgroupsPath, s.Linux.Resources = "", nil
					}
					s.Mounts = append(s.Mounts, specs.Mount{Destination: "/proc/driver", Type: "tmpfs", Source: "tmpfs", Options: []string{"mode=555"}})
					first := specs.Hook{Path: "/bin/sh", Args: []string{"sh", fill, credentials, root}, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}
					s.Hooks.Prestart = append([]specs.Hook{first}, s.Hooks.Prestart...)
				},
			})
			b.GiveTo(t, tt.root)
			got := tt.run(t, lab.Runc(t), b, lab.Box{})
			if got.Code != 0 {
				t.Fatalf("runc ended with %d: %s\nlog:\n%s", got.Code, got.Stderr, got.Log)
			}
			params := procFiles(got.Stdout)["params"]
			if !strings.Contains(params, "ModifyDeviceFiles: 0\n") || strings.Contains(got.Stdout, "WRITABLE params") {
				t.Errorf("params are not masked, or can be written:\n%s", got.Stdout)
			}
		})
	}
}
