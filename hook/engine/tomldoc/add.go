package tomldoc

import (
	"bytes"
	"slices"
	"strings"
)

// The comments that our lines stand between, and the one that keeps a line.
const (
	begin  = "# gpu-hook begin: configure --remove takes these lines out"
	joined = "# gpu-hook begin (the line above had no end): configure --remove takes these lines out"
	end    = "# gpu-hook end"
	was    = "# gpu-hook was: "
)

// newline is the file's own line end: that of its first line.
func (d *Doc) newline() string {
	if at := bytes.IndexByte(d.data, '\n'); at > 0 && d.data[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// Append gives the file with lines added at its end.
func (d *Doc) Append(lines []string) []byte {
	nl, first, text := d.newline(), begin, ""
	if len(d.data) > 0 && d.data[len(d.data)-1] != '\n' {
		first, text = joined, nl
	}
	text += strings.Join(slices.Concat([]string{first}, lines, []string{end}), nl) + nl
	return slices.Concat(d.data, []byte(text))
}

// Insert gives the file with lines added below the header [path], which must
// be there.
func (d *Doc) Insert(lines []string, path ...string) []byte {
	at := d.exprs[d.find(header, path)]
	nl, first, text := d.newline(), begin, ""
	if d.data[at.end-1] != '\n' {
		first, text = joined, nl
	}
	indent := d.indent(at.start)
	for _, line := range slices.Concat([]string{first}, lines, []string{end}) {
		text += indent + line + nl
	}
	return d.splice(at.end, at.end, text)
}

// Replace gives the file with another value for the key at path, and the old
// line kept in a comment above. ok is false where the key is not a line of its
// own.
func (d *Doc) Replace(value string, path ...string) (data []byte, ok bool) {
	i := d.find(pair, path)
	if i < 0 {
		return nil, false
	}
	e := d.exprs[i]
	line, eol := cutEnd(string(d.data[e.start:e.end]))
	if strings.Contains(line, "\n") {
		return nil, false
	}
	indent := d.indent(e.start)
	text := indent + was + strings.TrimPrefix(line, indent) + d.newline() + indent + e.text + " = " + value + eol
	return d.splice(e.start, e.end, text), true
}

func (d *Doc) indent(start int) string {
	rest := d.data[start:]
	return string(rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))])
}

func (d *Doc) splice(from, to int, text string) []byte {
	return slices.Concat(d.data[:from], []byte(text), d.data[to:])
}

// cutEnd splits a line from its line end.
func cutEnd(line string) (text, eol string) {
	text = strings.TrimSuffix(line, "\n")
	if text != line {
		text = strings.TrimSuffix(text, "\r")
	}
	return text, line[len(text):]
}
