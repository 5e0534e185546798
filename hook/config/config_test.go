package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// documented is the configuration as the documentation shows it: every key
// with its default.
const documented = `
host-root = "/"
accept-env = "always"
accept-volume-mounts = false
swarm-resource = ""
allow-devices = ["all"]
supported-driver-capabilities = ["compute","utility","video","graphics","display","ngx","compat32"]
disable-require = false
on-missing-driver = "auto"
load-kernel-modules = true
[driver]
root = "/"
library-dirs = []
cuda-version = ""
[mounts]
layout = "private"
dir = "/usr/local/nvidia"
proc = "params"
include = []
exclude = []
[cgroups]
mode = "auto"
access = "rw"
[compat]
mode = "auto"
on-mismatch = "auto"
host-dir = ""
[runtime]
runtimes = ["runc", "crun"]
[log]
file = "/var/log/gpu-hook.log"
level = "info"
format = "text"
`

// emptyLists are equal to none.
var emptyLists = cmp.Transformer("list", func(list []string) string { return fmt.Sprintf("%q", list) })

func TestDocumentedIsDefault(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"documented": documented, "empty": "", "comment": "# nothing\n"} {
		got, err := Parse("f", []byte(text))
		if err != nil {
			t.Errorf("%s: Parse: %v", name, err)
		}
		if diff := cmp.Diff(Default(), got, emptyLists); diff != "" {
			t.Errorf("%s: Parse (-want +got):\n%s", name, diff)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		text string
		want func(*Config)
	}{
		{"root-keys", "host-root = '/host'\ndisable-require = true\nload-kernel-modules = false\naccept-volume-mounts = true", func(c *Config) {
			c.HostRoot, c.DisableRequire, c.LoadKernelModules, c.AcceptVolumeMounts = "/host", true, false, true
		}},
		{"lists-replace", "allow-devices = ['0', '*A100*']\nsupported-driver-capabilities = ['compute']\ndriver.library-dirs = ['/a', '/b']", func(c *Config) {
			c.AllowDevices, c.SupportedDriverCapabilities, c.Driver.LibraryDirs = []string{"0", "*A100*"}, []string{"compute"}, []string{"/a", "/b"}
		}},
		{"nobody-gets-anything", "allow-devices = []", func(c *Config) { c.AllowDevices = nil }},
		{"supported-all", "supported-driver-capabilities = ['all']", func(c *Config) { c.SupportedDriverCapabilities = []string{"all"} }},
		{"words", "accept-env='never'\non-missing-driver='fail'\n[mounts]\nlayout='direct'\nproc='off'\n[cgroups]\nmode='off'\naccess='rwm'\n[compat]\nmode='force'\non-mismatch='warn'\n[log]\nlevel='debug'\nformat='json'", func(c *Config) {
			c.AcceptEnv, c.OnMissingDriver = EnvNever, Fail
			c.Mounts.Layout, c.Mounts.Proc, c.Cgroups = LayoutDirect, ProcOff, Cgroups{CgroupOff, AccessRWM}
			c.Compat.Mode, c.Compat.OnMismatch = CompatForce, Warn
			c.Log.Level, c.Log.Format = LevelDebug, FormatJSON
		}},
		{"runtimes", "[runtime]\nruntimes = ['/opt/runc', 'youki']", func(c *Config) { c.Runtime.Runtimes = []string{"/opt/runc", "youki"} }},
		{"no-log", "[log]\nfile = ''", func(c *Config) { c.Log.File = "" }},
		{"crlf", "host-root = '/host'\r\n[log]\r\nlevel = 'warn'\r\n", func(c *Config) { c.HostRoot, c.Log.Level = "/host", LevelWarn }},
		{"inline-table", "compat = {mode = 'off'}", func(c *Config) { c.Compat.Mode = CompatOff }},
		{"cuda-version", "driver.cuda-version = '12.4'", func(c *Config) { c.Driver.CUDAVersion = "12.4" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := Default()
			tt.want(&want)
			got, err := Parse("f", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, emptyLists); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		text string
		want string
	}{
		{"unknown-key", "\naccept-envs = 'always'", `f:2: unknown key "accept-envs"`},
		{"unknown-key-in-table", "[compat]\n\nmod = 'auto'", `f:3: unknown key "compat.mod"`},
		{"unknown-table", "[nvidia-container-cli]\nroot = '/'", `f:1: unknown key "nvidia-container-cli"`},
		{"unknown-word", "[log]\n[compat]\n# so\nmode = 'maybe'", `f:4: compat.mode = "maybe", want "auto", "off" or "force"`},
		{"unknown-word-dotted", "\ncompat.mode = 'maybe'", `f:2: compat.mode = "maybe", want "auto", "off" or "force"`},
		{"word-case", "accept-env = 'Always'", `f:1: accept-env = "Always", want "always", "privileged" or "never"`},
		{"empty-word", "accept-env = ''", `f:1: accept-env = "", want "always", "privileged" or "never"`},
		{"missing-driver", "on-missing-driver = 'ignore'", `f:1: on-missing-driver = "ignore", want "fail", "warn" or "auto"`},
		{"layout", "mounts.layout = 'flat'", `f:1: mounts.layout = "flat", want "private" or "direct"`},
		{"proc", "mounts.proc = 'on'", `f:1: mounts.proc = "on", want "params", "gpus" or "off"`},
		{"cgroup-mode", "cgroups.mode = 'v2'", `f:1: cgroups.mode = "v2", want "auto" or "off"`},
		{"access", "cgroups.access = 'r'", `f:1: cgroups.access = "r", want "rw" or "rwm"`},
		{"on-mismatch", "compat.on-mismatch = 'x'", `f:1: compat.on-mismatch = "x", want "fail", "warn" or "auto"`},
		{"level", "log.level = 'trace'", `f:1: log.level = "trace", want "debug", "info", "warn" or "error"`},
		{"format", "log.format = 'xml'", `f:1: log.format = "xml", want "text" or "json"`},
		{"capability", "supported-driver-capabilities = [\n'compute',\n'grafics']", `f:1: supported-driver-capabilities = "grafics", want "compute", "utility", "video", "graphics", "display", "ngx", "compat32" or "all"`},
		{"capability-string", "supported-driver-capabilities = 'compute,utility'", `f:1: "supported-driver-capabilities" is a TOML string, want a list of strings`},
		{"relative-root", "host-root = 'host'", `f:1: host-root = "host", want an absolute path`},
		{"empty-root", "driver.root = ''", `f:1: driver.root = "", want an absolute path`},
		{"nul", "log.file = \"/a\\u0000b\"", `f:1: log.file = "/a\x00b", want an absolute path`},
		{"library-dir", "driver.library-dirs = ['/a', 'b']", `f:1: driver.library-dirs = "b", want an absolute path in each place`},
		{"dir-root", "mounts.dir = '/'", `f:1: mounts.dir = "/", want a directory of its own, at least two levels deep and without . or ..`},
		{"dir-usr", "mounts.dir = '/usr'", `f:1: mounts.dir = "/usr", want a directory of its own, at least two levels deep and without . or ..`},
		{"dir-dots", "mounts.dir = '/opt/x/../..'", `f:1: mounts.dir = "/opt/x/../..", want a directory of its own, at least two levels deep and without . or ..`},
		{"pattern", "allow-devices = ['[A100']", `f:1: allow-devices = "[A100", want a name or a shell pattern in each place`},
		{"empty-pattern", "mounts.exclude = ['']", `f:1: mounts.exclude = "", want a name or a shell pattern in each place`},
		{"runtime-relative", "runtime.runtimes = ['runc', 'bin/crun']", `f:1: runtime.runtimes = "bin/crun", want a name without / or an absolute path in each place`},
		{"runtime-empty", "[runtime]\nruntimes = ['']", `f:2: runtime.runtimes = "", want a name without / or an absolute path in each place`},
		{"runtime-table", "runtime = 'runc'", `f:1: "runtime" is a TOML string, want a table`},
		{"swarm", "swarm-resource = 'A=b'", `f:1: swarm-resource = "A=b", want names of variables, separated by commas`},
		{"cuda-version", "driver.cuda-version = '12'", `f:1: driver.cuda-version = "12", want MAJOR.MINOR, such as "12.4"`},
		{"cuda-version-text", "driver.cuda-version = 'x.y'", `f:1: driver.cuda-version = "x.y", want MAJOR.MINOR, such as "12.4"`},
		{"bool-as-string", "\ndisable-require = 'yes'", `f:2: "disable-require" is a TOML string, want true or false`},
		{"string-as-number", "[log]\nlevel = 3", `f:2: "log.level" is a TOML integer, want a string`},
		{"table-as-string", "log = 'x'", `f:1: "log" is a TOML string, want a table`},
		{"syntax", "accept-env = always", `f:1: `},
		{"unclosed", "[log\n", `f:1: `},
		{"twice", "host-root = '/'\nhost-root = '/'", `f:2: `},
		{"binary", "\x7fELF\x00", `f:1: `},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := Parse("f", []byte(tt.text))
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("Parse = %v, want an *InvalidError", err)
			}
			if got := err.Error(); got != tt.want && !(strings.HasSuffix(tt.want, ": ") && strings.HasPrefix(got, tt.want)) {
				t.Errorf("Parse = %q, want %q", got, tt.want)
			}
			if strings.Contains(err.Error(), "\n") || invalid.Cure() == "" {
				t.Errorf("Parse = %q, cure %q; want one line and a cure", err, invalid.Cure())
			}
			if c.AcceptEnv != EnvAlways || !c.AcceptVolumeMounts {
				t.Errorf("Parse: accept-env %q, volume mounts %v beside an error", c.AcceptEnv, c.AcceptVolumeMounts)
			}
		})
	}
}

// What could be read of a broken file is kept, so that a container's request
// is found by it.
func TestWillingKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	c, err := Parse("f", []byte("swarm-resource = 'DOCKER_RESOURCE_GPU'\naccept-env = 'never'\nlog.file = '/l'\nlog.level = 'loud'\nnonsense = 1"))
	if err == nil || c.SwarmResource != "DOCKER_RESOURCE_GPU" || c.AcceptEnv != EnvAlways || c.Log != Default().Log {
		t.Errorf("Parse = %+v, %v", c, err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		path     string
		explicit bool
		want     string // part of the error, "" for none
	}{
		{"good", write("good", documented), true, ""},
		{"absent", filepath.Join(dir, "none"), false, ""},
		{"absent-directory", filepath.Join(dir, "none", "none"), false, ""},
		{"absent-named", filepath.Join(dir, "none"), true, "open: no such file or directory"},
		{"bad", write("bad", "x = 1"), false, ":1: unknown key"},
		{"fifo", fifo, false, "not a regular file"},
		{"directory", dir, false, "not a regular file"},
		{"below-a-file", filepath.Join(dir, "good", "x"), false, "open: not a directory"},
		{"device", "/dev/zero", true, "not a regular file"},
		{"too-large", write("large", strings.Repeat("#", maxFile+1)), false, "longer than 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := Load(tt.path, tt.explicit)
			if tt.want == "" {
				if diff := cmp.Diff(Default(), c, emptyLists); err != nil || diff != "" {
					t.Errorf("Load = %v (-want +got):\n%s", err, diff)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), tt.path) {
				t.Errorf("Load = %v, want %q and the path", err, tt.want)
			}
			if want := tt.name == "absent-named"; errors.Is(err, fs.ErrNotExist) != want {
				t.Errorf("Load: errors.Is(%v, ErrNotExist) = %v, want %v", err, !want, want)
			}
		})
	}
}

func TestDefaultsAreNotShared(t *testing.T) {
	t.Parallel()
	a := Default()
	a.SupportedDriverCapabilities[0], a.AllowDevices[0] = "x", "x"
	Capabilities()[0] = "x"
	if diff := cmp.Diff("compute", Default().SupportedDriverCapabilities[0]); diff != "" || Default().AllowDevices[0] != "all" {
		t.Errorf("Default changed by its users: %s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("allow-devices = ['0']\n[driver]\ncuda-version = '12.4'\n"))
	f.Add([]byte("compat.mode = 'maybe'"))
	f.Add([]byte("[log]\nlevel = 3"))
	f.Add([]byte("allow-devices = [['x']]"))
	f.Add([]byte("log = {file = \"/x\"}\n[log]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f", data)
		if err == nil {
			if f := c.fault(); f != nil {
				t.Errorf("Parse let through %s", f.text())
			}
			return
		}
		var invalid *InvalidError
		if !errors.As(err, &invalid) || c.AcceptEnv != EnvAlways {
			t.Errorf("Parse = %v (%T)", err, err)
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(documented), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("full", func(b *testing.B) {
		for b.Loop() {
			if _, err := Load(path, true); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("absent", func(b *testing.B) {
		for b.Loop() {
			if _, err := Load(path+"x", false); err != nil {
				b.Fatal(err)
			}
		}
	})
}
