package engine

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// hooksDir is the only directory that Podman (4.3 to 5.8, root and rootless)
// and CRI-O read unless they are told otherwise. /etc/containers/oci/hooks.d
// is read only where hooks_dir names it, whatever the manual page says.
const hooksDir = "/usr/share/containers/oci/hooks.d"

// hooksFile is our file in such a directory. Podman and CRI-O share the
// directory, so they share the file, too: two would run the hook twice.
const hooksFile = "gpu-hook.json"

// usersVariable in the hook's environment says which engines were configured,
// so that the file goes with the last of them.
const usersVariable = "GPU_HOOK_CONFIGURED="

// hooksEntry is a file of version 1.0.0. One stage only: an engine runs the
// hook once for each, and Podman 5 and CRI-O move prestart to createRuntime.
type hooksEntry struct {
	Version string    `json:"version"`
	Hook    hookEntry `json:"hook"`
	When    struct {
		Always bool `json:"always"`
	} `json:"when"`
	Stages []string `json:"stages"`
}

type hookEntry struct {
	Path string   `json:"path"`
	Args []string `json:"args"`
	Env  []string `json:"env"`
}

// hooksText is our file for some engines. The environment is given because a
// hook without one inherits the monitor's.
func hooksText(binary string, users []string) ([]byte, error) {
	entry := hooksEntry{Version: "1.0.0", Stages: []string{"prestart"}}
	entry.When.Always = true
	entry.Hook = hookEntry{Path: binary, Args: []string{ownName, "prestart"}, Env: []string{hookPath, usersVariable + strings.Join(users, ",")}}
	text, err := json.MarshalIndent(entry, "", "  ")
	return append(text, '\n'), err
}

// placeHooks plans our file in the last of the directories that the engine
// reads, and looks for others that would run beside it.
func (p *plan) placeHooks(h host, o Options, dirs []string) error {
	name := path.Join(dirs[len(dirs)-1], hooksFile)
	f, err := h.read(name)
	if err != nil {
		return err
	}
	users := []string{o.Engine}
	if f.exists {
		entry, ok := parseHooks(f.data)
		if !ok || !ownProgram(entry.Hook.Path) {
			return refused(name, "is there already and not gpu-hook's", "move it away")
		}
		users = append(users, entry.users()...)
		slices.Sort(users)
		users = slices.Compact(users)
	}
	content, err := hooksText(o.Binary, users)
	if err != nil {
		return err
	}
	p.write(f, content)
	p.todo = append(p.todo, "checked: "+o.Engine+" reads "+path.Dir(name)+", and "+o.Binary+" is there and executable (it would skip the file without a word if not)")
	p.warnOthers(h, name, dirs)
	return nil
}

// takeHooks plans the end of our files, or of this engine's name in them.
func (p *plan) takeHooks(h host, o Options, dirs []string) error {
	for _, dir := range dirs {
		f, err := h.read(path.Join(dir, hooksFile))
		if err != nil {
			return err
		}
		entry, ok := parseHooks(f.data)
		if !f.exists || !ok || !ownProgram(entry.Hook.Path) {
			continue
		}
		users := slices.DeleteFunc(entry.users(), func(user string) bool { return user == o.Engine })
		var content []byte
		if len(users) > 0 {
			if content, err = hooksText(entry.Hook.Path, users); err != nil {
				return err
			}
		}
		p.write(f, content)
	}
	return nil
}

func (e hooksEntry) users() []string {
	for _, variable := range e.Hook.Env {
		if list, ok := strings.CutPrefix(variable, usersVariable); ok && list != "" {
			return strings.Split(list, ",")
		}
	}
	return nil
}

// parseHooks reads a file of version 1.0.0, or the path alone of one of 0.1.0,
// which Podman takes, too.
func parseHooks(data []byte) (hooksEntry, bool) {
	var entry hooksEntry
	if json.Unmarshal(data, &entry) == nil {
		return entry, true
	}
	var old struct {
		Hook string `json:"hook"`
	}
	if json.Unmarshal(data, &old) == nil {
		return hooksEntry{Hook: hookEntry{Path: old.Hook}}, true
	}
	return entry, false
}

// rivals are the programs that give a container GPUs.
var rivals = [...]string{ownName, wrapperName, hookName, "nvidia-container-toolkit"}

// warnOthers looks for a second file that would give containers GPUs, and for
// one that hides ours.
func (p *plan) warnOthers(h host, ours string, dirs []string) {
	for _, dir := range dirs {
		for _, name := range h.list(dir, ".json") {
			if name == ours {
				continue
			}
			f, err := h.read(name)
			if err != nil {
				continue
			}
			entry, ok := parseHooks(f.data)
			if ok && slices.Contains(rivals[:], path.Base(entry.Hook.Path)) {
				p.warn("second-hook", "%s makes the engine run %s as well: remove one of the two", name, entry.Hook.Path)
			}
		}
	}
}
