package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// mark is the UTF-8 byte order mark. Docker since 23.0 reads past it.
const mark = "\xef\xbb\xbf"

// Doc is one parsed file.
type Doc struct {
	data []byte
	root *Node
}

// Node is one value and where it stands in the file.
type Node struct {
	start, end int      // the value's bytes
	object     bool     // it is an object, and members lists all of it
	members    []member // in the order of the file
}

type member struct {
	key   string
	start int // of the key's quote
	value *Node
}

// Parse reads a file. Its error is a [SyntaxError].
func Parse(data []byte) (*Doc, error) {
	body := bytes.TrimPrefix(data, []byte(mark))
	skipped := len(data) - len(body)
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		return &Doc{data: data}, nil
	}
	if err := check(body); err != nil {
		err.Line = lineAt(body, err.Line)
		return nil, err
	}
	s := scanner{data: data, at: skipped}
	root, err := s.value()
	if err != nil {
		return nil, err
	}
	if !root.object {
		return nil, &SyntaxError{Line: lineAt(data, root.start), Reason: "is not a JSON object"}
	}
	return &Doc{data: data, root: root}, nil
}

// check lets encoding/json judge the text; the error's Line is still a byte
// offset.
func check(body []byte) *SyntaxError {
	var syntax *json.SyntaxError
	err := json.Unmarshal(body, new(json.RawMessage))
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		at := max(int(syntax.Offset)-1, 0)
		if at < len(body) && (body[at] == '/' || body[at] == '#') {
			return &SyntaxError{Line: at, Reason: "comments are not JSON", Err: err}
		}
		return &SyntaxError{Line: at, Reason: err.Error(), Err: err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &SyntaxError{Line: len(body), Reason: "the file ends in the middle", Err: err}
	default:
		return &SyntaxError{Reason: err.Error(), Err: err}
	}
}

// scanner walks over text that encoding/json has accepted, to learn where
// things stand; encoding/json bounds the depth at 10000.
type scanner struct {
	data []byte
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.data) && bytes.IndexByte([]byte(" \t\r\n"), s.data[s.at]) >= 0 {
		s.at++
	}
}

func (s *scanner) value() (*Node, error) {
	s.space()
	n := &Node{start: s.at}
	var err error
	switch s.data[s.at] {
	case '{':
		n.object = true
		err = s.object(n)
	case '[':
		err = s.array()
	case '"':
		s.text()
	default:
		for s.at < len(s.data) && bytes.IndexByte([]byte(" \t\r\n,]}"), s.data[s.at]) < 0 {
			s.at++
		}
	}
	n.end = s.at
	return n, err
}

func (s *scanner) object(n *Node) error {
	seen := map[string]bool{}
	for s.at++; ; s.at++ { // past { or ,
		s.space()
		if s.data[s.at] == '}' {
			s.at++
			return nil
		}
		m := member{start: s.at}
		s.text()
		if err := json.Unmarshal(s.data[m.start:s.at], &m.key); err != nil {
			return &SyntaxError{Line: lineAt(s.data, m.start), Reason: err.Error(), Err: err}
		}
		if seen[m.key] {
			return &SyntaxError{Line: lineAt(s.data, m.start), Reason: fmt.Sprintf("key %.200q stands there twice", m.key)}
		}
		seen[m.key] = true
		s.space()
		s.at++ // the colon
		var err error
		if m.value, err = s.value(); err != nil {
			return err
		}
		n.members = append(n.members, m)
		s.space()
		if s.data[s.at] == '}' {
			s.at++
			return nil
		}
	}
}

func (s *scanner) array() error {
	for s.at++; ; s.at++ { // past [ or ,
		s.space()
		if s.data[s.at] == ']' {
			s.at++
			return nil
		}
		if _, err := s.value(); err != nil {
			return err
		}
		s.space()
		if s.data[s.at] == ']' {
			s.at++
			return nil
		}
	}
}

// text passes over a string.
func (s *scanner) text() {
	for s.at++; s.data[s.at] != '"'; s.at++ {
		if s.data[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
}
