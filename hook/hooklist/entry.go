package hooklist

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook/rawjson"
)

// Entry is one hook of a container.
type Entry struct {
	Stage string   `json:"-"`
	Path  string   `json:"path"`
	Args  []string `json:"args"`
}

// Kind says what a hook does for GPUs.
type Kind int

// The kinds.
const (
	Other  Kind = iota // nothing that we know of
	Ours               // gpu-hook
	Legacy             // what Docker registers for --gpus: NVIDIA's hook, or ours under its name
	CDI                // NVIDIA's hook of a CDI specification: the engine has injected devices and files
)

// names are the base names by which hooks are known, of their path or of their
// first argument. nvidia-container-toolkit is what the hook was called until
// version 1.11 of NVIDIA's toolkit.
var names = [...]struct {
	name string
	kind Kind
}{
	{"gpu-hook", Ours},
	{"nvidia-container-runtime-hook", Legacy},
	{"nvidia-container-toolkit", Legacy},
	{"nvidia-cdi-hook", CDI},
	{"nvidia-ctk", CDI},
}

// stages in which a hook can give GPUs, in the order in which runtimes run them.
var stages = [...]string{"prestart", "createRuntime", "createContainer"}

// Read lists the hooks of a config.json that run before the container's own
// program, in the order in which they run.
func Read(config []byte) ([]Entry, error) {
	raw, err := rawjson.Find(config, "hooks")
	if raw == nil || err != nil {
		return nil, err
	}
	var all []Entry
	for _, stage := range stages {
		text, err := rawjson.Find(raw, stage)
		if err != nil {
			return nil, fmt.Errorf("read hooks: %w", err)
		}
		if text == nil {
			continue
		}
		var list []Entry
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("read hooks.%s: %w", stage, err)
		}
		for _, e := range list {
			e.Stage = stage
			all = append(all, e)
		}
	}
	return all, nil
}

// Kind is what the hook is by its names.
func (e Entry) Kind() Kind {
	called := []string{path.Base(e.Path)}
	if len(e.Args) > 0 {
		called = append(called, path.Base(e.Args[0]))
	}
	for _, known := range names {
		if slices.Contains(called, known.name) {
			return known.kind
		}
	}
	return Other
}

// Named are the devices that an entry of ours names with --device.
func (e Entry) Named() []string {
	if e.Kind() != Ours || len(e.Args) == 0 {
		return nil
	}
	var list []string
	for i := 1; i < len(e.Args); i++ {
		name, value, has := strings.Cut(e.Args[i], "=")
		if name != "--device" && name != "-device" {
			continue
		}
		if !has && i+1 < len(e.Args) {
			i++
			value = e.Args[i]
		}
		list = append(list, value)
	}
	return list
}

// Annotations reports that an entry of ours was told to read annotations.
func (e Entry) Annotations() bool {
	return e.Kind() == Ours && (slices.Contains(e.Args, "--annotations") || slices.Contains(e.Args, "-annotations"))
}
