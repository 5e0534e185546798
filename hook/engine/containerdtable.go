package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/gpu-hook/gpu-hook/hook/engine/tomldoc"
)

// defaultRuntime is the runtime that the handler gpu is to be like: the
// default one where runc's shim runs it, else runc. With containerd 1 only the
// target's own tables count; 2 merges all files.
func (s criFiles) defaultRuntime(target criFile) (name string, table map[string]any) {
	merged := s.merged(target)
	runtimes, _ := merged["runtimes"].(map[string]any)
	name, _ = merged["default_runtime_name"].(string)
	for _, candidate := range []string{name, kept(target), "runc"} {
		found, ok := runtimes[candidate].(map[string]any)
		if !ok || candidate == handler {
			continue
		}
		if kind, _ := found["runtime_type"].(string); kind == runcType || kind == "" || kind == "io.containerd.runc.v1" {
			if kind != "" {
				found["runtime_type"] = runcType
			}
			return candidate, found
		}
	}
	return "runc", nil
}

// merged is the plugin's containerd table as the target's reader sees it.
func (s criFiles) merged(target criFile) map[string]any {
	sources := criFiles{target}
	if target.version >= 3 {
		sources = s
	}
	merged := map[string]any{}
	for _, c := range sources {
		if tree, ok := c.doc.Get(c.keys()...).(map[string]any); ok {
			merge(merged, tree)
		}
	}
	return merged
}

// noRuntimes reports that no runtime but ours is configured. containerd has
// runc built in then, and forgets it as soon as a file names any runtime (seen
// in 1.6, 1.7 and 2.1): it has to be named beside ours.
func (s criFiles) noRuntimes(target criFile) bool {
	runtimes, _ := s.merged(target)["runtimes"].(map[string]any)
	delete(runtimes, handler)
	return len(runtimes) == 0
}

// kept is the default runtime that ours has replaced.
func kept(c criFile) string {
	if before, err := c.restored(); err == nil {
		return before.defaultName()
	}
	return ""
}

// merge puts from over to, tables key by key, into tables of its own.
func merge(to, from map[string]any) {
	for key, value := range from {
		table, ok := value.(map[string]any)
		if !ok {
			to[key] = value
			continue
		}
		mine, ok := to[key].(map[string]any)
		if !ok {
			mine = map[string]any{}
			to[key] = mine
		}
		merge(mine, table)
	}
}

// header is a table's header line.
func header(keys []string) string {
	parts := make([]string, len(keys))
	for i, key := range keys {
		parts[i] = tomlKey(key)
	}
	return "[" + strings.Join(parts, ".") + "]"
}

// tableLines are the lines of a table, its own keys first, then the tables in
// it, as containerd itself would print them.
func tableLines(keys []string, table map[string]any) []string {
	return indentedTable(keys, table, "")
}

func indentedTable(keys []string, table map[string]any, indent string) []string {
	lines := []string{indent + header(keys)}
	var tables []string
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if _, ok := table[key].(map[string]any); ok {
			tables = append(tables, key)
			continue
		}
		lines = append(lines, indent+"  "+tomlKey(key)+" = "+tomlValue(table[key]))
	}
	for _, key := range tables {
		inner, _ := table[key].(map[string]any)
		lines = append(lines, indentedTable(append(slices.Clone(keys), key), inner, indent+"  ")...)
	}
	return lines
}

func tomlKey(key string) string {
	bare := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if key != "" && strings.TrimFunc(key, bare) == "" {
		return key
	}
	return tomlString(key)
}

// tomlValue is a value on one line.
func tomlValue(value any) string {
	switch v := value.(type) {
	case string:
		return tomlString(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case []string:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = tomlString(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = tomlValue(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any: // in an array; tables of their own are lines of their own
		parts := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, tomlKey(key)+" = "+tomlValue(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		text, err := toml.Marshal(map[string]any{"v": v}) // numbers with a point, dates
		if err != nil {
			return `""`
		}
		return strings.TrimSpace(strings.TrimPrefix(string(text), "v = "))
	}
}

func tomlString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// same makes sure that a new content says nothing else but in our part.
func (c criFile) same(content []byte) error {
	after, err := tomldoc.Parse(content)
	if err != nil {
		return unparsed(c.file.path, err)
	}
	if a, b := c.foreign(c.doc), c.foreign(after); a != b {
		return invalid(c.file.path, c.doc.Line(c.keys("runtimes", handler)...),
			"keys of somebody else's stand among gpu-hook's lines, or would come to stand there", "move them above the line \"# gpu-hook begin\"")
	}
	return nil
}

// foreign is what a file says without our part, as comparable text.
func (c criFile) foreign(doc *tomldoc.Doc) string {
	tree := map[string]any{}
	merge(tree, doc.Tree)
	prune(tree, c.keys("runtimes", handler))
	runtimes, _ := lookup(tree, c.keys("runtimes")).(map[string]any)
	if runc, _ := runtimes["runc"].(map[string]any); len(runtimes) == 1 && len(runc) == 1 && runc["runtime_type"] == runcType {
		prune(tree, c.keys("runtimes", "runc")) // what is built in where there are no runtimes
	}
	prune(tree, c.keys("default_runtime_name"))
	if c.version > 1 && len(tree) == 1 && tree["version"] != nil {
		delete(tree, "version") // a file that we made
	}
	return fmt.Sprintf("%#v", tree)
}

func lookup(tree map[string]any, keys []string) any {
	return (&tomldoc.Doc{Tree: tree}).Get(keys...)
}

// prune removes a key, and the tables above it that are empty then.
func prune(tree map[string]any, keys []string) {
	if len(keys) == 1 {
		delete(tree, keys[0])
		return
	}
	inner, ok := tree[keys[0]].(map[string]any)
	if !ok {
		return
	}
	prune(inner, keys[1:])
	if len(inner) == 0 {
		delete(tree, keys[0])
	}
}
