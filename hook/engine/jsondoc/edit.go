package jsondoc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Object is a value to be written, its members in order. A member's value is a
// string, an Object or [Raw] text.
type Object []Field

// Field is one member of an [Object].
type Field struct {
	Key   string
	Value any
}

// Raw is a value that is already JSON.
type Raw string

// Set gives the file with the member key of the object at path set to value,
// in the file's own indentation and line ends. A member that is there keeps
// its place. The object at path must exist; no path means the whole object.
func (d *Doc) Set(value any, key string, path ...string) []byte {
	if d.root == nil {
		text := d.style(0)
		return append(bytes.TrimRight(slices.Clone(d.data), " \t\r\n"), text.render(Object{{key, value}}, "")+text.newline...)
	}
	obj := d.Find(path...)
	if old := obj.member(key); old != nil {
		style := d.style(old.start)
		return d.splice(old.start, old.end, style.render(value, d.indentAt(old.start)))
	}
	if len(obj.members) == 0 {
		style := d.style(obj.start)
		outer := d.indentAt(obj.start)
		text := style.newline + outer + style.unit + style.member(key, value, outer+style.unit)
		if !bytes.Contains(d.data[obj.start:obj.end], []byte("\n")) {
			text += style.newline + outer
			return d.splice(obj.start+1, obj.end-1, text)
		}
		return d.splice(obj.start+1, obj.start+1, text)
	}
	last := obj.members[len(obj.members)-1]
	style := d.style(last.start)
	if !d.firstOnLine(last.start) {
		style.inline = true
		return d.splice(last.value.end, last.value.end, ", "+style.member(key, value, ""))
	}
	indent := d.indentAt(last.start)
	return d.splice(last.value.end, last.value.end, ","+style.newline+indent+style.member(key, value, indent))
}

// Remove gives the file without the member key of the object at path. It is
// the inverse of [Doc.Set] wherever that added the member, but for the inside
// of an object that was empty, which becomes {}.
func (d *Doc) Remove(key string, path ...string) []byte {
	obj := d.Find(path...)
	if obj == nil {
		return d.data
	}
	at := slices.IndexFunc(obj.members, func(m member) bool { return m.key == key })
	switch {
	case at < 0:
		return d.data
	case len(obj.members) == 1:
		return d.splice(obj.start+1, obj.end-1, "")
	case at == 0:
		return d.splice(obj.members[0].start, obj.members[1].start, "")
	default:
		return d.splice(obj.members[at-1].value.end, obj.members[at].value.end, "")
	}
}

func (d *Doc) splice(from, to int, text string) []byte {
	return slices.Concat(d.data[:from], []byte(text), d.data[to:])
}

// style is how the file is written.
type style struct {
	newline string
	unit    string // one step of indentation
	inline  bool   // everything on one line
}

// style looks at the file: its first line end, the indentation of its first
// member, and whether the value at offset stands in a file of one line.
func (d *Doc) style(offset int) style {
	s := style{newline: "\n", unit: "  "}
	if at := bytes.IndexByte(d.data, '\n'); at > 0 && d.data[at-1] == '\r' {
		s.newline = "\r\n"
	}
	if d.root.Len() > 0 {
		if first := d.root.members[0].start; d.firstOnLine(first) {
			if unit := d.indentAt(first); unit != "" {
				s.unit = unit
			}
		} else if offset > 0 {
			s.inline = true
		}
	}
	return s
}

// lineStart is where the line of offset begins.
func (d *Doc) lineStart(offset int) int { return bytes.LastIndexByte(d.data[:offset], '\n') + 1 }

// indentAt is the white space that the line of offset begins with.
func (d *Doc) indentAt(offset int) string {
	line := d.data[d.lineStart(offset):offset]
	line = bytes.TrimPrefix(line, []byte(mark))
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (d *Doc) firstOnLine(offset int) bool {
	start := d.lineStart(offset)
	return start > 0 && len(bytes.TrimLeft(d.data[start:offset], " \t")) == 0
}

func (s style) member(key string, value any, indent string) string {
	return quote(key) + ": " + s.render(value, indent)
}

// render writes a value that begins on a line of the given indentation.
func (s style) render(value any, indent string) string {
	switch v := value.(type) {
	case Object:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = s.member(f.Key, f.Value, indent+s.unit)
		}
		if s.inline {
			return "{" + strings.Join(parts, ", ") + "}"
		}
		inner := s.newline + indent + s.unit
		return "{" + inner + strings.Join(parts, ","+inner) + s.newline + indent + "}"
	case Raw:
		return string(v)
	case string:
		return quote(v)
	default:
		return "null"
	}
}

// quote writes a string as JSON and leaves <, > and & as they are.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
