package engine

import (
	"path"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook/engine/tomldoc"
)

// podmanFile is ours alone: it gives Podman the runtime gpu.
const podmanFile = "/etc/containers/containers.conf.d/" + dropInName + ".conf"

// Where Podman reads containers.conf, in this order; a later file wins.
var podmanFiles = [...]string{"/usr/share/containers/containers.conf", "/etc/containers/containers.conf"}

const podmanTodo = "nothing needs a restart: Podman reads its files for every container"

// podman gives Podman a hook for every container, and a runtime for those who
// say --runtime gpu.
func podman(h host, o Options) (*plan, error) {
	p := &plan{todo: []string{podmanTodo}}
	dirs, err := hooksDirs(h, slices.Concat(podmanFiles[:], h.list(path.Dir(podmanFile), ".conf")), "engine", "hooks_dir")
	if err != nil {
		return nil, err
	}
	if o.Remove {
		if err := p.takeHooks(h, o, dirs); err != nil {
			return nil, err
		}
		own, err := p.takeOwn(h, podmanFile)
		if err != nil {
			return nil, err
		}
		named := ""
		if list, ok := own.Get("engine", "runtimes", handler).([]any); ok && len(list) == 1 {
			named, _ = list[0].(string)
		}
		return p, p.takeWrapper(h, o, named)
	}
	if err := p.placeHooks(h, o, dirs); err != nil {
		return nil, err
	}
	if err := p.placeWrapper(h, o); err != nil {
		return nil, err
	}
	return p, p.placeOwn(h, podmanFile, []string{"[engine.runtimes]", handler + " = " + tomlValue([]string{o.wrapper()})})
}

// hooksDirs is the directories that an engine reads: those of the last file
// that sets the key, or the default one.
func hooksDirs(h host, files []string, table ...string) ([]string, error) {
	dirs := []string{hooksDir}
	for _, name := range files {
		doc, err := readTOML(h, name)
		if err != nil {
			return nil, err
		}
		list, _ := doc.Get(table...).([]any)
		var found []string
		for _, entry := range list {
			if dir, ok := entry.(string); ok && path.IsAbs(dir) {
				found = append(found, path.Clean(dir))
			}
		}
		if len(found) > 0 {
			dirs = found
		}
	}
	return dirs, nil
}

// readTOML reads a file of an engine's that stays as it is.
func readTOML(h host, name string) (*tomldoc.Doc, error) {
	f, err := h.read(name)
	if err != nil {
		return nil, err
	}
	doc, err := tomldoc.Parse(f.data)
	if err != nil {
		return nil, unparsed(name, err)
	}
	return doc, nil
}

// ownMark begins a file that is ours alone.
const ownMark = "# Written by gpu-hook configure; --remove deletes this file.\n"

// placeOwn plans a file that is ours alone.
func (p *plan) placeOwn(h host, name string, lines []string) error {
	f, err := h.read(name)
	if err != nil {
		return err
	}
	if f.exists && !strings.HasPrefix(string(f.data), ownMark) {
		return refused(name, "is there already and not gpu-hook's", "move it away")
	}
	p.write(f, []byte(ownMark+strings.Join(lines, "\n")+"\n"))
	return nil
}

// takeOwn plans its end, and gives what it said.
func (p *plan) takeOwn(h host, name string) (*tomldoc.Doc, error) {
	f, err := h.read(name)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(string(f.data), ownMark) {
		return &tomldoc.Doc{}, nil
	}
	p.write(f, nil)
	doc, err := tomldoc.Parse(f.data)
	if err != nil { // it goes all the same
		return &tomldoc.Doc{}, nil //nolint:nilerr // what a file says that goes is of no use
	}
	return doc, nil
}
