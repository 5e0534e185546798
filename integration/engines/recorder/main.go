// Command recorder stands between an engine and runc or crun: it notes how it
// was called, keeps a copy of each config.json that a container is made from,
// and becomes the runtime. Beside it lies recorder.json:
//
//	{"runtime": "/usr/sbin/runc", "dir": "/run/recorder", "strip": true}
//
// With strip it takes out of config.json what a cgroup v2 without the
// controllers cpu, memory, pids and io cannot carry out.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

type config struct {
	Runtime, Dir string
	Strip        bool
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		os.Exit(1)
	}
}

func run() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var c config
	if err := load(filepath.Join(filepath.Dir(self), "recorder.json"), &c); err != nil {
		return err
	}
	if err := c.note(os.Args[1:]); err != nil {
		return err
	}
	if c.Strip && slices.Contains(os.Args, "update") {
		if err := c.stripUpdate(); err != nil {
			return err
		}
	}
	return syscall.Exec(c.Runtime, append([]string{c.Runtime}, os.Args[1:]...), os.Environ())
}

// note appends the call to the file calls, and keeps a created container's
// configuration.
func (c config) note(args []string) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	line, err := json.Marshal(args)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(c.Dir, "calls"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	if !slices.Contains(args, "create") && !slices.Contains(args, "run") {
		return nil
	}
	file := filepath.Join(bundle(args), "config.json")
	var spec map[string]any
	if err := load(file, &spec); err != nil {
		return err
	}
	if c.Strip {
		strip(spec)
		if err := save(file, spec); err != nil {
			return err
		}
	}
	return save(filepath.Join(c.Dir, args[len(args)-1]+".json"), spec)
}

// bundle is the bundle's folder: named by an option or the current one.
func bundle(args []string) string {
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--bundle="); ok {
			return value
		}
		if (arg == "--bundle" || arg == "-b") && i+1 < len(args) {
			return args[i+1]
		}
	}
	return "."
}

// stripUpdate puts a stripped copy of the resources in the place of standard
// input.
func (c config) stripUpdate() error {
	var resources map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&resources); err != nil {
		return fmt.Errorf("read the resources: %w", err)
	}
	stripResources(resources)
	file := filepath.Join(c.Dir, "update")
	if err := save(file, resources); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return syscall.Dup3(int(f.Fd()), 0, 0)
}

func strip(spec map[string]any) {
	linux, _ := spec["linux"].(map[string]any)
	resources, _ := linux["resources"].(map[string]any)
	stripResources(resources)
}

func stripResources(resources map[string]any) {
	for _, key := range []string{"cpu", "memory", "pids", "unified", "blockIO"} {
		delete(resources, key)
	}
}

func load(file string, v any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

func save(file string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
