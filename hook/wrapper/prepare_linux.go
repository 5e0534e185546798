package wrapper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/config"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/hooklist"
	"github.com/gpu-hook/gpu-hook/hook/rawjson"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

// prepared is what was done to a bundle, for the log.
type prepared struct {
	done     bool
	warnings []hook.Warning
}

// prepare adds what a container asks for to its config.json. Where there is
// no such file the runtime has the better words for it.
func (r Runner) prepare(ctx context.Context, c Call, cfg config.Config, cfgErr error) (prepared, error) {
	name, err := c.configPath()
	if err != nil {
		return prepared{}, fault.New(fault.State, "find the bundle", err)
	}
	text, err := state.ReadConfig(name)
	if errors.Is(err, fs.ErrNotExist) {
		return prepared{}, nil
	}
	if err != nil {
		return prepared{}, fault.New(fault.State, "read the bundle", err)
	}
	bundle, err := state.ParseBundle(name, bytes.Clone(text))
	if err != nil {
		return prepared{}, fault.New(fault.State, "read the bundle", err)
	}
	if sandbox(bundle.Spec.Annotations) {
		return prepared{}, nil
	}
	entries, err := hooklist.Read(text)
	if err != nil {
		return prepared{}, fault.New(fault.State, "read the bundle", err)
	}
	if injected(entries) {
		return prepared{}, nil
	}
	o := r.Hook
	there := slices.IndexFunc(entries, func(e hooklist.Entry) bool { return e.Kind() != hooklist.Other })
	// A hook that is there already reads annotations only if it is told to.
	o.Annotations = there < 0 || entries[there].Annotations()
	o.CalledForGPU = there >= 0 && entries[there].Kind() == hooklist.Legacy
	plan, err := hook.PlanDevices(ctx, o, cfg, cfgErr, bundle)
	out := prepared{warnings: plan.Warnings}
	if err != nil || plan.Action == hook.None {
		return out, err
	}
	t := target{spec: bundle.Spec, binds: bindsNodes(), present: hostHas, readOnly: readOnlyRoot(bundle)}
	if there < 0 {
		t.hook = r.entry(plan)
	}
	changed, err := edited(text, t, plan)
	if err != nil || changed == nil {
		return out, err
	}
	switch err := replace(name, changed); {
	case err == nil:
		out.done = true
	case t.hook == nil:
		// The hook is there and will do all of it, only later.
		out.warnings = append(out.warnings, hook.Warning{
			Code: "bundle-not-writable", Message: fmt.Sprintf("%.200q cannot be changed (%v); the hook that is in it adds the GPUs, which a crun update may take away", name, err),
		})
	default:
		return out, &fault.Error{
			Code: fault.State, What: "add the GPU hook to the bundle", Err: err,
			Cure: "make the bundle's directory writable, or register gpu-hook as a hook with the engine",
		}
	}
	return out, nil
}

// edited is the new text, nil where nothing is to be added.
func edited(text []byte, t target, plan hook.Plan) ([]byte, error) {
	changes, err := t.changes(plan)
	if err != nil {
		return nil, fault.New(fault.Other, "write the container's devices as JSON", err)
	}
	changed, err := rawjson.Edit(text, changes...)
	if err != nil {
		return nil, fault.New(fault.State, "edit the bundle's config.json", err)
	}
	if bytes.Equal(changed, text) {
		return nil, nil
	}
	return changed, nil
}

// configPath is the absolute path of the config.json that the runtime reads.
func (c Call) configPath() (string, error) {
	dir, err := filepath.Abs(c.Bundle)
	if err != nil {
		return "", err
	}
	switch {
	case c.Config == "":
		return filepath.Join(dir, state.ConfigName), nil
	case filepath.IsAbs(c.Config):
		return filepath.Clean(c.Config), nil
	default:
		return filepath.Join(dir, c.Config), nil // crun enters the bundle first
	}
}

// sandbox reports a pod's own container, which runs no program of the user's.
// Its annotations are those of containerd's CRI plugin and of CRI-O.
func sandbox(annotations map[string]string) bool {
	return annotations["io.kubernetes.cri.container-type"] == "sandbox" || annotations["io.kubernetes.cri-o.ContainerType"] == "sandbox"
}

// injected reports that the engine has injected CDI devices, ours or those of
// NVIDIA's specification: nodes and rules are in the file, and the hooks that
// belong to them do the rest.
func injected(entries []hooklist.Entry) bool {
	return slices.ContainsFunc(entries, func(e hooklist.Entry) bool {
		return e.Kind() == hooklist.CDI || len(e.Named()) > 0
	})
}

// entry is our hook, with the options that this process was started with. An
// explicit environment keeps the runtime's own away from it.
func (r Runner) entry(plan hook.Plan) *specs.Hook {
	args := append([]string{"gpu-hook"}, r.Hook.Arguments()...)
	args = append(args, "createRuntime")
	if hook.FromAnnotation(plan.Request) {
		args = append(args, "--annotations")
	}
	return &specs.Hook{Path: r.Self, Args: args, Env: []string{hook.Path}}
}

// readOnlyRoot reports that the rootfs is on a read-only file system, whatever
// root.readonly says.
func readOnlyRoot(b state.Bundle) bool {
	root, err := b.Rootfs()
	if err != nil {
		return false
	}
	var st unix.Statfs_t
	return unix.Statfs(root, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}

// bindsNodes reports that this process is in a user namespace, where a runtime
// binds the host's nodes instead of making them.
func bindsNodes() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !slices.Equal(strings.Fields(string(text)), []string{"0", "0", "4294967295"})
}

// hostHas reports that the node is on the host at the path that the container
// sees, where a runtime would take it from.
func hostHas(n hook.DeviceNode) bool {
	var st unix.Stat_t
	return unix.Lstat(n.Path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(n.Major, n.Minor)
}
