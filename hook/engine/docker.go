package engine

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"

	"github.com/gpu-hook/gpu-hook/hook/engine/jsondoc"
)

// Where dockerd reads its configuration, and where the snap's does.
const (
	dockerFile = "/etc/docker/daemon.json"
	dockerSnap = "/var/snap/docker/current/config/daemon.json"
)

// docker gives dockerd a runtime and, for docker run --gpus, a hook.
func docker(h host, o Options) (*plan, error) {
	p := &plan{}
	name := o.File
	if name == "" {
		name = dockerFile
		if !h.exists(dockerFile) && h.exists(dockerSnap) {
			p.warn("snap", "Docker from the snap reads %s and not %s: name it with --file", dockerSnap, dockerFile)
		}
	}
	f, err := h.read(name)
	if err != nil {
		return nil, err
	}
	backup, err := h.read(name + BackupSuffix)
	if err != nil {
		return nil, err
	}
	d, err := parseDaemon(f)
	if err != nil {
		return nil, err
	}
	if o.Remove {
		return p, p.removeDocker(h, o, d, backup)
	}
	if err := p.placeWrapper(h, o); err != nil {
		return nil, err
	}
	linked, err := p.placeHookLink(h, o)
	if err != nil {
		return nil, err
	}
	content := f.data
	if !d.is(o.wrapper(), o.SetDefault) {
		before := d.restored(backup)
		if content, err = editDaemon(file{path: name, data: before, exists: before != nil}, o.wrapper(), o.SetDefault || d.ours() && d.isDefault()); err != nil {
			return nil, err
		}
	}
	p.edit(f, backup, content, d.ours(), false)
	p.todo = append(p.todo, dockerTodo(linked))
	return p, nil
}

func dockerTodo(linked bool) string {
	if linked {
		return "restart Docker, which looks for the hook of --gpus only at its start: systemctl restart docker"
	}
	return "let Docker read its file again: systemctl reload docker"
}

func (p *plan) removeDocker(h host, o Options, d daemon, backup file) error {
	if d.ours() {
		p.edit(d.file, backup, d.restored(backup), true, true)
	}
	links := len(p.changes)
	for _, dir := range dockerPath {
		l, err := h.lookLink(path.Join(dir, hookName))
		if err != nil {
			return err
		}
		p.takeAway(l)
	}
	linked := len(p.changes) > links
	if err := p.takeWrapper(h, o, d.wrapper()); err != nil {
		return err
	}
	p.todo = append(p.todo, dockerTodo(linked))
	return nil
}

// daemon is a parsed daemon.json.
type daemon struct {
	file
	doc *jsondoc.Doc
}

func parseDaemon(f file) (daemon, error) {
	doc, err := jsondoc.Parse(f.data)
	if err != nil {
		return daemon{}, unparsed(f.path, err)
	}
	d := daemon{file: f, doc: doc}
	if runtimes := doc.Find("runtimes"); runtimes != nil && !runtimes.IsObject() {
		return daemon{}, invalid(f.path, doc.LineOf(runtimes), "runtimes is not an object", "")
	}
	return d, nil
}

// wrapper is the path of our runtime, "" where it is not there.
func (d daemon) wrapper() string {
	text, _ := d.doc.Text(d.doc.Find("runtimes", handler, "path"))
	if path.Base(text) != wrapperName {
		return ""
	}
	return text
}

func (d daemon) ours() bool { return d.wrapper() != "" }

func (d daemon) isDefault() bool {
	text, _ := d.doc.Text(d.doc.Find("default-runtime"))
	return text == handler
}

// is reports that the file says already what it should. runtimeArgs would make
// dockerd start the wrapper through a shell script with everything unquoted.
func (d daemon) is(wrapper string, setDefault bool) bool {
	return d.wrapper() == wrapper && (d.isDefault() || !setDefault) && d.doc.Find("runtimes", handler).Len() == 1
}

// editDaemon adds our part to a file that has none of it.
func editDaemon(f file, wrapper string, setDefault bool) ([]byte, error) {
	d, err := parseDaemon(f)
	if err != nil {
		return nil, err
	}
	if other := d.doc.Find("runtimes", handler); other != nil {
		return nil, &FileError{
			Path: f.path, Line: d.doc.LineOf(other), Reason: "a runtime gpu that is not gpu-hook's is there already",
			Todo: "remove or rename that runtime",
		}
	}
	runtime := jsondoc.Object{{Key: "path", Value: wrapper}}
	var content []byte
	if d.doc.Find("runtimes") == nil {
		content = d.doc.Set(jsondoc.Object{{Key: handler, Value: runtime}}, "runtimes")
	} else {
		content = d.doc.Set(runtime, handler, "runtimes")
	}
	if setDefault {
		doc, err := jsondoc.Parse(content)
		if err != nil {
			return nil, unparsed(f.path, err)
		}
		content = doc.Set(handler, "default-runtime")
	}
	return content, sameDaemon(f.path, f.data, content)
}

// restored is the file as it was before us, nil for none: byte for byte the
// copy where nobody else has changed the file since, else the file without our
// part.
func (d daemon) restored(backup file) []byte {
	if !d.ours() {
		if !d.exists {
			return nil
		}
		return d.data
	}
	again, err := editDaemon(backup, d.wrapper(), d.isDefault())
	if err == nil && string(again) == string(d.data) {
		if !backup.exists {
			return nil
		}
		return backup.data
	}
	old, err := jsondoc.Parse(backup.data)
	if err != nil || !backup.exists {
		old = &jsondoc.Doc{}
	}
	content := step(d.data, func(doc *jsondoc.Doc) []byte { return doc.Remove(handler, "runtimes") })
	content = step(content, func(doc *jsondoc.Doc) []byte {
		if doc.Find("runtimes").Len() > 0 || old.Find("runtimes") != nil {
			return nil
		}
		return doc.Remove("runtimes")
	})
	if d.isDefault() {
		content = step(content, func(doc *jsondoc.Doc) []byte {
			if before := old.Find("default-runtime"); before != nil {
				return doc.Set(jsondoc.Raw(old.Raw(before)), "default-runtime")
			}
			return doc.Remove("default-runtime")
		})
	}
	if doc, err := jsondoc.Parse(content); err == nil && doc.Root().Len() == 0 && !backup.exists {
		return nil
	}
	return content
}

// step makes one edit of a text that parses; nil leaves it.
func step(content []byte, edit func(*jsondoc.Doc) []byte) []byte {
	doc, err := jsondoc.Parse(content)
	if err != nil {
		return content
	}
	if edited := edit(doc); edited != nil {
		return edited
	}
	return content
}

// sameDaemon makes sure that an edit changed nothing but our part.
func sameDaemon(name string, before, after []byte) error {
	a, aerr := foreign(before)
	b, berr := foreign(after)
	if aerr != nil || berr != nil || !reflect.DeepEqual(a, b) {
		return fmt.Errorf("[internal error] edit %s: the edit would change more than gpu-hook's part", name)
	}
	return nil
}

// foreign is what a file says without our part.
func foreign(data []byte) (map[string]any, error) {
	all := map[string]any{}
	doc, err := jsondoc.Parse(data)
	if err != nil || doc.Root() == nil {
		return all, err
	}
	if err := json.Unmarshal([]byte(doc.Raw(doc.Root())), &all); err != nil {
		return nil, err
	}
	if runtimes, ok := all["runtimes"].(map[string]any); ok {
		delete(runtimes, handler)
		if len(runtimes) == 0 {
			delete(all, "runtimes")
		}
	}
	delete(all, "default-runtime")
	return all, nil
}
