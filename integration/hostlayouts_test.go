package integration

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// hostLayout says where a kind of host keeps its driver.
type hostLayout struct {
	name    string
	libs    string                                 // directory of the libraries, as the driver root sees it
	bin     string                                 // and of the programs
	root    string                                 // driver root below the host root, "" = the host root itself
	cache   bool                                   // the loader cache names the libraries
	links   map[string]string                      // more links, name to text
	arrange func(*testing.T, string, *lab.StandIn) // the last touch, with the driver root's path
	config  string                                 // lines of the table driver
}

func hostLayouts(version string) []hostLayout {
	const deb, hostfs = "/usr/lib/x86_64-linux-gnu", "/var/lib/snapd/hostfs"
	store := "/nix/store/abc-nvidia-x11-" + version
	return []hostLayout{
		{name: "ubuntu", libs: deb, bin: "/usr/bin", cache: true},
		{name: "nvidia-installer", libs: deb, bin: "/usr/bin"},
		{name: "debian", libs: deb + "/nvidia/current", bin: "/usr/lib/nvidia/current", cache: true, links: map[string]string{
			deb + "/libcuda.so.1": "/etc/alternatives/nvidia--libcuda.so.1-x86_64-linux-gnu",
			"/etc/alternatives/nvidia--libcuda.so.1-x86_64-linux-gnu": deb + "/nvidia/current/libcuda.so.1",
			"/usr/bin/nvidia-smi":                  "/etc/alternatives/nvidia--nvidia-smi",
			"/etc/alternatives/nvidia--nvidia-smi": "/usr/lib/nvidia/current/nvidia-smi",
		}},
		{name: "debian-tesla", libs: deb + "/nvidia/tesla-535", bin: "/usr/lib/nvidia/tesla-535"},
		{name: "fedora-rhel", libs: "/usr/lib64", bin: "/usr/bin", cache: true},
		{name: "suse", libs: "/usr/lib64", bin: "/usr/bin"},
		{name: "arch", libs: "/usr/lib", bin: "/usr/bin", cache: true},
		{name: "driver-container", root: "/run/nvidia/driver", libs: "/usr/lib64", bin: "/usr/bin", arrange: absoluteLinks},
		{name: "driver-container-on-debian", root: "/run/nvidia/driver", libs: deb, bin: "/usr/bin", cache: true},
		{name: "nixos", libs: store + "/lib", bin: store + "/bin", links: map[string]string{
			"/run/opengl-driver/lib":                  store + "/lib",
			"/run/current-system/sw/bin/nvidia-smi":   store + "/bin/nvidia-smi",
			"/run/current-system/sw/bin/nvidia-smi.d": store,
		}},
		{name: "nixos-link-by-link", libs: store + "/lib", bin: "/run/current-system/sw/bin", links: map[string]string{
			"/run/opengl-driver/lib/libcuda.so.1":      store + "/lib/libcuda.so." + version,
			"/run/opengl-driver/lib/libnvidia-ml.so.1": store + "/lib/libnvidia-ml.so." + version,
		}},
		{name: "flatcar", libs: "/opt/nvidia/current/lib64", bin: "/opt/nvidia/current/bin"},
		{name: "flatcar-by-version", libs: "/opt/nvidia/" + version + "/lib64", bin: "/opt/bin"},
		{name: "container-optimized-os", libs: "/home/kubernetes/bin/nvidia/lib64", bin: "/home/kubernetes/bin/nvidia/bin"},
		{name: "container-optimized-os-root", root: "/home/kubernetes/bin/nvidia", libs: "/lib64", bin: "/bin"},
		{name: "talos", libs: "/usr/local/glibc/usr/lib", bin: "/usr/local/bin"},
		{name: "bottlerocket", libs: "/usr/lib/nvidia/tesla", bin: "/usr/libexec/nvidia/tesla/bin"},
		{name: "bottlerocket-sysroot", libs: "/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla", bin: "/x86_64-bottlerocket-linux-gnu/sys-root/usr/libexec/nvidia/tesla/bin"},
		{name: "snap", libs: hostfs + deb, bin: hostfs + "/usr/bin"},
		{name: "snap-on-fedora", libs: hostfs + "/usr/lib64", bin: hostfs + "/usr/bin"},
		{name: "configured", libs: "/srv/nvidia/lib", bin: "/srv/nvidia/bin", config: "library-dirs = [\"/srv/nvidia/lib\"]\n"},
	}
}

// absoluteLinks makes the SONAME links absolute, as a driver container sees
// them: followed on the host they would lead elsewhere.
func absoluteLinks(t *testing.T, root string, h *lab.StandIn) {
	t.Helper()
	link := filepath.Join(root, "usr/lib64/libcuda.so.1")
	remove(t, link)
	lab.Link(t, "/usr/lib64/libcuda.so."+h.Version, link)
	lab.Write(t, filepath.Join(h.Dir, "usr/lib64/libcuda.so."+h.Version), "the host's, which must not be used\n")
}

// lay builds a host of a layout from a driver of our own making.
func (l hostLayout) lay(t *testing.T, d lab.Driver) *lab.StandIn {
	t.Helper()
	h := lab.Host(t, lab.HostSpec{Version: d.Version, GPUs: lab.GPUs(2, lab.A100), NoCache: true})
	root := filepath.Join(h.Dir, l.root)
	if l.name == "arch" {
		for _, name := range []string{"usr/lib64", "lib64", "usr/lib/x86_64-linux-gnu"} {
			remove(t, filepath.Join(root, name))
		}
		lab.Link(t, "lib", filepath.Join(root, "usr/lib64"))
	}
	for dir, from := range map[string]string{l.libs: "usr/lib/x86_64-linux-gnu/nvidia/current", l.bin: "usr/lib/nvidia/current"} {
		entries, err := os.ReadDir(filepath.Join(d.Dir, from))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			to := filepath.Join(root, dir, e.Name())
			if target, err := os.Readlink(filepath.Join(d.Dir, from, e.Name())); err == nil {
				lab.Link(t, target, to)
			} else {
				lab.Install(t, filepath.Join(d.Dir, from, e.Name()), to)
			}
		}
	}
	for name, target := range l.links {
		lab.Link(t, target, filepath.Join(root, name))
	}
	if l.arrange != nil {
		l.arrange(t, root, h)
	}
	if l.cache {
		lab.Write(t, filepath.Join(root, "etc/ld.so.conf"), l.libs+"\n"+path.Dir(path.Dir(l.libs))+"\n")
		if r := lab.InBox(t, lab.Machine, "/sbin/ldconfig -X -r "+root); r.Code != 0 {
			t.Fatalf("ldconfig: %s", r.Stderr)
		}
	}
	return h
}

// TestHostLayouts runs the hook on every kind of host: the container gets the
// module's libcuda and nvidia-smi whatever the host keeps them in, and they work
// there.
func TestHostLayouts(t *testing.T) {
	t.Parallel()
	need.Root(t)
	d := lab.MadeDriver(t, "535.261.03", 12020)
	image := lab.Root(t, lab.Glibc)
	for _, l := range hostLayouts(d.Version) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			host := l.lay(t, d)
			if l.root != "" {
				l.config = "root = \"" + l.root + "\"\n"
			}
			b := lab.NewBundle(t, image, lab.Options{
				Host: host, Overlay: true, Config: lab.NoCgroups + "[driver]\n" + l.config,
				Env: []string{"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video"},
			})
			p := plannedOK(t, b)
			for _, w := range p.Warnings {
				t.Errorf("warning %s: %s", w.Code, w.Message)
			}
			file := path.Join(l.libs, "libcuda.so."+d.Version)
			if got := sourceOf(p, "/usr/local/nvidia/lib64/libcuda.so."+d.Version); got != filepath.Join(host.Dir, l.root, file) {
				t.Errorf("libcuda comes from %s, want %s in the driver root", got, file)
			}
			if got := len(p.Loader.Libraries); got != 14 {
				t.Errorf("%d names for the loader, want 14: %v", got, p.Loader.Libraries)
			}
			got := lab.RunDirect(t, b, lab.Direct{
				Inside: "chroot $ROOT /usr/bin/witness driver:libcuda.so.1 stat:/dev/nvidia1 stat:/dev/nvidia0 load:libnvcuvid.so.1 load:libvdpau_nvidia.so.1\nchroot $ROOT /usr/bin/nvidia-smi\n",
			})
			if got.Code != 0 {
				t.Fatalf("the hook ended with %d: %s", got.Code, got.Stderr)
			}
			wantDriver(t, got.Facts, 12020, "")
			wantErrnos(t, got.Facts, map[string]syscall.Errno{"stat:/dev/nvidia1": 0, "stat:/dev/nvidia0": syscall.ENOENT})
			for _, name := range []string{"load:libnvcuvid.so.1", "load:libvdpau_nvidia.so.1"} {
				if f := got.Facts[name]; f.Error != "" {
					t.Errorf("%s: %+v", name, f)
				}
			}
			if !strings.Contains(got.Inside, "stand-in nvidia-smi "+d.Version) {
				t.Errorf("nvidia-smi does not run:\n%s", got.Inside)
			}
		})
	}
}
