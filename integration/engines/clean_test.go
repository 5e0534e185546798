package engines

import (
	"strings"
	"testing"
)

// driverName reports whether a file carries a name of the driver's.
func driverName(path string) bool {
	name := path[strings.LastIndex(path, "/")+1:]
	return strings.HasPrefix(name, "libcuda") || strings.HasPrefix(name, "libnv") || strings.HasPrefix(name, "nvidia-") ||
		strings.Contains(name, "_nvidia.so") || name == "nvidia_drv.so"
}

// wantClean checks what "diff" and "export | tar -tv" of an engine said of a
// container with GPUs: links and loader files, no file of the driver's.
func wantClean(t *testing.T, diff, export string) {
	t.Helper()
	links := map[string]bool{}
	for line := range strings.Lines(export) {
		fields := strings.Fields(line) // mode owner size date time name [-> target]
		if len(fields) < 6 {
			continue
		}
		switch line[0] {
		case 'l':
			links["/"+fields[5]] = true
		case '-':
			if driverName(fields[5]) {
				t.Errorf("a file of the driver's in the image: %s", strings.TrimSpace(line))
			}
		}
	}
	added := 0
	for line := range strings.Lines(diff) {
		kind, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case links[path]:
			added++
		case path == "/etc/ld.so.cache", path == "/etc/ld.so.conf", strings.HasPrefix(path, "/etc/ld.so.conf.d"):
			added++
		case kind == "C", path == "/usr/local/nvidia", path == "/usr/local", path == "/tmp/one":
			// A changed directory above, our empty mount point, and the probe's node.
		case isMountPoint(path):
		default:
			t.Errorf("the container's image changed: %s", line)
		}
	}
	if added == 0 {
		t.Errorf("diff shows no link and no loader file; was there a hook?\n%s", diff)
	}
}

// isMountPoint reports directories and files that engines make themselves.
func isMountPoint(path string) bool {
	switch path {
	case "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/mtab", "/.dockerenv", "/run", "/run/.containerenv", "/run/secrets",
		"/dev", "/dev/console", "/dev/pts", "/dev/shm", "/proc", "/sys":
		return true
	}
	return false
}

// nothingLeft checks that containers that ended left no record and no mount,
// and that nothing of ours was written outside of the folders that are ours.
func (m *machine) nothingLeft(t *testing.T) {
	t.Helper()
	if got := m.must(t, "gpu-hook ps --format json"); strings.Contains(got, `"pid"`) {
		t.Errorf("gpu-hook ps after the last container: %s", got)
	}
	if got := m.must(t, "grep -c ' gpu-hook ' /proc/self/mountinfo || true"); strings.TrimSpace(got) != "0" {
		t.Errorf("%s mounts of ours in the machine, want none", strings.TrimSpace(got))
	}
}

// wantRemoved checks that configure --remove left nothing in the machine but
// the program, its configuration and its log, which are the user's.
func (m *machine) wantRemoved(t *testing.T) {
	t.Helper()
	for name := range strings.Lines(m.must(t, `cd `+m.dir+`/upper && find . \( -name '*gpu-hook*' -o -name 'gpu-runtime*' -o -name '*nvidia*' \) ! -path './usr/share/*' ! -type c`)) {
		switch name = strings.TrimSpace(name); {
		case name == "./usr/local/bin/gpu-hook", name == "./etc/gpu-hook", name == "./var/log/gpu-hook.log":
		case strings.HasPrefix("."+m.dir, name): // where the tests' own folder is mounted
		default:
			t.Errorf("%s is still on the host", name)
		}
	}
}
