package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Runtime is an OCI runtime.
type Runtime struct {
	Name string // for the names of subtests: "runc", "runc-module", "crun"
	Path string
	Args []string // global options, before the command
}

// Runc returns the distribution's runc.
func Runc(t T) Runtime { t.Helper(); need.Runc(t); return installed(t, "runc") }

// Crun returns the distribution's crun.
func Crun(t T) Runtime { t.Helper(); need.Crun(t); return installed(t, "crun") }

func installed(t T, name string) Runtime {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return Runtime{Name: name, Path: path}
}

// RuncModule builds the runc whose version stands in go.mod. It has no seccomp
// filters, which need a C library that not every machine has.
func RuncModule(t T) Runtime {
	t.Helper()
	need.RuncModule(t)
	version := moduleVersion(t, "github.com/opencontainers/runc")
	dir := Once(t, "runc/"+version, func(dir string) {
		env := []string{"GOBIN=" + dir, "CGO_ENABLED=1", "GOFLAGS=", "GOWORK=off"}
		if _, err := try(dir, env, "go", "install", "github.com/opencontainers/runc@"+version); err != nil {
			need.Lacks(t, "runc-module", err.Error())
		}
	})
	return Runtime{Name: "runc-module", Path: filepath.Join(dir, "runc")}
}

// moduleVersion looks a dependency up in go.mod.
func moduleVersion(t T, module string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Source(t), "go.mod"))
	if err != nil {
		t.Fatalf("%v", err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module {
			return fields[1]
		}
	}
	t.Fatalf("find %s in go.mod: no such dependency", module)
	return ""
}

// Source returns the root of the source tree: the nearest folder upwards with
// this project's go.mod.
func Source(t T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("%v", err)
	}
	for d := dir; d != "/"; d = filepath.Dir(d) {
		text, err := os.ReadFile(filepath.Join(d, "go.mod"))
		if err == nil && strings.Contains(string(text), "module github.com/gpu-hook/gpu-hook\n") {
			return d
		}
	}
	t.Fatalf("find the source tree above %s: no go.mod of ours", dir)
	return ""
}

// BinaryVar names a gpu-hook that is built already.
const BinaryVar = "GPUHOOK_BINARY"

// Hook returns the gpu-hook program: the one that GPUHOOK_BINARY names, or one
// built from the source tree as a release is built.
func Hook(t T) string {
	t.Helper()
	if path := os.Getenv(BinaryVar); path != "" {
		return path
	}
	path := filepath.Join(Temp(t), "gpu-hook")
	BuildHook(t, path)
	return path
}

// BuildHook builds gpu-hook to a path, static and stripped.
func BuildHook(t T, path string) {
	t.Helper()
	Build(t, path, "./cmd/gpu-hook")
}

// Build builds one of the tree's programs, static and stripped.
func Build(t T, path, pkg string) {
	t.Helper()
	command(t, Source(t), []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath",
		"-ldflags", "-s -w -X main.version=test", "-o", path, pkg)
}
