package jsondoc

import "encoding/json"

// Root is the whole object, nil for an empty file.
func (d *Doc) Root() *Node { return d.root }

// Find is the value at a path of keys below the whole object, nil where there
// is none.
func (d *Doc) Find(keys ...string) *Node {
	n := d.root
	for _, key := range keys {
		n = n.member(key)
	}
	return n
}

func (n *Node) member(key string) *Node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// IsObject reports that n is an object.
func (n *Node) IsObject() bool { return n != nil && n.object }

// Len is the number of n's members.
func (n *Node) Len() int {
	if n == nil {
		return 0
	}
	return len(n.members)
}

// LineOf is the line that n begins on, counted from 1.
func (d *Doc) LineOf(n *Node) int { return d.Line(n.start) }

// Raw is the text of a value, "" for nil.
func (d *Doc) Raw(n *Node) string {
	if n == nil {
		return ""
	}
	return string(d.data[n.start:n.end])
}

// Text is the value of a string; ok is false for nil and for anything else.
func (d *Doc) Text(n *Node) (text string, ok bool) {
	if n == nil || d.data[n.start] != '"' {
		return "", false
	}
	return text, json.Unmarshal(d.data[n.start:n.end], &text) == nil
}
