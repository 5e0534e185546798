package tomldoc

import (
	"bytes"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Doc is one parsed file. Tree is what it says.
type Doc struct {
	Tree map[string]any

	data  []byte
	exprs []expr
}

type kind int

const (
	comment kind = iota // a comment on a line of its own
	header              // [table]
	array               // [[table]]
	pair                // key = value
)

// expr is one line, or the lines of one value.
type expr struct {
	kind       kind
	key        []string // from the top of the file, whatever the header above
	text       string   // a comment's text; a pair's key as it is written
	start, end int      // whole lines, with the line end
	inArray    bool     // the header above is an [[array]]
}

// Parse reads a file. Its error is a [SyntaxError].
func Parse(data []byte) (*Doc, error) {
	d := &Doc{Tree: map[string]any{}, data: data}
	if err := toml.Unmarshal(data, &d.Tree); err != nil {
		return nil, decodeError(data, err)
	}
	p := unstable.Parser{KeepComments: true}
	p.Reset(data)
	var table []string
	inArray := false
	for p.NextExpression() {
		node := p.Expression()
		e := expr{inArray: inArray}
		switch node.Kind {
		case unstable.Comment:
			e.kind, e.text = comment, string(node.Data)
			e.start, e.end = d.lines(node.Raw, node.Raw)
		case unstable.KeyValue:
			first, last, key := keyOf(node)
			e.kind, e.key = pair, slices.Concat(table, key)
			e.text = string(data[first.Offset : last.Offset+last.Length])
			e.start, e.end = d.lines(node.Raw, node.Raw)
		case unstable.Table, unstable.ArrayTable:
			first, last, key := keyOf(node)
			table, e.key, e.kind = key, key, header
			inArray = node.Kind == unstable.ArrayTable
			if inArray {
				e.kind = array
			}
			e.inArray = inArray
			e.start, e.end = d.lines(first, last)
		default:
			continue
		}
		d.exprs = append(d.exprs, e)
	}
	if err := p.Error(); err != nil {
		return nil, decodeError(data, err)
	}
	return d, nil
}

// keyOf is where a key begins and ends, and its parts.
func keyOf(node *unstable.Node) (first, last unstable.Range, key []string) {
	for it := node.Key(); it.Next(); {
		if last = it.Node().Raw; key == nil {
			first = last
		}
		key = append(key, string(it.Node().Data))
	}
	return first, last, key
}

// lines is the whole lines from the start of a to the end of b.
func (d *Doc) lines(a, b unstable.Range) (start, end int) {
	start = bytes.LastIndexByte(d.data[:a.Offset], '\n') + 1
	end = int(b.Offset + b.Length)
	if at := bytes.IndexByte(d.data[end:], '\n'); at >= 0 {
		return start, end + at + 1
	}
	return start, len(d.data)
}

// Get is the value at a path of keys, nil where there is none.
func (d *Doc) Get(path ...string) any {
	var value any = d.Tree
	for _, key := range path {
		table, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = table[key]
	}
	return value
}

// Line is the line, counted from 1, of the first key or table at path or
// below it; 0 where there is none.
func (d *Doc) Line(path ...string) int {
	for _, e := range d.exprs {
		if e.kind != comment && len(e.key) >= len(path) && slices.Equal(e.key[:len(path)], path) {
			return d.lineAt(e.start)
		}
	}
	return 0
}

// HasHeader reports that [path] stands in the file as a table's header.
func (d *Doc) HasHeader(path ...string) bool { return d.find(header, path) >= 0 }

func (d *Doc) find(k kind, path []string) int {
	return slices.IndexFunc(d.exprs, func(e expr) bool {
		return e.kind == k && !e.inArray && slices.Equal(e.key, path)
	})
}

func (d *Doc) lineAt(offset int) int { return 1 + bytes.Count(d.data[:offset], []byte("\n")) }
