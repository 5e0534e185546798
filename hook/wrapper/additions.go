package wrapper

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/rawjson"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

// target is what additions depend on beside the plan.
type target struct {
	spec     state.Spec
	hook     *specs.Hook
	binds    bool                       // the runtime will bind nodes, not make them
	present  func(hook.DeviceNode) bool // the host has this very node at this very path
	readOnly bool                       // the rootfs is on a read-only file system
}

// changes turns a plan into additions to config.json.
func (t target) changes(p hook.Plan) ([]rawjson.Change, error) {
	var e encoder
	nodes, rules, gids := t.nodes(p), t.rules(p), t.gids(p)
	linux := rawjson.Change{Key: "linux", Members: []rawjson.Change{
		{Key: "devices", Append: list(&e, nodes)},
		{Key: "resources", Members: []rawjson.Change{{Key: "devices", Append: list(&e, rules)}}},
	}}
	process := rawjson.Change{Key: "process", Members: []rawjson.Change{
		{Key: "user", Members: []rawjson.Change{{Key: "additionalGids", Append: list(&e, gids)}}},
		t.environment(&e, p),
	}}
	hooks := rawjson.Change{Key: "hooks"}
	if t.hook != nil {
		hooks.Members = []rawjson.Change{{Key: "createRuntime", Append: list(&e, []*specs.Hook{t.hook})}}
	}
	return []rawjson.Change{linux, process, hooks}, e.err
}

// nodes are those that the runtime can make. Where it makes none (a user
// namespace) it binds the host's node of the same path, and stops where there
// is none; in a /dev that is a user's volume it would make them on the host.
// Both are left to the hook.
func (t target) nodes(p hook.Plan) []specs.LinuxDevice {
	var out []specs.LinuxDevice
	for _, n := range p.DeviceNodes {
		bind := t.binds || n.Method == hook.MethodBind
		if n.Method == hook.MethodKept || bind && !t.present(n) || t.has(n.Path) {
			continue
		}
		mode, err := strconv.ParseUint(n.Mode, 8, 32)
		if err != nil {
			continue
		}
		permissions := os.FileMode(mode)
		out = append(out, specs.LinuxDevice{
			Path: n.Path, Type: n.Type, Major: int64(n.Major), Minor: int64(n.Minor),
			FileMode: &permissions, UID: &n.UID, GID: &n.GID,
		})
	}
	return out
}

// has reports that the container has a node of a path already. If it is another
// device the hook sees to it.
func (t target) has(path string) bool {
	return slices.ContainsFunc(t.spec.Linux.Devices, func(d state.Device) bool { return filepath.Clean(d.Path) == path })
}

func (t target) rules(p hook.Plan) []specs.LinuxDeviceCgroup {
	var out []specs.LinuxDeviceCgroup
	for _, r := range p.DeviceRules {
		if granted(t.spec.Linux.Resources.Devices, r) {
			continue
		}
		out = append(out, ociRule(r))
	}
	return out
}

// gids are the groups of nodes that not everybody may open. Group 0 is never
// added: it opens more than GPUs.
func (t target) gids(p hook.Plan) []uint32 {
	user := t.spec.Process.User
	var out []uint32
	for _, n := range p.DeviceNodes {
		mode, err := strconv.ParseUint(n.Mode, 8, 32)
		if err != nil || mode&0o006 == 0o006 || mode&0o060 != 0o060 || n.GID == 0 || n.GID == hook.OverflowID {
			continue
		}
		if n.GID != user.GID && !slices.Contains(user.AdditionalGids, n.GID) && !slices.Contains(out, n.GID) {
			out = append(out, n.GID)
		}
	}
	return out
}

// environment is needed in one case: neither loader cache nor links can be
// written where the rootfs is a read-only file system, so LD_LIBRARY_PATH is
// what leads to the libcuda that the compat decision chose. Our directory comes
// last: what the image puts first stays first.
func (t target) environment(e *encoder, p hook.Plan) rawjson.Change {
	const name = "LD_LIBRARY_PATH="
	c := rawjson.Change{Key: "env"}
	if !t.readOnly || p.Tree == "" {
		return c
	}
	dir := p.Tree + "/lib64"
	for i, entry := range slices.Backward(t.spec.Process.Env) {
		value, ok := strings.CutPrefix(entry, name)
		if !ok {
			continue
		}
		if value != "" && !slices.Contains(strings.Split(value, ":"), dir) {
			c.Replace = map[int]json.RawMessage{i: e.text(entry + ":" + dir)}
		} else if value == "" {
			c.Replace = map[int]json.RawMessage{i: e.text(name + dir)}
		}
		return c
	}
	c.Append = []json.RawMessage{e.text(name + dir)}
	return c
}

// encoder keeps the first error.
type encoder struct{ err error }

func (e *encoder) text(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil && e.err == nil {
		e.err = err
	}
	return text
}

func list[T any](e *encoder, values []T) []json.RawMessage {
	var out []json.RawMessage
	for _, v := range values {
		out = append(out, e.text(v))
	}
	return out
}
