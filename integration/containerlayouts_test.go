package integration

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// inContainer is what a plan does to find the driver in one kind of container.
type inContainer struct {
	Loader    string   // kind of loader
	Cache     string   // what is done with its cache
	Dirs      []string // that the loader is told
	SecondNet string   // directory with links of our own, "" = none
	SecondNet32,
	GBM string // where Mesa's GBM looks for NVIDIA's part
	Files    bool // driver files at all
	Warnings []string
}

// containerOf makes the root of a container.
type containerOf func(t *testing.T) string

func ofKind(kind lab.Kind) containerOf {
	return func(t *testing.T) string { t.Helper(); return lab.Root(t, kind) }
}

// withPackages is a root of packages of another architecture.
func withPackages(base lab.Kind, arch string, names ...string) containerOf {
	return func(t *testing.T) string {
		t.Helper()
		dir := filepath.Join(lab.Temp(t), "rootfs")
		if base != "" {
			dir = lab.Root(t, base)
		}
		lab.CopyTree(t, lab.PackagesFor(t, "bookworm", arch, names...), filepath.Join(dir, "usr/.unpacked"))
		unpacked := filepath.Join(dir, "usr/.unpacked")
		for _, name := range []string{"usr/lib", "lib"} {
			lab.CopyTree(t, filepath.Join(unpacked, name), filepath.Join(dir, "usr/lib"))
		}
		remove(t, unpacked)
		if base == "" {
			lab.Link(t, "usr/lib", filepath.Join(dir, "lib"))
			lab.Write(t, filepath.Join(dir, "etc/debian_version"), "12\n")
		}
		return dir
	}
}

// TestContainerLayouts plans for every kind of container, with 64-bit and 32-bit
// files on the host.
func TestContainerLayouts(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := host32(t)
	const tree, deb = "/usr/local/nvidia", "/lib/x86_64-linux-gnu"
	glibc := func(dir string) inContainer {
		return inContainer{Loader: "glibc", Cache: "merge", Dirs: []string{tree + "/lib64"}, SecondNet: dir, GBM: dir + "/gbm", Files: true}
	}
	debian := glibc("/usr" + deb)
	with32 := debian
	with32.Dirs, with32.SecondNet32 = []string{tree + "/lib32", tree + "/lib64"}, "/usr/lib/i386-linux-gnu"
	distroless := glibc(deb)
	distroless.Cache = "write"
	for _, tt := range []struct {
		name string
		root containerOf
		want inContainer
	}{
		{name: "debian-multiarch", root: ofKind(lab.Glibc), want: debian},
		{name: "bullseye", root: ofKind(lab.Bullseye), want: debian},
		{name: "trixie", root: ofKind(lab.Trixie), want: debian},
		{name: "fedora-lib64", root: ofKind(lab.Fedora), want: glibc("/usr/lib64")},
		{name: "arch", root: ofKind(lab.Arch), want: glibc("/usr/lib")},
		{name: "alpine-musl", root: ofKind(lab.Musl), want: inContainer{
			Loader: "musl", Cache: "none", Dirs: []string{tree + "/lib64"}, SecondNet: "/lib", GBM: "/lib/gbm", Files: true,
		}},
		{name: "distroless", root: ofKind(lab.Distroless), want: distroless},
		{name: "scratch", root: ofKind(lab.Scratch), want: inContainer{Loader: "none", Cache: "none", Dirs: []string{tree + "/lib64"}, Files: true}},
		{name: "debian-with-i386", root: withPackages(lab.Glibc, "i386", "libc6"), want: with32},
		{name: "arm64", root: withPackages("", "arm64", "libc6"), want: inContainer{
			Loader: "none", Cache: "none", Dirs: []string{}, Warnings: []string{"foreign-architecture"},
		}},
		{name: "i386-alone", root: withPackages("", "i386", "libc6"), want: inContainer{
			Loader: "glibc", Cache: "none", Dirs: []string{}, Warnings: []string{"foreign-architecture"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := plannedOK(t, planBundle(t, host, tt.root(t), "NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=all"))
			got := inContainer{
				Loader: p.Loader.Kind, Cache: p.Loader.Cache, Dirs: p.Loader.Dirs, Files: len(p.Mounts) > 0, Warnings: codes(p),
			}
			got.SecondNet, got.SecondNet32 = secondNet(p, tree+"/lib64"), secondNet(p, tree+"/lib32")
			for _, l := range p.Symlinks {
				if path.Base(l.Path) == "nvidia-drm_gbm.so" {
					got.GBM = path.Dir(l.Path)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if len(p.DeviceNodes) == 0 {
				t.Error("no device nodes: a container gets its devices whatever its loader")
			}
			wantNoNeutral(t, p)
		})
	}
}

// secondNet is the directory of the link to libcuda.so.1 of one tree directory.
func secondNet(p hook.Plan, dir string) string {
	for _, l := range p.Symlinks {
		if l.Target == dir+"/libcuda.so.1" {
			return path.Dir(l.Path)
		}
	}
	return ""
}

// host32 is the full host with NVIDIA's 32-bit files beside the others.
func host32(t *testing.T) *lab.StandIn {
	t.Helper()
	host := fullHost(t, lab.Plain, 1)
	lab.CopyTree(t, filepath.Join(lab.PackagesFor(t, "bookworm", "i386", driver32()...), "usr/lib/i386-linux-gnu"), filepath.Join(host.Dir, "usr/lib/i386-linux-gnu"))
	return host
}

// driver32 are Debian's 32-bit packages of the driver.
func driver32() []string {
	return []string{"libcuda1", "libnvidia-ml1", "libnvidia-ptxjitcompiler1", "libnvidia-encode1", "libnvcuvid1", "libglx-nvidia0", "libnvidia-glcore", "libnvidia-glvkspirv"}
}

// TestCompat32 runs a container with a 32-bit loader: with compat32 that loader
// resolves the 32-bit driver, without it there is none.
func TestCompat32(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := host32(t)
	root := withPackages(lab.Glibc, "i386", "libc6", "libx11-6", "libxext6", "libxcb1", "libxau6", "libxdmcp6", "libbsd0", "libmd0")(t)
	for _, tt := range []struct {
		caps string
		want bool
	}{{"compute,utility,video,graphics,compat32", true}, {"compute,utility,video,graphics", false}, {"compat32", false}} {
		t.Run(tt.caps, func(t *testing.T) {
			t.Parallel()
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=" + tt.caps},
				Args: []string{"/bin/sh", "-c", `
for f in /usr/local/nvidia/lib32/*.so.*; do [ -f $f ] && { echo "LIB32 $f"; /lib/ld-linux.so.2 --list $f | sed 's/^/NEEDS /'; }; done
/lib/ld-linux.so.2 --list /usr/lib/i386-linux-gnu/libcuda.so.1 | sed 's/^/CUDA /'
/bin/witness driver:libcuda.so.1`},
			})
			got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
			libs := strings.Split(strings.TrimSpace(lines(got.Stdout, "LIB32 ")), "\n")
			if has := slices.ContainsFunc(libs, func(l string) bool { return strings.HasSuffix(l, "lib32/libcuda.so.1") }); has != tt.want {
				t.Fatalf("32-bit libcuda: %v, want %v\n%s\n%s", has, tt.want, got.Stdout, got.Stderr)
			}
			if tt.want && (len(libs) < 10 || !strings.Contains(lines(got.Stdout, "CUDA "), "/i386-linux-gnu/libc.so.6")) {
				t.Errorf("the 32-bit loader says:\n%s", got.Stdout)
			}
			if strings.Contains(lines(got.Stdout, "NEEDS "), "not found") {
				t.Errorf("32-bit libraries with something missing:\n%s", lines(got.Stdout, "NEEDS "))
			}
			if tt.caps != "compat32" {
				wantDriver(t, got.Facts, 12020, "/usr/local/nvidia/lib64/libcuda.so.1")
			}
		})
	}
}
