package need

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// tools says which of the named programs PATH lacks.
func tools(names ...string) string {
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return name + " is not installed"
		}
	}
	return ""
}

// Runc needs the distribution's runc, and root to run containers with it.
func Runc(t T) { t.Helper(); Root(t); MountNS(t); check(t, "runc", tools("runc")) }

// RuncModule needs what builds runc from the Go module: Go and a C compiler,
// since runc joins namespaces in C.
func RuncModule(t T) { t.Helper(); Root(t); MountNS(t); check(t, "runc-module", tools("go", "cc")) }

// Crun needs the distribution's crun, and root to run containers with it.
func Crun(t T) { t.Helper(); Root(t); MountNS(t); check(t, "crun", tools("crun")) }

// CC needs a C compiler.
func CC(t T) { t.Helper(); check(t, "cc", tools("cc")) }

// Busybox needs a static busybox: it runs in every container root.
func Busybox(t T) {
	t.Helper()
	reason := tools("busybox")
	if reason == "" && dynamic("busybox") {
		reason = "busybox is not static; install busybox-static"
	}
	check(t, "busybox", reason)
}

// dynamic reports whether a program names a loader.
func dynamic(name string) bool {
	path, err := exec.LookPath(name)
	if err != nil {
		return true
	}
	out, err := exec.Command("ldd", path).CombinedOutput()
	return err == nil && bytes.Contains(out, []byte("=>"))
}

// Emulation needs a static aarch64 emulator on another architecture.
func Emulation(t T) { t.Helper(); check(t, "emulation", tools("qemu-aarch64-static")) }

// SystemdBox needs what boots a real systemd in a container of its own.
func SystemdBox(t T) {
	t.Helper()
	Root(t)
	MountNS(t)
	Cgroup2(t)
	check(t, "systemd-box", tools("systemd-nspawn", "debootstrap"))
}

// Docker needs a Docker daemon to start (not a running one).
func Docker(t T) { t.Helper(); Root(t); MountNS(t); check(t, "docker", tools("dockerd", "docker")) }

// Podman needs podman and its monitor.
func Podman(t T) { t.Helper(); MountNS(t); check(t, "podman", tools("podman", "conmon")) }

// Containerd needs containerd and its debugging client.
func Containerd(t T) {
	t.Helper()
	Root(t)
	MountNS(t)
	check(t, "containerd", tools("containerd", "ctr"))
}

// CRIO needs CRI-O.
func CRIO(t T) { t.Helper(); Root(t); MountNS(t); check(t, "crio", tools("crio", "conmon")) }

// Network needs a reachable package archive.
func Network(t T) { t.Helper(); check(t, "network", networkReason()) }

// networkReason connects to the first archive that apt is configured for, or
// to apt's proxy where it has one.
func networkReason() string {
	if reason := tools("apt-get", "apt-config"); reason != "" {
		return reason
	}
	proxy, err := exec.Command("apt-config", "dump", "--format", "%f %v%n", "Acquire::http::Proxy").Output()
	if err == nil {
		if line := lineWith(proxy, "Acquire::http::Proxy http"); line != "" {
			return dial(strings.Fields(line)[1])
		}
	}
	out, err := exec.Command("apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)", "Created-By: Packages").Output()
	if err != nil {
		return fmt.Sprintf("ask apt for its archives: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		return dial(strings.TrimSpace(line))
	}
	return "apt is configured for no archive"
}

// dial opens a connection to the host of an address and closes it again.
func dial(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return err.Error()
	}
	if u.Host == "" {
		return "" // A file or a disk: nothing to reach.
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(u.Hostname(), port), 5*time.Second)
	if err != nil {
		return fmt.Sprintf("connect to the package archive: %v", err)
	}
	if err := conn.Close(); err != nil {
		return err.Error()
	}
	return ""
}

// Packages needs the tools that fetch and unpack Debian packages, on Debian
// itself: other distributions do not know the archive or its keys.
func Packages(t T) { t.Helper(); check(t, "packages", packagesReason("/etc/os-release")) }

func packagesReason(release string) string {
	if reason := tools("apt-get", "dpkg-deb", "dpkg"); reason != "" {
		return reason
	}
	text, err := os.ReadFile(release)
	if err != nil {
		return err.Error()
	}
	if lineWith(text, "ID=debian") == "" {
		return "the machine is not Debian, so it does not know Debian's archive"
	}
	return ""
}

// DriverFiles needs NVIDIA's own driver files, which Debian's archive carries
// in its component non-free. Package lab downloads them into its cache.
func DriverFiles(t T) { t.Helper(); check(t, "driver-files", packagesReason("/etc/os-release")) }

// Musl needs Debian's packages of the musl C library.
func Musl(t T) { t.Helper(); check(t, "musl", packagesReason("/etc/os-release")) }
