package engine

import (
	"fmt"
	"path"
	"reflect"

	"github.com/gpu-hook/gpu-hook/hook/engine/tomldoc"
)

// Where containerd reads its configuration, and the name of a file of ours in
// a directory that it imports.
const (
	containerdFile = "/etc/containerd/config.toml"
	dropInName     = "99-gpu-hook"
)

const containerdTodo = "restart containerd (running containers go on): systemctl restart containerd"

// containerd gives containerd's CRI plugin a runtime handler gpu.
func containerd(h host, o Options) (*plan, error) {
	p := &plan{todo: []string{containerdTodo}}
	main := o.File
	if main == "" {
		main = containerdFile
	}
	set, err := readContainerd(h, main)
	if err != nil {
		return nil, err
	}
	spec := path.Join(path.Dir(main), "gpu-hook-base-spec.json")
	if o.Remove {
		return p, p.removeContainerd(h, o, set, spec)
	}
	target, err := set.target(h)
	if err != nil {
		return nil, err
	}
	p.warnings = append(p.warnings, set.warnings(target)...)
	target.alone = set.noRuntimes(target)
	want, err := p.runtimeTable(h, o, set, target, spec)
	if err != nil {
		return nil, err
	}
	content := target.data
	if !target.is(want, o.SetDefault) {
		before, err := target.restored()
		if err != nil {
			return nil, err
		}
		if content, err = before.edited(want, o.SetDefault || target.ours() && target.defaultName() == handler); err != nil {
			return nil, err
		}
	}
	p.edit(target.file, target.backup, content, target.ours(), false)
	if later := set.overriding(target); o.SetDefault && later != "" {
		p.warn("default-overridden", "%s is read after %s and sets default_runtime_name, too: it wins", later, target.file.path)
	}
	return p, nil
}

func (p *plan) removeContainerd(h host, o Options, set criFiles, spec string) error {
	named := ""
	for _, c := range append(set, set.dropIn(h)...) {
		if !c.exists || !c.ours() {
			continue
		}
		named, _ = c.doc.Get(c.keys("runtimes", handler, "options", "BinaryName")...).(string)
		before, err := c.restored()
		if err != nil {
			return err
		}
		p.edit(c.file, c.backup, before.content(), true, true)
	}
	f, err := h.read(spec)
	if err != nil {
		return err
	}
	if f.exists {
		p.write(f, nil)
	}
	return p.takeWrapper(h, o, named)
}

// runtimeTable is what the handler gpu is to be: the default runtime's
// settings with our binary, or with a specification that has the hook.
func (p *plan) runtimeTable(h host, o Options, set criFiles, target criFile, spec string) (map[string]any, error) {
	name, from := set.defaultRuntime(target)
	want := map[string]any{"runtime_type": runcType}
	options := map[string]any{}
	for key, value := range from {
		if key == "options" {
			if table, ok := value.(map[string]any); ok {
				for k, v := range table {
					options[k] = v
				}
			}
			continue
		}
		want[key] = value
	}
	for _, old := range []string{"runtime_engine", "runtime_root", "runtime_path"} { // of the first shim; not runc's v2 shim's
		delete(want, old)
	}
	if o.BaseSpec {
		base, _ := want["base_runtime_spec"].(string)
		if err := p.writeBaseSpec(h, o, base, spec); err != nil {
			return nil, err
		}
		want["base_runtime_spec"] = spec
	} else {
		if binary, ok := options["BinaryName"].(string); ok && binary != "" && binary != o.wrapper() {
			p.warn("other-binary", "runtime %s is started as %s; the handler gpu starts %s, which looks for runc and crun itself", name, binary, o.wrapper())
		}
		options["BinaryName"] = o.wrapper()
		if err := p.placeWrapper(h, o); err != nil {
			return nil, err
		}
	}
	if len(options) > 0 {
		want["options"] = options
	}
	return want, nil
}

// is reports that the file says already what it should.
func (c criFile) is(want map[string]any, setDefault bool) bool {
	return reflect.DeepEqual(c.doc.Get(c.keys("runtimes", handler)...), any(want)) && (c.defaultName() == handler || !setDefault)
}

// ours reports that the file has our handler, or what is left of it.
func (c criFile) ours() bool {
	runtime, _ := c.doc.Get(c.keys("runtimes", handler)...).(map[string]any)
	options, _ := runtime["options"].(map[string]any)
	binary, _ := options["BinaryName"].(string)
	spec, _ := runtime["base_runtime_spec"].(string)
	return path.Base(binary) == wrapperName || path.Base(spec) == "gpu-hook-base-spec.json"
}

func (c criFile) defaultName() string {
	name, _ := c.doc.Get(c.keys("default_runtime_name")...).(string)
	return name
}

// edited adds our part to a file that has none of it.
func (c criFile) edited(want map[string]any, setDefault bool) ([]byte, error) {
	if c.doc.Get(c.keys("runtimes", handler)...) != nil {
		return nil, &FileError{
			Path: c.file.path, Line: c.doc.Line(c.keys("runtimes", handler)...),
			Reason: "a runtime gpu that is not gpu-hook's is there already", Todo: "remove or rename that runtime",
		}
	}
	var lines []string
	if !c.exists || len(c.doc.Tree) == 0 && c.version > 1 {
		lines = append(lines, fmt.Sprintf("version = %d", c.version))
	}
	next := c
	if setDefault {
		switch key := c.keys("default_runtime_name"); {
		case c.doc.Get(key...) != nil:
			data, ok := c.doc.Replace(`"`+handler+`"`, key...)
			if !ok {
				return nil, c.unknownForm(key)
			}
			next.data = data
		case c.doc.HasHeader(c.keys()...):
			next.data = c.doc.Insert([]string{`default_runtime_name = "` + handler + `"`}, c.keys()...)
		default:
			lines = append(lines, header(c.keys()), `  default_runtime_name = "`+handler+`"`)
		}
		var err error
		if next.doc, err = tomldoc.Parse(next.data); err != nil {
			return nil, c.unknownForm(c.keys())
		}
	}
	if c.alone {
		lines = append(lines, tableLines(c.keys("runtimes", "runc"), map[string]any{"runtime_type": runcType})...)
	}
	content := next.doc.Append(append(lines, tableLines(c.keys("runtimes", handler), want)...))
	if _, err := tomldoc.Parse(content); err != nil {
		return nil, c.unknownForm(c.keys("runtimes"))
	}
	return content, c.same(content)
}

// unknownForm is a file whose tables are written so that nothing can be added
// to them from outside: inline.
func (c criFile) unknownForm(key []string) error {
	line := c.doc.Line(key...)
	for ; line == 0 && len(key) > 1; line = c.doc.Line(key...) {
		key = key[:len(key)-1]
	}
	return invalid(c.file.path, line, "this table is written in a form that cannot be added to", "write it with a [table] header")
}

// restored is the file without our part.
func (c criFile) restored() (criFile, error) {
	if !c.ours() {
		return c, nil
	}
	content, err := c.doc.Restore()
	if err != nil {
		return c, unparsed(c.file.path, err)
	}
	before, err := c.with(content)
	if err != nil {
		return c, err
	}
	if before.ours() { // another program wrote the file anew and left out the comments
		if before, err = before.with(before.doc.RemoveTable(before.keys("runtimes", handler)...)); err != nil {
			return c, err
		}
	}
	if before.defaultName() == handler {
		if before, err = before.withoutDefault(); err != nil {
			return c, err
		}
	}
	return before, c.same(before.data)
}

// withoutDefault puts back the default runtime of the copy, or containerd's
// own where there is none: never one that is gone.
func (c criFile) withoutDefault() (criFile, error) {
	key := c.keys("default_runtime_name")
	content := c.doc.RemoveKey(key...)
	if old, err := tomldoc.Parse(c.backup.data); err == nil && c.backup.exists {
		if name, ok := old.Get(key...).(string); ok && name != handler {
			if edited, ok := c.doc.Replace(tomlValue(name), key...); ok {
				doc, err := tomldoc.Parse(edited)
				if err != nil {
					return c, unparsed(c.file.path, err)
				}
				content = doc.DropKept(key...)
			}
		}
	}
	return c.with(content)
}

// content is what is to be written: nothing at all where the file was ours.
func (c criFile) content() []byte {
	if len(c.data) == 0 && !c.backup.exists {
		return nil
	}
	return c.data
}
