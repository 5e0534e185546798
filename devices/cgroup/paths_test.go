package cgroup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
)

func TestParseCgroups(t *testing.T) {
	t.Parallel()
	both := func(devices, unified string) cgroupPaths {
		return cgroupPaths{devices, unified, devices != "", unified != ""}
	}
	tests := []struct {
		name, in string
		want     cgroupPaths
	}{
		{"v2 alone", "0::/system.slice/runc-bar.scope\n", both("", "/system.slice/runc-bar.scope")},
		{"v1 lines on a v2 host", "9:name=systemd:/\n5:devices:/\n0::/foo/bar\n", both("/", "/foo/bar")},
		{"hybrid", "12:devices:/docker/0a\n1:name=systemd:/docker/0a\n0::/docker/0a\n", both("/docker/0a", "/docker/0a")},
		{"controllers together", "4:cpu,cpuacct:/x\n3:devices,freezer:/docker/0a\n", both("/docker/0a", "")},
		{"second of two", "3:freezer,devices:/docker/0a\n", both("/docker/0a", "")},
		{"only a similar name", "3:name=devices:/no\n2:devicesx:/no\n", both("", "")},
		{"colons and spaces in the path", "5:devices:/a:b c/:d\n0::/e:f \n", both("/a:b c/:d", "/e:f ")},
		{"other namespace", "0::/../runc-bar.scope\n", both("", "/../runc-bar.scope")},
		{"no last newline", "0::/x", both("", "/x")},
		{"nonsense", "\n::\n5:devices\n5:devices:relative\n0::\nx:y:z\n", both("", "")},
		{"empty", "", both("", "")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := parseCgroups([]byte(tt.in))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(cgroupPaths{})); diff != "" {
				t.Errorf("parseCgroups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, root, path, want string
		ok                     bool
	}{
		{"root mount", "/", "/a/b", "/a/b", true},
		{"root of it", "/", "/", "/", true},
		{"inside of Docker", "/docker/outer", "/docker/outer/docker/inner", "/docker/inner", true},
		{"the mount's root", "/docker/outer", "/docker/outer", "/", true},
		{"a longer name", "/docker/out", "/docker/outer", "", false},
		{"above the mount", "/docker/outer", "/docker", "", false},
		{"outside of the namespace", "/", "/../runc-bar.scope", "/../runc-bar.scope", false},
		{"the namespace's parent", "/", "/..", "/..", false},
		{"sibling, mounted from above", "/..", "/../runc-bar.scope", "/runc-bar.scope", true},
		{"two levels above", "/..", "/../../x", "/../x", false},
		{"names between unknown", "/../..", "/a", "", false},
		{"dots in a name", "/", "/..a/b", "/..a/b", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := mount{at: "/m", root: tt.root}.below(tt.path)
			if got != tt.want || ok != tt.ok {
				t.Errorf("below(%q) of root %q: got %q, %v, want %q, %v", tt.path, tt.root, got, ok, tt.want, tt.ok)
			}
		})
	}
}

const mountTableText = `23 1 254:0 / / rw - ext4 /dev/root rw
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
36 31 0:33 /docker/0a /sys/fs/cgroup/devices ro,nosuid - cgroup cgroup rw,devices,freezer
37 31 0:34 / /sys/fs/cgroup/xdevices rw shared:9 - cgroup cgroup rw,name=devices
38 31 0:35 /a\040b /mnt/with\040space\011tab\134x rw - cgroup cgroup rw,xattr,devices
41 31 0:38 /.. /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
42 31 0:38 / /mnt/second rw - cgroup2 none rw
`

func TestCollect(t *testing.T) {
	t.Parallel()
	var got mountTable
	if _, err := mountinfo.GetMountsFromReader(strings.NewReader(mountTableText), got.collect); err != nil {
		t.Fatal(err)
	}
	want := mountTable{
		devices: []mount{{"/mnt/with space\ttab\\x", "/a b"}, {"/sys/fs/cgroup/devices", "/docker/0a"}},
		v2:      []mount{{"/mnt/second", "/"}, {"/sys/fs/cgroup/unified", "/.."}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mountTable{}, mount{})); diff != "" {
		t.Errorf("collect (-want +got):\n%s", diff)
	}
}

func TestScopeOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, unit string
		above            int
	}{
		{"runc", "/system.slice/runc-bar.scope", "runc-bar.scope", 0},
		{"crun", "/system.slice/runc-bar.scope/container", "runc-bar.scope", 1},
		{"cgroupfs", "/docker/0a", "", 0},
		{"below a service", "/system.slice/bar", "", 0},
		{"root", "/", "", 0},
		{"user manager", "/user.slice/user-1000.slice/user@1000.service/user.slice/runc-rl.scope", "runc-rl.scope", 0},
		{"systemd inside, runc", "/system.slice/docker-0a.scope/init.scope", "docker-0a.scope", 1},
		{"systemd inside, crun", "/system.slice/libpod-0a.scope/container/init.scope", "libpod-0a.scope", 2},
		{"systemd inside, cgroupfs", "/docker/0a/init.scope", "", 1},
		{"the host's init", "/init.scope", "", 0},
		{"a scope further up is another's", "/system.slice/docker-0a.scope/docker/0b", "", 0},
		{"no name", "/a/.scope", "", 0},
		{"colons", "/a/x:y z.scope", "x:y z.scope", 0},
		{"other namespace", "/../runc-bar.scope", "runc-bar.scope", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			unit, above := scopeOf(tt.path)
			if unit != tt.unit || above != tt.above {
				t.Errorf("scopeOf(%q): got %q, %d, want %q, %d", tt.path, unit, above, tt.unit, tt.above)
			}
			if unit != "" && !strings.HasSuffix(unitPath(tt.path, above), "/"+unit) {
				t.Errorf("unitPath(%q, %d): got %q, want that of %s", tt.path, above, unitPath(tt.path, above), unit)
			}
		})
	}
	if !underUserManager(tests[5].path) || underUserManager(tests[0].path) {
		t.Error("underUserManager: want true below user@1000.service only")
	}
}

func TestParseList(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, list string
		rule       Rule
		want       bool
	}{
		{"everything", "a *:* rwm\n", char(195, 0, "rwm"), true},
		{"exact", "c 195:0 rw\n", char(195, 0, "rw"), true},
		{"any minor", "c 195:* rwm\n", char(195, 255, "rw"), true},
		{"any major", "c *:* m\nc *:0 rw\n", char(195, 0, "rw"), true},
		{"only mknod", "c *:* m\n", char(195, 0, "rw"), false},
		{"two lines of a part each", "c 195:0 r\nc 195:0 w\n", char(195, 0, "rw"), false},
		{"block device", "b 195:0 rw\n", char(195, 0, "rw"), false},
		{"other minor", "c 195:1 rw\n", char(195, 0, "rw"), false},
		{"nonsense", "c 195 rw\nc x:0 rw\nc -1:0 rw\nq *:* rwm\nc 195:0 rwq\n\nc\nac *:* rwm\n", char(195, 0, "rw"), false},
		{"empty", "", char(195, 0, "r"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := grants(parseList([]byte(tt.list)), tt.rule); got != tt.want {
				t.Errorf("%q grants %v: got %v, want %v", tt.list, tt.rule, got, tt.want)
			}
		})
	}
}

func FuzzParseCgroups(f *testing.F) {
	f.Add([]byte("12:devices,freezer:/docker/0a\n1:name=systemd:/\n0::/a:b/x.scope/container\n"))
	f.Add([]byte("0::/../x\n5:devices"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := parseCgroups(b)
		for _, path := range []string{p.devices, p.unified} {
			if path != "" && !strings.HasPrefix(path, "/") || strings.Contains(path, "\n") {
				t.Fatalf("path %q", path)
			}
			unit, above := scopeOf(path)
			if strings.Contains(unit, "/") || above > 2 || unit != "" && !strings.HasSuffix(unit, ".scope") {
				t.Fatalf("scopeOf(%q): %q, %d", path, unit, above)
			}
			if rel, ok := (mount{at: "/", root: "/"}).below(path); ok && strings.HasPrefix(rel, "/../") {
				t.Fatalf("below(%q): %q leads out", path, rel)
			}
		}
	})
}

func FuzzParseList(f *testing.F) {
	f.Add([]byte("a *:* rwm\nc 195:* rw\nb 8:0 r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, e := range parseList(b) {
			if e.bits == 0 || e.bits > 7 || e.major < -1 || e.minor < -1 || !strings.ContainsRune("abc", rune(e.typ)) {
				t.Fatalf("entry %+v", e)
			}
		}
	})
}
