package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/gpu-hook/gpu-hook/hook/engine/jsondoc"
)

// ctrPaths are where containerd's own client is installed.
var ctrPaths = [...]string{"/usr/local/bin/ctr", "/usr/bin/ctr", "/bin/ctr", "/opt/bin/ctr", "/opt/containerd/bin/ctr"}

// ctrTime bounds the one program that configure starts; it takes 50 ms.
const ctrTime = 10 * time.Second

// hookPath is the PATH that the hook gets where engines let us say so.
const hookPath = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"

// writeBaseSpec plans a base specification with the hook: the handler's own
// where it has one, else what this very containerd would use, asked of ctr.
// There is none built in: the paths that it masks are security fixes of
// containerd's, and a copy in here would lag behind them.
func (p *plan) writeBaseSpec(h host, o Options, base, spec string) error {
	f, err := h.read(spec)
	if err != nil {
		return err
	}
	if f.exists && !bytes.Contains(f.data, []byte(ownName)) {
		return refused(spec, "is there already and not gpu-hook's", "move it away")
	}
	var data []byte
	if base != "" && base != spec {
		from, err := h.read(base)
		if err != nil {
			return err
		}
		if !from.exists {
			return refused(base, "does not exist, and the default runtime names it", "correct the default runtime first")
		}
		data = from.data
	} else {
		base = "ctr oci spec"
		if data, err = h.ctrSpec(context.Background()); err != nil {
			return err
		}
	}
	content, err := withHook(base, data, o.Binary)
	if err != nil {
		return err
	}
	p.write(f, content)
	p.todo = append(p.todo, "run this again after every update of containerd: the specification is the one of the version that is installed now")
	return nil
}

// ctrSpec asks containerd's client for the specification that containerd
// starts from.
func (h host) ctrSpec(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, ctrTime)
	defer cancel()
	for _, name := range ctrPaths {
		if h.checkBinary(name) != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, name, "oci", "spec")
		cmd.Env = []string{hookPath}
		cmd.Dir = "/"
		if h.dir() != "/" {
			cmd.Path, cmd.Err = name, nil
			cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: h.dir()}
		}
		data, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("run %s oci spec: %w", name, err)
		}
		return data, nil
	}
	return nil, &FileError{Path: "ctr", Reason: "there is no such program", Err: errors.New("no ctr"), Todo: "install containerd's client, or leave out --base-spec"}
}

// withHook adds the hook to a specification, in front of those that it has.
func withHook(name string, spec []byte, binary string) ([]byte, error) {
	doc, err := jsondoc.Parse(spec)
	if err != nil {
		return nil, unparsed(name, err)
	}
	if doc.Root() == nil {
		return nil, invalid(name, 0, "is empty", "correct the file first")
	}
	hooks := map[string]json.RawMessage{}
	if old := doc.Find("hooks"); old != nil {
		if err := json.Unmarshal([]byte(doc.Raw(old)), &hooks); err != nil {
			return nil, invalid(name, doc.LineOf(old), "hooks is not an object", "")
		}
	}
	var prestart []json.RawMessage
	if err := json.Unmarshal(hooks["prestart"], &prestart); err != nil && hooks["prestart"] != nil {
		return nil, invalid(name, doc.LineOf(doc.Find("hooks")), "hooks.prestart is not a list", "")
	}
	own, err := json.Marshal(hookEntry{Path: binary, Args: []string{ownName, "prestart"}, Env: []string{hookPath}})
	if err != nil {
		return nil, fmt.Errorf("write hook: %w", err)
	}
	if hooks["prestart"], err = json.Marshal(append([]json.RawMessage{own}, prestart...)); err != nil {
		return nil, fmt.Errorf("write hooks: %w", err)
	}
	all, err := json.Marshal(hooks)
	if err != nil {
		return nil, fmt.Errorf("write hooks: %w", err)
	}
	return doc.Set(jsondoc.Raw(all), "hooks"), nil
}
