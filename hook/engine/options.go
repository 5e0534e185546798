package engine

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// Options say what is to be configured. Paths are the host's, without Root.
type Options struct {
	Engine     string   // a name of [Engines], or "" with Import alone
	Root       string   // where the host's files are seen from here; "" = "/"
	Binary     string   // gpu-hook's own absolute path
	File       string   // the engine's configuration file; "" = its default place
	SetDefault bool     // make the runtime gpu the default one
	BaseSpec   bool     // containerd: a base specification with the hook, no wrapper
	HookLink   HookLink // docker: the link that serves docker run --gpus
	DryRun     bool     // change nothing
	Remove     bool     // undo
	Import     bool     // turn NVIDIA's configuration file into ours
}

// HookLink says whether docker run --gpus is to be served by gpu-hook.
type HookLink string

// The words for [Options.HookLink]; "" is HookLinkAuto.
const (
	HookLinkAuto   HookLink = "auto"   // unless NVIDIA's hook does already
	HookLinkAlways HookLink = "always" // also beside NVIDIA's hook
	HookLinkNever  HookLink = "never"
)

// Names that engines know us by.
const (
	handler     = "gpu"                           // the runtime's name in every engine
	wrapperName = "gpu-runtime"                   // gpu-hook started under this name is an OCI runtime
	hookName    = "nvidia-container-runtime-hook" // what dockerd looks for
	ownName     = "gpu-hook"
)

// builders are the engines, by name.
var builders = [...]struct {
	name  string
	build func(host, Options) (*plan, error)
}{
	{"containerd", containerd},
	{"crio", crio},
	{"docker", docker},
	{"podman", podman},
}

// Engines lists the names that [Options.Engine] takes.
func Engines() []string {
	names := make([]string, len(builders))
	for i, b := range builders {
		names[i] = b.name
	}
	return names
}

// UsageError is a combination of options that means nothing.
type UsageError struct{ text string }

// Error is the reason.
func (e *UsageError) Error() string { return e.text }

func (o Options) check() error {
	only := func(set bool, option string, engines ...string) error {
		if set && !slices.Contains(engines, o.Engine) {
			return &UsageError{fmt.Sprintf("%s is for %s", option, strings.Join(engines, " and "))}
		}
		return nil
	}
	switch {
	case o.Engine == "" && !o.Import, o.Engine != "" && !slices.Contains(Engines(), o.Engine):
		return &UsageError{fmt.Sprintf("unknown engine %.200q (%s)", o.Engine, strings.Join(Engines(), ", "))}
	case o.Import && o.Remove:
		return &UsageError{"--import-nvidia-config and --remove exclude each other"}
	case o.HookLink != "" && o.HookLink != HookLinkAuto && o.HookLink != HookLinkAlways && o.HookLink != HookLinkNever:
		return &UsageError{fmt.Sprintf("unknown word %.200q (auto, always or never)", string(o.HookLink))}
	case !o.Remove && o.Binary != "" && !ownProgram(o.Binary):
		return &UsageError{fmt.Sprintf("--binary %.200q: the program must be called %s or %s, or --remove would not know it", o.Binary, ownName, wrapperName)}
	case o.Root != "" && !path.IsAbs(o.Root):
		return &UsageError{"--root needs an absolute path"}
	case o.File != "" && !cleanPath(o.File):
		return &UsageError{"--file needs an absolute path without . and .."}
	}
	return errors.Join(
		only(o.SetDefault, "--set-default", "containerd", "crio", "docker"),
		only(o.BaseSpec, "--base-spec", "containerd"),
		only(o.HookLink != "", "--hook-link", "docker"),
		only(o.File != "", "--file", "containerd", "docker"),
	)
}

// cleanPath reports an absolute path that is spelt in one way only and can
// stand in any of the engines' files without a quotation mark going wrong.
func cleanPath(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' })
}

// ownProgram reports that a program is gpu-hook, by the names that it has.
func ownProgram(program string) bool {
	return path.Base(program) == ownName || path.Base(program) == wrapperName
}

// wrapper is the path that engines start as an OCI runtime.
func (o Options) wrapper() string {
	if path.Base(o.Binary) == wrapperName {
		return o.Binary
	}
	return path.Join(path.Dir(o.Binary), wrapperName)
}

// Configure carries out o, or only finds out what it would do.
func Configure(o Options) (Report, error) {
	if err := o.check(); err != nil {
		return Report{}, err
	}
	h := host{root: o.Root}
	p := &plan{}
	what := "configure " + o.Engine
	if o.Import {
		what = "import NVIDIA's configuration"
		if err := importConfig(h, p); err != nil {
			return Report{}, fault.New(fault.CodeOf(err), what, err)
		}
	}
	if o.Engine != "" {
		if err := addEngine(h, o, p); err != nil {
			return Report{}, fault.New(fault.CodeOf(err), what, err)
		}
	}
	r := Report{Changes: p.changes, Warnings: p.warnings, Todo: p.todo, DryRun: o.DryRun}
	if err := h.allow(p.changes); err != nil {
		return Report{}, fault.New(fault.CodeOf(err), what, err)
	}
	if o.DryRun {
		return r, nil
	}
	if err := h.apply(p.changes); err != nil {
		return Report{}, fault.New(fault.CodeOf(err), what, err)
	}
	return r, nil
}

func addEngine(h host, o Options, p *plan) error {
	if !o.Remove {
		if err := h.checkBinary(o.Binary); err != nil {
			return err
		}
	}
	for _, b := range builders {
		if b.name != o.Engine {
			continue
		}
		own, err := b.build(h, o)
		if err != nil {
			return err
		}
		p.changes = append(p.changes, own.changes...)
		p.warnings = append(p.warnings, own.warnings...)
		p.todo = append(p.todo, own.todo...)
	}
	return nil
}
