package rawjson

import (
	"bytes"
	"errors"
	"fmt"
)

// errBroken is a text whose brackets, quotes or separators do not fit.
var errBroken = errors.New("not JSON")

// span is a value's place in the text.
type span struct{ from, to int }

// member is one key with its value.
type member struct {
	key   []byte // without quotes, as it is written
	value span
}

// scanner walks over the text.
type scanner struct {
	text []byte
	pos  int
}

// peek is the next byte that is no white space, 0 at the end. It stays.
func (s *scanner) peek() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// value walks over one value of any kind. Nesting is counted, not recursed
// into: a deep text costs no stack. Inside brackets only brackets and quotes
// are looked at, which is most of the speed.
func (s *scanner) value() (span, error) {
	first := s.peek()
	from := s.pos
	switch first {
	case '"':
		_, err := s.quoted()
		return span{from, s.pos}, err
	case '{', '[':
	case 0, '}', ']', ',', ':':
		return span{}, s.broken()
	default:
		s.word()
		return span{from, s.pos}, nil
	}
	for depth := 0; s.pos < len(s.text); {
		switch s.text[s.pos] {
		case '"':
			if _, err := s.quoted(); err != nil {
				return span{}, err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.pos++
		if depth == 0 {
			return span{from, s.pos}, nil
		}
	}
	return span{}, s.broken()
}

// word walks over a number or a literal.
func (s *scanner) word() {
	for ; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r', ',', ':', ']', '}', '[', '{', '"':
			return
		}
	}
}

// quoted walks over a string and returns its inside.
func (s *scanner) quoted() ([]byte, error) {
	start := s.pos + 1
	for i := start; ; i++ {
		next := bytes.IndexByte(s.text[i:], '"')
		if next < 0 {
			return nil, s.broken()
		}
		i += next
		slashes := 0
		for i-slashes > start && s.text[i-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			s.pos = i + 1
			return s.text[start:i], nil
		}
	}
}

func (s *scanner) broken() error { return fmt.Errorf("%w at byte %d", errBroken, s.pos) }

// members lists what an object holds.
func members(text []byte, at span) ([]member, error) {
	var list []member
	err := walk(text, at, '{', '}', func(s *scanner) error {
		if s.peek() != '"' {
			return s.broken()
		}
		key, err := s.quoted()
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.broken()
		}
		s.pos++
		value, err := s.value()
		list = append(list, member{key, value})
		return err
	})
	return list, err
}

// elements lists what an array holds.
func elements(text []byte, at span) ([]span, error) {
	var list []span
	err := walk(text, at, '[', ']', func(s *scanner) error {
		value, err := s.value()
		list = append(list, value)
		return err
	})
	return list, err
}

// walk calls item for each part of an object or array.
func walk(text []byte, at span, open, closing byte, item func(*scanner) error) error {
	s := &scanner{text: text[:at.to], pos: at.from}
	if s.peek() != open {
		return &KindError{Want: open}
	}
	s.pos++
	if s.peek() == closing {
		return nil
	}
	for {
		if err := item(s); err != nil {
			return err
		}
		switch s.peek() {
		case closing:
			return nil
		case ',':
			s.pos++
		default:
			return s.broken()
		}
	}
}
