package config

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The words of settings that are needed by name elsewhere, too.
var (
	levels  = []string{string(LevelDebug), string(LevelInfo), string(LevelWarn), string(LevelError)}
	formats = []string{string(FormatText), string(FormatJSON)}
)

// fault is one value that cannot be used.
type fault struct{ key, value, want string }

func (f fault) text() string { return fmt.Sprintf("%s = %.200q, want %s", f.key, f.value, f.want) }

// fault is the first value that cannot be used, nil where all can.
func (c Config) fault() *fault {
	for _, check := range []func(Config) *fault{Config.words, Config.paths, Config.lists, Config.versions} {
		if f := check(c); f != nil {
			return f
		}
	}
	return nil
}

// words checks the settings that take one word of a few.
func (c Config) words() *fault {
	problem := []string{string(Fail), string(Warn), string(Auto)}
	for _, w := range []struct {
		key, value string
		words      []string
	}{
		{"accept-env", string(c.AcceptEnv), []string{string(EnvAlways), string(EnvPrivileged), string(EnvNever)}},
		{"on-missing-driver", string(c.OnMissingDriver), problem},
		{"mounts.layout", string(c.Mounts.Layout), []string{string(LayoutPrivate), string(LayoutDirect)}},
		{"mounts.proc", string(c.Mounts.Proc), []string{string(ProcParams), string(ProcGPUs), string(ProcOff)}},
		{"cgroups.mode", string(c.Cgroups.Mode), []string{string(CgroupAuto), string(CgroupOff)}},
		{"cgroups.access", string(c.Cgroups.Access), []string{string(AccessRW), string(AccessRWM)}},
		{"compat.mode", string(c.Compat.Mode), []string{string(CompatAuto), string(CompatOff), string(CompatForce)}},
		{"compat.on-mismatch", string(c.Compat.OnMismatch), problem},
		{"log.level", string(c.Log.Level), levels},
		{"log.format", string(c.Log.Format), formats},
	} {
		if !slices.Contains(w.words, w.value) {
			return &fault{w.key, w.value, either(w.words)}
		}
	}
	return nil
}

// paths checks the settings that are paths: absolute, and no directory of the
// container that is more than ours.
func (c Config) paths() *fault {
	const absolute = "an absolute path"
	for _, p := range []struct {
		key, value string
		optional   bool
	}{
		{"host-root", c.HostRoot, false},
		{"driver.root", c.Driver.Root, false},
		{"mounts.dir", c.Mounts.Dir, false},
		{"compat.host-dir", c.Compat.HostDir, true},
		{"log.file", c.Log.File, true},
	} {
		if p.value == "" && p.optional {
			continue
		}
		if !absolutePath(p.value) {
			return &fault{p.key, p.value, absolute}
		}
	}
	for _, dir := range c.Driver.LibraryDirs {
		if !absolutePath(dir) {
			return &fault{"driver.library-dirs", dir, absolute + " in each place"}
		}
	}
	for _, name := range c.Runtime.Runtimes {
		if !absolutePath(name) && (name == "" || strings.ContainsAny(name, "/\x00")) {
			return &fault{"runtime.runtimes", name, "a name without / or an absolute path in each place"}
		}
	}
	if dir := path.Clean(c.Mounts.Dir); strings.Count(dir, "/") < 2 || dir != c.Mounts.Dir {
		return &fault{"mounts.dir", c.Mounts.Dir, "a directory of its own, at least two levels deep and without . or .."}
	}
	if strings.ContainsFunc(c.Mounts.Dir, unicode.IsControl) {
		return &fault{"mounts.dir", c.Mounts.Dir, "a path without control characters"}
	}
	if systemDir(c.Mounts.Dir) {
		return &fault{"mounts.dir", c.Mounts.Dir, "a directory of its own, not one of the system"}
	}
	return nil
}

func absolutePath(p string) bool { return filepath.IsAbs(p) && !strings.ContainsRune(p, 0) }

// systemDirs are directories of a container that hold more than the driver's
// files (hier(7), file-hierarchy(7)): what is mounted on one hides the rest.
var systemDirs = [...]string{
	"/bin", "/boot", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt", "/opt", "/root", "/run", "/sbin", "/srv", "/tmp",
	"/usr", "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/libx32",
	"/usr/local", "/usr/local/bin", "/usr/local/etc", "/usr/local/include", "/usr/local/lib", "/usr/local/lib64", "/usr/local/sbin",
	"/usr/local/share", "/usr/sbin", "/usr/share", "/usr/src",
	"/var", "/var/cache", "/var/lib", "/var/lock", "/var/log", "/var/run", "/var/spool", "/var/tmp",
}

// systemTrees are directories below which nothing may be mounted over, either.
var systemTrees = [...]string{"/dev", "/etc", "/proc", "/sys"}

// systemDir reports whether a clean absolute path is a directory of the system.
func systemDir(dir string) bool {
	for _, top := range systemTrees {
		if dir == top || strings.HasPrefix(dir, top+"/") {
			return true
		}
	}
	return slices.Contains(systemDirs[:], dir) || multiarch(dir)
}

// multiarch reports a library directory of one architecture, as Debian has them
// ("/usr/lib/x86_64-linux-gnu").
func multiarch(dir string) bool {
	switch path.Dir(dir) {
	case "/lib", "/usr/lib", "/usr/local/lib":
		return strings.Contains(path.Base(dir), "-linux-")
	}
	return false
}

// lists checks the settings that are lists of names and patterns.
func (c Config) lists() *fault {
	for _, name := range c.SupportedDriverCapabilities {
		if name != "all" && !slices.Contains(capabilities[:], name) {
			return &fault{"supported-driver-capabilities", name, either(append(Capabilities(), "all"))}
		}
	}
	for _, l := range []struct {
		key  string
		list []string
	}{
		{"allow-devices", c.AllowDevices},
		{"mounts.include", c.Mounts.Include},
		{"mounts.exclude", c.Mounts.Exclude},
	} {
		for _, pattern := range l.list {
			if _, err := path.Match(pattern, ""); err != nil || strings.TrimSpace(pattern) == "" {
				return &fault{l.key, pattern, "a name or a shell pattern in each place"}
			}
		}
	}
	if strings.ContainsAny(c.SwarmResource, "=\x00") {
		return &fault{"swarm-resource", c.SwarmResource, "names of variables, separated by commas"}
	}
	return nil
}

// versions checks the CUDA version: MAJOR.MINOR.
func (c Config) versions() *fault {
	if c.Driver.CUDAVersion == "" {
		return nil
	}
	major, minor, ok := strings.Cut(c.Driver.CUDAVersion, ".")
	_, majorErr := strconv.ParseUint(major, 10, 8)
	_, minorErr := strconv.ParseUint(minor, 10, 8)
	if !ok || majorErr != nil || minorErr != nil {
		return &fault{"driver.cuda-version", c.Driver.CUDAVersion, `MAJOR.MINOR, such as "12.4"`}
	}
	return nil
}

// either joins words for a message: "a, b or c".
func either(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
