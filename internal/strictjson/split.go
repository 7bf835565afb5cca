package strictjson

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseObject reads an object's own members; their values stay raw and share
// the memory of data, which must not change after it. The data must have passed
// Check as part of its message.
func ParseObject(data Value) (Object, error) {
	s, err := split(data, '{')
	if err != nil {
		return nil, err
	}
	o := make(Object, 0, 4) // as many as most have
	for s.more(len(o), '}') {
		name, ok := s.name()
		value := s.value()
		if !ok || value == nil {
			return nil, errShape
		}
		o = append(o, Member{Name: name, Value: value})
	}
	return o, s.err
}

// ParseArray reads an array's items; they stay raw and share the memory of data
// as in ParseObject. The data must have passed Check as part of its message.
func ParseArray(data Value) ([]Value, error) {
	s, err := split(data, '[')
	if err != nil {
		return nil, err
	}
	var items []Value
	for s.more(len(items), ']') {
		value := s.value()
		if value == nil {
			return nil, errShape
		}
		items = append(items, value)
	}
	return items, s.err
}

// Find returns what is under a path of names in objects within objects, nil
// if there is none. It shares the memory of data as in ParseObject, and costs
// less when a single member is wanted. The data must have passed Check as part
// of its message, so that a name is in an object once.
func Find(data Value, path ...string) Value {
	for _, name := range path {
		if Kind(data) != '{' {
			return nil
		}
		s := enter(data)
		data = s.find(name)
	}
	return data
}

// errShape is an error of data that has not passed Check.
var errShape = errors.New("not valid JSON")

// splitter takes an object or an array apart. What it is given has passed
// Check, so it only looks for where the values in it end, which is many times
// as fast as to decode them again at every level.
type splitter struct {
	data []byte
	at   int // of the next character that is no space
	err  error
}

// split steps into an object or array.
func split(data Value, open byte) (splitter, error) {
	if k := Kind(data); byte(k) != open {
		return splitter{}, fmt.Errorf("want %s, have %s", KindName(jsontext.Kind(open)), KindName(k))
	}
	return enter(data), nil
}

// enter steps over the opening character.
func enter(data Value) splitter {
	s := splitter{data: data}
	s.space()
	s.take(s.data[s.at])
	return s
}

// find returns the value of the member of that name.
func (s *splitter) find(name string) Value {
	for n := 0; s.more(n, '}'); n++ {
		raw := s.value()
		same := isQuoted(raw, name)
		if !same && bytes.IndexByte(raw, '\\') >= 0 {
			unquoted, ok := ParseString(raw)
			same = ok && unquoted == name
		}
		if !s.take(':') {
			return nil
		}
		value := s.value()
		if value == nil || same {
			return value
		}
	}
	return nil
}

// isQuoted reports whether raw is name in quotes, nothing in it escaped.
func isQuoted(raw []byte, name string) bool {
	return len(raw) == len(name)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == name
}

// more reports whether another member comes after the first n, and steps to it.
func (s *splitter) more(n int, end byte) bool {
	switch {
	case s.take(end):
		if s.at < len(s.data) {
			s.err = errShape
		}
		return false
	case n > 0 && !s.take(','):
		s.err = errShape
		return false
	}
	return true
}

// name returns the name of the next member and steps over its colon.
func (s *splitter) name() (string, bool) {
	raw := s.value()
	if n := len(raw); n > 2 {
		if name, ok := commonNames[string(raw[1:n-1])]; ok && raw[0] == '"' && raw[n-1] == '"' {
			return name, s.take(':')
		}
	}
	name, ok := ParseString(raw)
	return name, ok && s.take(':')
}

// commonNames are names that almost every message has, so that they need not be
// allocated for each. They have no meaning in this package.
var commonNames = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		"jsonrpc", "id", "method", "params", "sessionId", "toolCall", "toolCallId", "title", "kind", "rawInput",
		"locations", "content", "_meta", "options", "optionId", "name", "path", "line", "type", "text",
		"claudeCode", "toolName", "command", "description", "file_path", "offset", "limit", "status",
		"calls", "callId", "tool", "input",
	} {
		names[name] = name
	}
	return names
}()

// value returns the next value and steps over it; nil when there is none.
func (s *splitter) value() Value {
	start, depth := s.at, 0
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case '"':
			if !s.text() {
				return nil
			}
			if depth == 0 {
				return s.since(start)
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return s.since(start)
			}
			if depth--; depth == 0 {
				s.at++
				return s.since(start)
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.since(start)
			}
		}
		s.at++
	}
	return nil
}

func (s *splitter) since(start int) Value {
	if s.at == start {
		return nil
	}
	v := s.data[start:s.at:s.at]
	s.space()
	return v
}

// text steps over a string.
func (s *splitter) text() bool {
	s.at++
	for start := s.at; ; {
		n := bytes.IndexByte(s.data[s.at:], '"')
		if n < 0 {
			return false
		}
		quote := s.at + n
		s.at = quote + 1
		// The quote is escaped if the backslashes before it are odd in number.
		// There is no quote among them, so that none is looked at twice.
		first := quote
		for first > start && s.data[first-1] == '\\' {
			first--
		}
		if (quote-first)%2 == 0 {
			return true
		}
	}
}

// take steps over one character and the space after it.
func (s *splitter) take(c byte) bool {
	if s.at >= len(s.data) || s.data[s.at] != c {
		return false
	}
	s.at++
	s.space()
	return true
}

func (s *splitter) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// ParseString reads a string; false for every other kind of value.
func ParseString(data Value) (string, bool) {
	if s, ok := plainText(data); ok {
		return s, true
	}
	if Kind(data) != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(data))
	return string(s), err == nil
}

// plainText returns the text of a string of printable ASCII characters without
// escapes, which most are.
func plainText(data []byte) (string, bool) {
	if len(data) < 2 || data[0] != '"' || data[len(data)-1] != '"' {
		return "", false
	}
	data = data[1 : len(data)-1]
	for _, c := range data {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return "", false
		}
	}
	return string(data), true
}
