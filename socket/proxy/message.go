package proxy

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/internal/strictjson"
)

// peerSide is one of the two peers.
type peerSide int

// The sides.
const (
	clientSide peerSide = iota
	agentSide
)

func (s peerSide) other() peerSide { return 1 - s }

// String returns the side's name for messages.
func (s peerSide) String() string {
	if s == clientSide {
		return "client"
	}
	return "agent"
}

// message is one line, as far as the proxy reads it. Its values share the line's memory.
type message struct {
	line   []byte           // what is sent to the other side
	id     strictjson.Value // nil for none
	method string           // "" for an answer
	params strictjson.Value
	result strictjson.Value
	fault  strictjson.Value
	object strictjson.Object
}

// request reports whether the message requires an answer.
func (m *message) request() bool { return m.method != "" && m.id != nil }

// answer reports whether the message is an answer.
func (m *message) answer() bool { return m.method == "" && m.id != nil }

var (
	errText      = errors.New("no message")
	errBatch     = errors.New("batches are not part of the protocol")
	errAmbiguous = errors.New("the message can be read in more than one way")
	errLoose     = errors.New("it is no message, and some readers may find one in it")
)

// read parses a line. errText is returned for a line that no reader takes for a message,
// errLoose for one that only lenient readers might.
func read(line []byte) (m message, err error) {
	m.line = line
	body := bytes.TrimSpace(line)
	switch {
	case len(body) == 0:
		return m, errText
	case body[0] == '{':
		if bytes.IndexByte(body, '\r') >= 0 {
			// Some readers take it for the end of a line, and the rest for another message.
			return m, errAmbiguous
		}
	case body[0] == '[' && strictjson.Check(body) == nil:
		return m, errBatch
	case mayContainMessage(body):
		return m, errLoose
	default:
		return m, errText
	}
	if err := strictjson.Check(body); err != nil {
		return m, err
	}
	if m.object, err = strictjson.ParseObject(body); err != nil {
		return m, err
	}
	if m.object.NearMiss("jsonrpc", "id", "method", "params", "result", "error") != "" {
		return m, errAmbiguous
	}
	for _, member := range m.object {
		switch member.Name {
		case "id":
			m.id = member.Value
		case "method":
			var ok bool
			if m.method, ok = strictjson.ParseString(member.Value); !ok || m.method == "" {
				return m, errAmbiguous
			}
		case "params":
			m.params = member.Value
		case "result":
			m.result = member.Value
		case "error":
			m.fault = member.Value
		}
	}
	if m.method != "" && (m.result != nil || m.fault != nil) {
		return m, errAmbiguous
	}
	return m, nil
}

// key distinguishes ids as a peer does: 1, 1.0 and "1" are three, and a string may be
// written in several ways.
func key(id strictjson.Value) string {
	if s, ok := strictjson.ParseString(id); ok {
		return `"` + s
	}
	return string(id)
}

// text returns a member that is a string, "" for everything else.
func text(v strictjson.Value, path ...string) string {
	s, _ := strictjson.ParseString(strictjson.Find(v, path...))
	return s
}

// quoted appends a string as JSON.
func quoted(b []byte, s string) []byte {
	out, err := jsontext.AppendQuote(b, s)
	if err != nil { // what is no UTF-8 is replaced
		return out
	}
	return out
}

// object builds an object of members in their order; a member without a value
// is left out.
func object(members ...strictjson.Member) strictjson.Value {
	return appendObject(make([]byte, 0, size(members)), members)
}

// encoded returns params in JSON; nil, which permd refuses, if that fails.
func encoded(params any) strictjson.Value {
	b, err := json.Marshal(params, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil
	}
	return b
}

// asLine builds an object that is a message, with its newline.
func asLine(members ...strictjson.Member) []byte {
	return append(appendObject(make([]byte, 0, size(members)+1), members), '\n')
}

// size returns the length of an object, if no name in it has to be escaped.
func size(members []strictjson.Member) int {
	n := len("{}")
	for _, m := range members {
		n += len(m.Name) + len(m.Value) + len(`"":,`)
	}
	return n
}

func appendObject(b []byte, members []strictjson.Member) []byte {
	b = append(b, '{')
	first := true
	for _, m := range members {
		if m.Value == nil {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(quoted(b, m.Name), ':')
		b = append(b, m.Value...)
	}
	return append(b, '}')
}

// member makes a member whose value is text.
func member(name, value string) strictjson.Member {
	return strictjson.Member{Name: name, Value: quoted(nil, value)}
}

// with returns the object with one member replaced, or added at the end;
// nil removes it.
func with(o strictjson.Object, name string, value strictjson.Value) strictjson.Value {
	list := make([]strictjson.Member, 0, len(o)+1)
	found := false
	for _, m := range o {
		if m.Name == name {
			m.Value, found = value, true
		}
		list = append(list, m)
	}
	if !found {
		list = append(list, strictjson.Member{Name: name, Value: value})
	}
	return object(list...)
}

// put replaces the value at a path of names in v, which must be objects.
func put(v, value strictjson.Value, path ...string) (strictjson.Value, bool) {
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return nil, false
	}
	if len(path) > 1 {
		inner, ok := o.Get(path[0])
		if !ok {
			return nil, false
		}
		if value, ok = put(inner, value, path[1:]...); !ok {
			return nil, false
		}
	}
	return with(o, path[0], value), true
}

// response is an answer to a request.
func response(id, result strictjson.Value) []byte {
	return asLine(member("jsonrpc", "2.0"), strictjson.Member{Name: "id", Value: id}, strictjson.Member{Name: "result", Value: result})
}

// failure returns an error as an answer; a nil id is that of a request that could not be
// read.
func failure(id strictjson.Value, code int, why string) []byte {
	if id == nil {
		id = strictjson.Value("null")
	}
	e := object(strictjson.Member{Name: "code", Value: strconv.AppendInt(nil, int64(code), 10)}, member("message", why))
	return asLine(member("jsonrpc", "2.0"), strictjson.Member{Name: "id", Value: id}, strictjson.Member{Name: "error", Value: e})
}
