package engine

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

// nvidiaFile is the configuration of NVIDIA's container toolkit.
const nvidiaFile = "/etc/nvidia-container-runtime/config.toml"

// imported is what became of NVIDIA's settings.
type imported struct {
	settings map[string]string // our key, with its table, to its TOML value
	unneeded []string          // "key: why"
	leftOut  []string          // "key = value: why"
}

// importConfig plans our configuration file from NVIDIA's.
func importConfig(h host, p *plan) error {
	doc, err := readTOML(h, nvidiaFile)
	if err != nil {
		return err
	}
	if !h.exists(nvidiaFile) {
		return refused(nvidiaFile, "does not exist", "leave out --import-nvidia-config: the defaults hold without a file")
	}
	text, leftOut := convert(doc.Tree)
	if _, err := config.Parse(config.DefaultPath, text); err != nil {
		return fmt.Errorf("[internal error] import %s: %w", nvidiaFile, err)
	}
	f, err := h.read(config.DefaultPath)
	if err != nil {
		return err
	}
	if f.exists && string(f.data) != string(text) {
		return refused(config.DefaultPath, "is there already", "move it away, import, and put the two together")
	}
	p.write(f, text)
	for _, line := range leftOut {
		p.warn("not-carried-over", "%s: %s", nvidiaFile, line)
	}
	return nil
}

// convert turns NVIDIA's settings into the text of our file. Every key is in
// it: as a setting, or in a comment that says why not.
func convert(tree map[string]any) (text []byte, leftOut []string) {
	in := &imported{settings: map[string]string{}}
	in.walk("", tree)
	var b strings.Builder
	fmt.Fprintf(&b, "# Made from %s by gpu-hook configure --import-nvidia-config.\n", nvidiaFile)
	for _, part := range []struct {
		title string
		lines []string
	}{{"Not carried over:", in.leftOut}, {"Not needed here:", in.unneeded}} {
		if len(part.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "#\n# %s\n", part.title)
		for _, line := range part.lines {
			fmt.Fprintf(&b, "#   %s\n", line)
		}
	}
	table := ""
	keys := slices.SortedFunc(maps.Keys(in.settings), func(a, b string) int {
		return strings.Compare(path.Dir(a)+"/"+a, path.Dir(b)+"/"+b)
	})
	b.WriteByte('\n')
	for _, key := range keys {
		if dir := path.Dir(key); dir != "." && dir != table {
			table = dir
			fmt.Fprintf(&b, "\n[%s]\n", table)
		}
		fmt.Fprintf(&b, "%s = %s\n", path.Base(key), in.settings[key])
	}
	return []byte(b.String()), in.leftOut
}

// walk looks at every key of a table, in order.
func (in *imported) walk(prefix string, table map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		name := key
		if prefix != "" {
			name = prefix + "." + key
		}
		if inner, ok := table[key].(map[string]any); ok {
			in.walk(name, inner)
			continue
		}
		in.key(name, table[key])
	}
}

func (in *imported) key(name string, value any) {
	for _, rule := range nvidiaKeys() {
		if rule.key != name {
			continue
		}
		switch {
		case rule.carry != nil:
			if why := rule.carry(in, value); why != "" {
				in.leave(name, value, why)
			}
		case rule.plain == nil || reflect.DeepEqual(value, rule.plain):
			in.unneeded = append(in.unneeded, name+": "+rule.why)
		default:
			in.leave(name, value, rule.why)
		}
		return
	}
	in.leave(name, value, "gpu-hook does not know this key")
}

func (in *imported) leave(name string, value any, why string) {
	in.leftOut = append(in.leftOut, oneLine(name)+" = "+tomlValue(value)+": "+why)
}

// oneLine keeps a key of somebody else's from ending our comment.
func oneLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return tomlString(name)
	}
	return name
}

// set notes a setting of ours.
func (in *imported) set(key, value string) string {
	in.settings[key] = value
	return ""
}
