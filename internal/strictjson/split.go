package strictjson

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseObject returns the members of an object with raw values, which share the memory
// of data: it must not be changed afterwards. The message that contains data must have
// passed Check.
//
// It is short enough to be inlined, so that the members are on the stack of a caller that
// does not keep them.
func ParseObject(data Value) (Object, error) { return AppendObject(make(Object, 0, 8), data) }

// AppendObject is ParseObject with memory for the members.
func AppendObject(o Object, data Value) (Object, error) {
	s, err := split(data, '{')
	if err != nil {
		return nil, err
	}
	for n := 0; s.more(n, '}'); n++ {
		name, ok := s.name()
		value := s.value()
		if !ok || value == nil {
			return nil, errShape
		}
		o = append(o, Member{Name: name, Value: value})
	}
	return o, s.err
}

// ParseArray returns the elements of an array as raw values, which share the memory of
// data: it must not be changed afterwards. The message that contains data must have
// passed Check. It is inlined as ParseObject is.
func ParseArray(data Value) ([]Value, error) { return AppendArray(make([]Value, 0, 4), data) }

// AppendArray is ParseArray with memory for the elements.
func AppendArray(items []Value, data Value) ([]Value, error) {
	s, err := split(data, '[')
	if err != nil {
		return nil, err
	}
	for n := 0; s.more(n, ']'); n++ {
		value := s.value()
		if value == nil {
			return nil, errShape
		}
		items = append(items, value)
	}
	return items, s.err
}

// Each calls use with each member of an object, or with each element of an array and the name
// "", until use returns false; for other values never. The values share the memory of data,
// which must have passed Check.
func Each(data Value, use func(name string, value Value) bool) error {
	k := Kind(data)
	if k != '{' && k != '[' {
		return nil
	}
	s := enter(data)
	for n := 0; s.more(n, byte(k)+2); n++ { // } and ] are two after { and [
		name, ok := "", true
		if k == '{' {
			name, ok = s.name()
		}
		value := s.value()
		if !ok || value == nil {
			return errShape
		}
		if !use(name, value) {
			return nil
		}
	}
	return s.err
}

// Find returns the value at a path of names, nil if there is none. It shares the memory
// of data like ParseObject, and is cheaper if only one member is needed. The message
// that contains data must have passed Check, so that names are unique.
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

// First returns the value that data begins with, nil if there is none. It shares the memory of
// data, which must have passed Check up to the end of that value.
func First(data Value) Value {
	s := splitter{data: data}
	return s.value()
}

// errShape is the error for data that has not passed Check.
var errShape = errors.New("not valid JSON")

// splitter splits an object or array that has passed Check. It only searches for the
// ends of the values, which is many times faster than decoding them again at each level.
type splitter struct {
	data []byte
	at   int // of the next character that is not white space
	err  error
}

// split returns a splitter for an object or array, at its first element.
func split(data Value, open byte) (splitter, error) {
	if k := Kind(data); byte(k) != open {
		return splitter{}, fmt.Errorf("want %s, have %s", KindName(jsontext.Kind(open)), KindName(k))
	}
	return enter(data), nil
}

// enter skips the opening character.
func enter(data Value) splitter {
	s := splitter{data: data}
	s.space()
	s.skipByte(s.data[s.at])
	return s
}

// find returns the value of the member with that name, nil if there is none.
func (s *splitter) find(name string) Value {
	for n := 0; s.more(n, '}'); n++ {
		raw := s.value()
		same := isQuoted(raw, name)
		if !same && bytes.IndexByte(raw, '\\') >= 0 {
			unquoted, ok := ParseString(raw)
			same = ok && unquoted == name
		}
		if !s.skipByte(':') {
			return nil
		}
		value := s.value()
		if value == nil || same {
			return value
		}
	}
	return nil
}

// isQuoted reports whether raw is name as a string without escapes.
func isQuoted(raw []byte, name string) bool {
	return len(raw) == len(name)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == name
}

// more reports whether there is another element after the first n, and moves to it.
func (s *splitter) more(n int, end byte) bool {
	switch {
	case s.skipByte(end):
		if s.at < len(s.data) {
			s.err = errShape
		}
		return false
	case n > 0 && !s.skipByte(','):
		s.err = errShape
		return false
	}
	return true
}

// name returns the next member's name and moves to its value.
func (s *splitter) name() (string, bool) {
	raw := s.value()
	if n := len(raw); n > 2 {
		if name, ok := commonTexts[string(raw[1:n-1])]; ok && raw[0] == '"' && raw[n-1] == '"' {
			return name, s.skipByte(':')
		}
	}
	name, ok := ParseString(raw)
	return name, ok && s.skipByte(':')
}

// commonTexts are names that most messages have, and words that are their values. Sharing
// them saves allocations; they have no meaning in this package.
var commonTexts = func() map[string]string {
	texts := map[string]string{}
	for _, text := range []string{
		"jsonrpc", "id", "method", "params", "sessionId", "toolCall", "toolCallId", "title", "kind", "rawInput",
		"locations", "content", "_meta", "options", "optionId", "name", "path", "line", "type", "text",
		"claudeCode", "toolName", "command", "description", "file_path", "offset", "limit", "status",
		"calls", "callId", "tool", "input", "cwd", "agent", "client", "version", "session", "args",
		"tools", "turn", "events", "event", "turn_start", "turn_stop", "stopReason", "tool_use",
		"toolset", "endpoint", "inputSchema", "operation", "arguments", "call_id", "group_id", "thread_ancestors", "tool_id",
		"2.0", "session/request_permission", "session/update", "permd/session", "permd/decide", "permd/choose",
		"aap/permissions", "rap/invoke", "otc/call",
		"allow", "allow_once", "allow_always", "reject", "reject_once", "reject_always", "Allow", "Reject", "Always Allow",
		"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other", "diff",
		"pending", "in_progress", "completed", "failed", "tool_call", "tool_call_update",
		"Bash", "Read", "Edit", "Write", "Glob", "Grep", "WebFetch",
	} {
		texts[text] = text
	}
	return texts
}()

// maxCommonText is the size of the longest of them, in bytes.
const maxCommonText = 26

// value returns the next value and moves past it, nil if there is none.
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

// text moves past a string.
func (s *splitter) text() bool {
	s.at++
	for start := s.at; ; {
		n := bytes.IndexByte(s.data[s.at:], '"')
		if n < 0 {
			return false
		}
		quote := s.at + n
		s.at = quote + 1
		// A quote is escaped if an odd number of backslashes is before it. The search for
		// backslashes never passes another quote, so no byte is read twice.
		first := quote
		for first > start && s.data[first-1] == '\\' {
			first--
		}
		if (quote-first)%2 == 0 {
			return true
		}
	}
}

// skipByte moves past one byte and the white space after it.
func (s *splitter) skipByte(c byte) bool {
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

// ParseString returns the value of a string, false for other values.
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

// plainText returns the contents of a string of printable ASCII characters without
// escapes, as most strings are.
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
	if len(data) <= maxCommonText {
		if text, ok := commonTexts[string(data)]; ok {
			return text, true
		}
	}
	return string(data), true
}
