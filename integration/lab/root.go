package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// Kind is a kind of container root.
type Kind string

// The container roots. Each but Scratch has /bin/witness for its own loader,
// each but Distroless a static busybox as /bin/sh and friends.
const (
	Glibc      Kind = "glibc"      // this machine's loader and libc, as Debian lays them out
	Fedora     Kind = "fedora"     // libraries in /usr/lib64, /lib64 a link to it
	Arch       Kind = "arch"       // libraries in /usr/lib, /lib64 and /usr/lib64 links to it
	Distroless Kind = "distroless" // a loader and libc, no shell, no /etc
	Scratch    Kind = "scratch"    // one static program
	Musl       Kind = "musl"       // musl instead of glibc
	Bullseye   Kind = "bullseye"   // glibc 2.31
	Bookworm   Kind = "bookworm"   // glibc 2.36
	Trixie     Kind = "trixie"     // glibc 2.41
	Sid        Kind = "sid"        // the newest glibc
)

// Kinds lists all kinds of root.
func Kinds() []Kind {
	return []Kind{Glibc, Fedora, Arch, Distroless, Scratch, Musl, Bullseye, Bookworm, Trixie, Sid}
}

// Root makes a container root of a kind, to be changed freely.
func Root(t T, kind Kind) string {
	t.Helper()
	dir := filepath.Join(Temp(t), "rootfs")
	mkdir(t, dir, "proc", "sys", "dev", "tmp")
	switch kind {
	case Glibc:
		merged(t, dir)
		machineLibraries(t, dir, debianLibs)
		Write(t, filepath.Join(dir, "etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\n")
		Write(t, filepath.Join(dir, "etc/ld.so.conf.d/x86_64-linux-gnu.conf"), "/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n")
		finish(t, dir, Witness(t))
	case Fedora:
		merged(t, dir)
		machineLibraries(t, dir, "usr/lib64")
		Write(t, filepath.Join(dir, "etc/ld.so.conf"), "include ld.so.conf.d/*.conf\n/usr/lib64\n")
		mkdir(t, dir, "etc/ld.so.conf.d")
		finish(t, dir, Witness(t))
	case Arch:
		mkdir(t, dir, "usr/bin", "usr/lib")
		for name, target := range map[string]string{
			"bin": "usr/bin", "sbin": "usr/bin", "usr/sbin": "bin", "lib": "usr/lib", "lib64": "usr/lib", "usr/lib64": "lib",
		} {
			Link(t, target, filepath.Join(dir, name))
		}
		machineLibraries(t, dir, "usr/lib")
		Write(t, filepath.Join(dir, "etc/ld.so.conf"), "/usr/lib\ninclude /etc/ld.so.conf.d/*.conf\n")
		finish(t, dir, Witness(t))
	case Distroless:
		mkdir(t, dir, "lib64", "bin", "usr/bin", "lib/x86_64-linux-gnu", debianLibs)
		machineLibraries(t, dir, "lib/x86_64-linux-gnu")
		Install(t, Witness(t), filepath.Join(dir, "bin/witness"))
	case Scratch:
		mkdir(t, dir, "bin")
		Install(t, StaticWitness(t), filepath.Join(dir, "bin/witness"))
		busybox(t, dir)
	case Musl:
		need.Musl(t)
		CopyTree(t, Packages(t, "bookworm", "musl"), dir)
		mkdir(t, dir, "bin", "etc", "usr/bin", "usr/lib")
		Install(t, MuslWitness(t), filepath.Join(dir, "bin/witness"))
		busybox(t, dir)
	case Bullseye, Bookworm, Trixie, Sid:
		need.Packages(t)
		CopyTree(t, Packages(t, string(kind), "libc6", "libc-bin", "libgcc-s1", "libstdc++6", "zlib1g"), dir)
		merge(t, dir)
		Write(t, filepath.Join(dir, "etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\n")
		finish(t, dir, OldWitness(t))
	default:
		t.Fatalf("make a root of kind %q: no such kind", kind)
	}
	return dir
}

// merged makes the directories of a root whose /usr holds everything.
func merged(t T, dir string) {
	t.Helper()
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		mkdir(t, dir, "usr/"+name)
		Link(t, "usr/"+name, filepath.Join(dir, name))
	}
}

// merge moves what packages put beside /usr below it.
func merge(t T, dir string) {
	t.Helper()
	for _, name := range []string{"bin", "sbin", "lib", "lib32", "lib64"} {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err == nil && info.IsDir() {
			CopyTree(t, path, filepath.Join(dir, "usr", name))
			if err := os.RemoveAll(path); err != nil {
				t.Fatalf("%v", err)
			}
		}
		mkdir(t, dir, "usr/"+name)
		if !exists(t, path) {
			Link(t, "usr/"+name, path)
		}
	}
}

// machineLibraries copies what the witness and NVIDIA's files link with, and
// the loader to where programs name it.
func machineLibraries(t T, dir, libs string) {
	t.Helper()
	mkdir(t, dir, libs, "lib64")
	for _, name := range []string{
		"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libgcc_s.so.1", "libstdc++.so.6",
	} {
		Install(t, machineFile(t, name), filepath.Join(dir, libs, name))
	}
	const loader = "ld-linux-x86-64.so.2"
	Install(t, machineFile(t, loader), filepath.Join(dir, libs, loader))
	if to := filepath.Join(dir, "lib64", loader); !exists(t, to) {
		Install(t, machineFile(t, loader), to)
	}
}

// machineFile finds a library of this machine with its own compiler.
func machineFile(t T, name string) string {
	t.Helper()
	path := strings.TrimSpace(command(t, "", nil, "cc", "-print-file-name="+name))
	if path == name {
		path = filepath.Join("/lib64", name)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return target
}

// finish adds the programs and the loader cache.
func finish(t T, dir, witness string) {
	t.Helper()
	mkdir(t, dir, "root", "run", "var/tmp", "usr/local/bin", "usr/local/lib")
	Install(t, witness, filepath.Join(dir, "usr/bin/witness"))
	Write(t, filepath.Join(dir, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n")
	Write(t, filepath.Join(dir, "etc/group"), "root:x:0:\nuser:x:1000:\n")
	busybox(t, dir)
	if to := filepath.Join(dir, "sbin/ldconfig"); !exists(t, to) {
		Install(t, ldconfig(), to)
	}
	command(t, "", nil, ldconfig(), "-X", "-r", dir)
}

// Install copies a program or library, links followed.
func Install(t T, from, to string) {
	t.Helper()
	mkdir(t, filepath.Dir(to), ".")
	if err := copyFile(from, to); err != nil {
		t.Fatalf("%v", err)
	}
}

// busybox installs a static busybox under the names that tests use.
func busybox(t T, dir string) {
	t.Helper()
	need.Busybox(t)
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatalf("%v", err)
	}
	Install(t, path, filepath.Join(dir, "bin/busybox"))
	for _, name := range strings.Fields("sh ls cat mount umount sleep mknod stat find id rm mv ln mkdir readlink touch true grep echo chroot") {
		if to := filepath.Join(dir, "bin", name); !exists(t, to) {
			Link(t, "busybox", to)
		}
	}
}

// Debootstrap returns a copy of a full minimal Debian of a suite with apt, made
// once by debootstrap. It can install packages from the machine's own archive.
func Debootstrap(t T, suite string, include ...string) string {
	t.Helper()
	dir := filepath.Join(Temp(t), "rootfs")
	CopyTree(t, System(t, suite, include...), dir)
	return dir
}

// System returns a full minimal Debian of a suite in the cache, made once by
// debootstrap. Callers must not write into it: they mount an overlay over it.
func System(t T, suite string, include ...string) string {
	t.Helper()
	need.Root(t)
	need.Packages(t)
	name := "debootstrap/" + strings.Join(append([]string{suite}, include...), "-")
	return Once(t, name, func(dir string) {
		source, err := debianSource("/etc/apt")
		if err != nil {
			need.Lacks(t, "packages", err.Error())
		}
		args := []string{"--variant=minbase"}
		if len(include) > 0 {
			args = append(args, "--include="+strings.Join(include, ","))
		}
		if _, err := try("", nil, "debootstrap", append(args, suite, dir, source.uri)...); err != nil {
			need.Lacks(t, "packages", err.Error())
		}
	})
}
