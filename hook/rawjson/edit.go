package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Change is what is done to one member of an object. Exactly one of Members,
// or Append and Replace, is used; a change that adds nothing is passed over.
type Change struct {
	Key     string
	Members []Change          // the member is an object
	Append  []json.RawMessage // the member is an array: elements for its end
	Replace map[int]json.RawMessage
}

func (c Change) empty() bool {
	return len(c.Append)+len(c.Replace) == 0 && !slices.ContainsFunc(c.Members, func(m Change) bool { return !m.empty() })
}

// Edit carries changes of the whole object out and returns a new text; the old
// one stays as it is. Members that are missing or null are made.
func Edit(text []byte, changes ...Change) ([]byte, error) {
	e := editor{text: text}
	if err := e.object("", span{0, len(text)}, changes); err != nil {
		return nil, err
	}
	return e.result(), nil
}

// Find returns the value at a path of keys, nil where there is none or a null on
// the way. A null at its end is found as such.
func Find(text []byte, keys ...string) (json.RawMessage, error) {
	at, path := span{0, len(text)}, ""
	for _, key := range keys {
		if string(text[at.from:at.to]) == "null" {
			return nil, nil
		}
		list, err := members(text, at)
		if err != nil {
			return nil, placed(err, path)
		}
		path = join(path, key)
		m, err := lookup(list, key, path)
		if m == nil || err != nil {
			return nil, err
		}
		at = m.value
	}
	return text[at.from:at.to], nil
}

// editor collects cuts of the old text and what takes their place.
type editor struct {
	text  []byte
	edits []edit
}

type edit struct {
	at  span
	new string
}

func (e *editor) object(path string, at span, changes []Change) error {
	list, err := members(e.text, at)
	if err != nil {
		return placed(err, path)
	}
	var fresh []string
	for _, c := range changes {
		if c.empty() {
			continue
		}
		m, err := lookup(list, c.Key, join(path, c.Key))
		switch {
		case err != nil:
			return err
		case m == nil:
			fresh = append(fresh, strconv.Quote(c.Key)+":"+c.render())
		case string(e.text[m.value.from:m.value.to]) == "null":
			e.edits = append(e.edits, edit{m.value, c.render()})
		case len(c.Members) > 0:
			err = e.object(join(path, c.Key), m.value, c.Members)
		default:
			err = e.array(join(path, c.Key), m.value, c)
		}
		if err != nil {
			return err
		}
	}
	var last span
	if len(list) > 0 {
		last = list[len(list)-1].value
	}
	e.insert(at, last, len(list) > 0, fresh)
	return nil
}

func (e *editor) array(path string, at span, c Change) error {
	list, err := elements(e.text, at)
	if err != nil {
		return placed(err, path)
	}
	for i, raw := range c.Replace {
		if i >= 0 && i < len(list) {
			e.edits = append(e.edits, edit{list[i], string(raw)})
		}
	}
	var last span
	if len(list) > 0 {
		last = list[len(list)-1]
	}
	e.insert(at, last, len(list) > 0, texts(c.Append))
	return nil
}

// insert puts parts behind the last one there is, or behind the bracket.
func (e *editor) insert(at, last span, behind bool, parts []string) {
	if len(parts) == 0 {
		return
	}
	text := strings.Join(parts, ",")
	if behind {
		e.edits = append(e.edits, edit{span{last.to, last.to}, "," + text})
		return
	}
	open := at.from + bytes.IndexAny(e.text[at.from:at.to], "{[") + 1
	e.edits = append(e.edits, edit{span{open, open}, text})
}

func (e *editor) result() []byte {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return a.at.from - b.at.from })
	size := len(e.text)
	for _, x := range e.edits {
		size += len(x.new)
	}
	out, from := make([]byte, 0, size), 0
	for _, x := range e.edits {
		out = append(out, e.text[from:x.at.from]...)
		out = append(out, x.new...)
		from = x.at.to
	}
	return append(out, e.text[from:]...)
}

// render writes a member that is made.
func (c Change) render() string {
	if len(c.Members) == 0 {
		return "[" + strings.Join(texts(c.Append), ",") + "]"
	}
	var parts []string
	for _, m := range c.Members {
		if !m.empty() {
			parts = append(parts, strconv.Quote(m.Key)+":"+m.render())
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func texts(list []json.RawMessage) []string {
	out := make([]string, len(list))
	for i, raw := range list {
		out[i] = string(raw)
	}
	return out
}

// lookup finds a key's only member, nil where there is none.
func lookup(list []member, key, path string) (*member, error) {
	var found *member
	for i := range list {
		name := list[i].key
		if bytes.IndexByte(name, '\\') >= 0 {
			name = unescaped(name)
		}
		if !strings.EqualFold(string(name), key) {
			continue
		}
		if found != nil || string(name) != key {
			return nil, &KeyError{Path: path}
		}
		found = &list[i]
	}
	return found, nil
}

func unescaped(inside []byte) []byte {
	var name string
	if json.Unmarshal(slices.Concat([]byte{'"'}, inside, []byte{'"'}), &name) != nil {
		return inside
	}
	return []byte(name)
}

// placed gives a [KindError] its path.
func placed(err error, path string) error {
	if kind := (*KindError)(nil); errors.As(err, &kind) && kind.Path == "" {
		kind.Path = path
	}
	return err
}
