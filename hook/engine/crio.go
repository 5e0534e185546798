package engine

import (
	"path"
	"slices"
)

// Where CRI-O reads its configuration: the file, then the directory's files in
// the order of their names; a later one wins.
const (
	crioMain = "/etc/crio/crio.conf"
	crioFile = "/etc/crio/crio.conf.d/" + dropInName + ".conf"
)

const crioTodo = "restart CRI-O (running containers go on): systemctl restart crio"

// crioRoot keeps the state of the handler's containers apart from those of
// runc and crun, whose listings cannot read each other's.
const crioRoot = "/run/" + wrapperName

// crio gives CRI-O a runtime handler gpu, and a hook for every container.
func crio(h host, o Options) (*plan, error) {
	p := &plan{todo: []string{crioTodo}}
	files := append([]string{crioMain}, h.list(path.Dir(crioFile), "")...)
	dirs, err := hooksDirs(h, files, "crio", "runtime", "hooks_dir")
	if err != nil {
		return nil, err
	}
	if o.Remove {
		if err := p.takeHooks(h, o, dirs); err != nil {
			return nil, err
		}
		own, err := p.takeOwn(h, crioFile)
		if err != nil {
			return nil, err
		}
		named, _ := own.Get("crio", "runtime", "runtimes", handler, "runtime_path").(string)
		return p, p.takeWrapper(h, o, named)
	}
	table, later, err := crioRuntime(h, files)
	if err != nil {
		return nil, err
	}
	table["runtime_path"], table["runtime_type"], table["runtime_root"] = o.wrapper(), "oci", crioRoot
	var lines []string
	if o.SetDefault {
		lines = append(lines, header([]string{"crio", "runtime"}), "default_runtime = "+tomlString(handler))
		if later != "" {
			p.warn("default-overridden", "%s is read after %s and sets default_runtime, too: it wins", later, crioFile)
		}
	}
	if err := p.placeHooks(h, o, dirs); err != nil {
		return nil, err
	}
	if err := p.placeWrapper(h, o); err != nil {
		return nil, err
	}
	return p, p.placeOwn(h, crioFile, append(lines, tableLines([]string{"crio", "runtime", "runtimes", handler}, table)...))
}

// crioRuntime is the default runtime's settings (monitor, allowed annotations
// and so on), and the last file after ours that sets a default.
func crioRuntime(h host, files []string) (table map[string]any, later string, err error) {
	merged := map[string]any{}
	for _, name := range files {
		if name == crioFile {
			continue
		}
		doc, err := readTOML(h, name)
		if err != nil {
			return nil, "", err
		}
		runtime, _ := doc.Get("crio", "runtime").(map[string]any)
		merge(merged, map[string]any{"runtime": runtime})
		if runtime["default_runtime"] != nil && name > crioFile && name != crioMain {
			later = name
		}
	}
	runtime, _ := merged["runtime"].(map[string]any)
	name, _ := runtime["default_runtime"].(string)
	runtimes, _ := runtime["runtimes"].(map[string]any)
	table = map[string]any{}
	for _, candidate := range []string{name, "crun", "runc"} {
		found, ok := runtimes[candidate].(map[string]any)
		kind, _ := found["runtime_type"].(string)
		if !ok || slices.Contains([]string{"vm", "pod"}, kind) {
			continue
		}
		merge(table, found)
		// These belong to the binary that is not used any more.
		for _, key := range []string{"runtime_config_path", "container_min_memory", "platform_runtime_paths"} {
			delete(table, key)
		}
		return table, later, nil
	}
	return table, later, nil
}
