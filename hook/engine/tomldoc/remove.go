package tomldoc

import (
	"slices"
	"strings"
)

// cut is a piece of the file that is replaced by text.
type cut struct {
	from, to int
	text     string
}

// Restore gives the file without what [Doc.Append] and [Doc.Insert] added and
// with the lines back that [Doc.Replace] changed. A begin without its end is a
// [SyntaxError]: what belongs to it cannot be known.
func (d *Doc) Restore() ([]byte, error) {
	var cuts []cut
	open := -1
	for i, e := range d.exprs {
		if e.kind != comment {
			continue
		}
		switch text := strings.TrimRight(e.text, " \t\r"); {
		case text == begin || text == joined:
			if open >= 0 {
				return nil, d.unclosed(open)
			}
			open = i
		case text == end && open >= 0:
			from := d.exprs[open].start
			if strings.HasPrefix(strings.TrimLeft(string(d.data[from:]), " \t"), joined) {
				from -= len(d.newlineBefore(from))
			}
			cuts = append(cuts, cut{from: from, to: e.end})
			open = -1
		case open < 0 && strings.HasPrefix(e.text, was):
			cuts = append(cuts, d.unreplace(i))
		}
	}
	if open >= 0 {
		return nil, d.unclosed(open)
	}
	return d.apply(cuts), nil
}

func (d *Doc) unclosed(i int) *SyntaxError {
	return &SyntaxError{Line: d.lineAt(d.exprs[i].start), Reason: "the line \"" + end + "\" that belongs to this one is missing"}
}

// unreplace puts the line of the comment at i in the place of the comment and
// of the pair below it. Where no pair follows, only the comment goes.
func (d *Doc) unreplace(i int) cut {
	e := d.exprs[i]
	if i+1 >= len(d.exprs) || d.exprs[i+1].kind != pair || d.exprs[i+1].start != e.end {
		return cut{from: e.start, to: e.end}
	}
	old := strings.TrimSuffix(strings.TrimPrefix(e.text, was), "\r")
	next := d.exprs[i+1]
	_, eol := cutEnd(string(d.data[next.start:next.end]))
	return cut{from: e.start, to: next.end, text: d.indent(e.start) + old + eol}
}

func (d *Doc) newlineBefore(at int) string {
	switch {
	case strings.HasSuffix(string(d.data[:at]), "\r\n"):
		return "\r\n"
	case strings.HasSuffix(string(d.data[:at]), "\n"):
		return "\n"
	default:
		return ""
	}
}

// RemoveTable gives the file without the lines of the table at path and of
// all tables below it.
func (d *Doc) RemoveTable(path ...string) []byte {
	var cuts []cut
	for _, e := range d.exprs {
		if e.kind != comment && len(e.key) >= len(path) && slices.Equal(e.key[:len(path)], path) {
			cuts = append(cuts, cut{from: e.start, to: e.end})
		}
	}
	return d.apply(cuts)
}

// RemoveKey gives the file without the line of the key at path.
func (d *Doc) RemoveKey(path ...string) []byte {
	i := d.find(pair, path)
	if i < 0 {
		return d.data
	}
	return d.apply([]cut{{from: d.exprs[i].start, to: d.exprs[i].end}})
}

// apply makes cuts, which are in the order of the file and do not overlap.
func (d *Doc) apply(cuts []cut) []byte {
	out := make([]byte, 0, len(d.data))
	at := 0
	for _, c := range cuts {
		out = append(out, d.data[at:c.from]...)
		out = append(out, c.text...)
		at = c.to
	}
	return append(out, d.data[at:]...)
}

// DropKept gives the file without the comment that keeps the old line of the
// key at path, for a line that somebody else's rewriting has left us to mend.
func (d *Doc) DropKept(path ...string) []byte {
	i := d.find(pair, path)
	if i < 1 || d.exprs[i-1].kind != comment || !strings.HasPrefix(d.exprs[i-1].text, was) {
		return d.data
	}
	return d.apply([]cut{{from: d.exprs[i-1].start, to: d.exprs[i-1].end}})
}
