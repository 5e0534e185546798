package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook/engine/tomldoc"
)

// runcType is the shim that knows BinaryName.
const runcType = "io.containerd.runc.v2"

// criPlugins are the names of the CRI plugin's runtime part by version of the
// file. Version 1 is read by containerd 1.x (2.x takes it and ignores its CRI
// tables), 2 by 1.3 and later, 3 by 2.0 and later, 4 by 2.3 and later, where
// only server settings moved.
var criPlugins = [...]string{1: "cri", 2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.runtime", 4: "io.containerd.cri.v1.runtime"}

// criFile is one file of containerd's configuration.
type criFile struct {
	file
	backup  file
	doc     *tomldoc.Doc
	version int
	alone   bool // no other runtime is configured
}

// criFiles are the main file and those that it imports, in the order in which
// containerd reads them.
type criFiles []criFile

// keys is the path of keys of something in the plugin's containerd table.
func (c criFile) keys(keys ...string) []string {
	return append([]string{"plugins", criPlugins[c.version], "containerd"}, keys...)
}

// hasPlugin reports that the file has settings of the CRI plugin.
func (c criFile) hasPlugin() bool { return c.doc.Get("plugins", criPlugins[c.version]) != nil }

func readContainerd(h host, main string) (criFiles, error) {
	var set criFiles
	seen := map[string]bool{}
	for pending := []string{main}; len(pending) > 0; pending = pending[1:] {
		if seen[pending[0]] {
			continue
		}
		seen[pending[0]] = true
		version := 2 // of a file that we make: everything since containerd 1.3 reads it
		if len(set) > 0 {
			version = set[0].version
		}
		c, err := readCRIFile(h, pending[0], version)
		if err != nil {
			return nil, err
		}
		set = append(set, c)
		pending = append(pending, c.imports(h)...)
	}
	return set, nil
}

// readCRIFile reads one file; version is that of a file that is not there.
func readCRIFile(h host, name string, version int) (criFile, error) {
	f, err := h.read(name)
	if err != nil {
		return criFile{}, err
	}
	backup, err := h.read(name + BackupSuffix)
	if err != nil {
		return criFile{}, err
	}
	c, err := criFile{file: f, backup: backup, version: version}.with(f.data)
	if err != nil || !f.exists {
		return c, err
	}
	return c.versioned()
}

// with is the file with another content.
func (c criFile) with(data []byte) (criFile, error) {
	doc, err := tomldoc.Parse(data)
	if err != nil {
		return c, unparsed(c.file.path, err)
	}
	c.data, c.doc = data, doc
	return c, nil
}

// versioned finds the version of a file that is there. No version means 1.
func (c criFile) versioned() (criFile, error) {
	switch version := c.doc.Get("version").(type) {
	case nil:
		if len(c.doc.Tree) == 0 {
			return c, nil // it says nothing, so it may become what we make of it
		}
		c.version = 1
		plugins, _ := c.doc.Get("plugins").(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(plugins)) {
			if strings.HasPrefix(name, "io.containerd.") {
				return c, invalid(c.file.path, c.doc.Line("plugins", name),
					fmt.Sprintf("a table %.200q, and no version line: containerd takes that for version 1 and ignores the table", name), `add "version = 2" at the top`)
			}
		}
	case int64:
		if version < 1 || version >= int64(len(criPlugins)) {
			return c, invalid(c.file.path, c.doc.Line("version"), fmt.Sprintf("version %d is not known (1 to %d are)", version, len(criPlugins)-1), "get a newer gpu-hook, or add the runtime by hand")
		}
		c.version = int(version)
	default:
		return c, invalid(c.file.path, c.doc.Line("version"), "version is not a number", "")
	}
	return c, nil
}

// imports lists the files that this one imports: relative to its directory,
// with * in the last part.
func (c criFile) imports(h host) []string {
	var names []string
	for _, pattern := range c.importPatterns() {
		if !strings.Contains(pattern, "*") {
			names = append(names, pattern)
			continue
		}
		for _, name := range h.list(path.Dir(pattern), "") {
			if ok, err := path.Match(path.Base(pattern), path.Base(name)); ok && err == nil {
				names = append(names, name)
			}
		}
	}
	return names
}

func (c criFile) importPatterns() []string {
	list, _ := c.doc.Get("imports").([]any)
	var patterns []string
	for _, entry := range list {
		if pattern, ok := entry.(string); ok {
			if !path.IsAbs(pattern) {
				pattern = path.Join(path.Dir(c.file.path), pattern)
			}
			patterns = append(patterns, path.Clean(pattern))
		}
	}
	return patterns
}

// dropIn is a file of ours in a directory that the main file imports; none
// where it imports no directory.
func (s criFiles) dropIn(h host) criFiles {
	for _, pattern := range s[0].importPatterns() {
		name := path.Join(path.Dir(pattern), dropInName+".toml")
		if ok, err := path.Match(path.Base(pattern), path.Base(name)); !ok || err != nil || !strings.Contains(pattern, "*") {
			continue
		}
		if slices.ContainsFunc(s, func(c criFile) bool { return c.file.path == name }) {
			return nil // it is among those that were read
		}
		if c, err := readCRIFile(h, name, s[0].version); err == nil {
			return criFiles{c}
		}
	}
	return nil
}

// target is the file that our part belongs into. containerd 2 merges imported
// files key by key (seen in 2.1): a file of our own in the imported directory.
// containerd 1 replaces the plugin's whole configuration by that of the last
// file that has any (seen in 1.6 and 1.7): that file.
func (s criFiles) target(h host) (criFile, error) {
	if own := slices.IndexFunc(s, criFile.ours); own >= 0 {
		return s[own], nil
	}
	if s[0].version >= 3 {
		if own := slices.IndexFunc(s, func(c criFile) bool { return path.Base(c.file.path) == dropInName+".toml" }); own >= 0 {
			return s[own], nil
		}
		if drop := s.dropIn(h); len(drop) > 0 {
			return drop[0], nil
		}
	}
	target := s[0]
	for _, c := range s[1:] {
		if c.exists && c.hasPlugin() {
			target = c
		}
	}
	if at := strings.Index(string(target.data[:min(len(target.data), 400)]), "DO NOT EDIT"); at >= 0 {
		return target, &FileError{
			Path: target.file.path, Line: 1 + strings.Count(string(target.data[:at]), "\n"),
			Reason: "the file is generated anew at every start",
			Todo:   "copy it to its template (k3s and RKE2: config.toml.tmpl or config-v3.toml.tmpl beside it) and name that with --file",
		}
	}
	return target, nil
}

// overriding is the last file that is read after target and sets the default
// runtime, "" where there is none.
func (s criFiles) overriding(target criFile) string {
	at := slices.IndexFunc(s, func(c criFile) bool {
		return c.file.path == target.file.path || path.Dir(c.file.path) == path.Dir(target.file.path) && c.file.path > target.file.path && target.file.path != s[0].file.path
	})
	if at < 0 {
		return ""
	}
	name := ""
	for _, c := range s[at:] {
		if c.file.path != target.file.path && c.defaultName() != "" {
			name = c.file.path
		}
	}
	return name
}

// warnings say what keeps the handler from being used.
func (s criFiles) warnings(target criFile) []Warning {
	var list []Warning
	for _, c := range s {
		disabled, _ := c.doc.Get("disabled_plugins").([]any)
		for _, name := range disabled {
			if name == "cri" || name == criPlugins[2] || name == criPlugins[3] {
				list = append(list, Warning{"cri-disabled", fmt.Sprintf("%s:%d disables the CRI plugin: Kubernetes cannot use this containerd, and the handler gpu serves nobody", c.file.path, c.doc.Line("disabled_plugins"))})
			}
		}
		for version, plugin := range criPlugins {
			if version > 1 && plugin != criPlugins[c.version] && c.doc.Get("plugins", plugin, "containerd") != nil {
				list = append(list, Warning{"wrong-plugin", fmt.Sprintf("%s:%d is a table of another version of the file; containerd ignores it", c.file.path, c.doc.Line("plugins", plugin, "containerd"))})
				break
			}
		}
	}
	if target.version == 1 && target.exists {
		list = append(list, Warning{"version-1", fmt.Sprintf("%s is of version 1: containerd 2.0 and later ignore its runtimes; let containerd config migrate rewrite it", target.file.path)})
	}
	return list
}
