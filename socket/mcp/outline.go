package mcp

import (
	"bytes"

	"github.com/permd/permd/internal/strictjson"
)

// outline finds the members of a JSON object that cannot be read, however long it is: texts
// that are no Unicode, any nesting, two members of one name and what are no numbers do not hide
// where a member of the object itself begins and ends. It is told the bytes in their order.
type outline struct {
	state byte
	open  []byte // the brackets that are open
	text  bool   // in a text
	slash bool   // after a backslash in it
	key   bool   // a name comes next, or is read
	part  []byte // of the name or the value that is read
	name  string
	named bool // the name could be read

	ids, methods, results int
	id                    string
	jsonrpc               bool // is the name of a member
}

// States of an outline.
const (
	outlineBefore byte = iota // of the object
	outlineInside
	outlineAfter
	outlineNone // it is no object
)

const (
	maxPart = maxID + 8 // bytes that are kept of a name or a value: what is longer is no id
	maxOpen = 1 << 20   // brackets that may be open
)

func (o *outline) Write(data []byte) (int, error) {
	for _, c := range data {
		o.next(c)
	}
	return len(data), nil
}

func (o *outline) next(c byte) {
	switch {
	case o.state == outlineNone:
	case o.text:
		o.keep(c)
		switch {
		case o.slash:
			o.slash = false
		case c == '\\':
			o.slash = true
		case c == '"':
			o.text = false
		}
	case o.state == outlineInside:
		o.inside(c)
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
	case o.state == outlineBefore && c == '{':
		o.state, o.key, o.open = outlineInside, true, append(o.open, '}')
	default:
		o.state = outlineNone
	}
}

// inside takes a byte of the object that is in no text.
func (o *outline) inside(c byte) {
	top := len(o.open) == 1
	switch c {
	case '"':
		o.text = true
	case '{', '[':
		o.open = append(o.open, c+2) // the bracket that closes it
		if len(o.open) > maxOpen {
			o.state = outlineNone
		}
	case '}', ']':
		last := len(o.open) - 1
		if o.open[last] != c {
			o.state = outlineNone
			return
		}
		o.open = o.open[:last]
		if top {
			o.member()
			o.state = outlineAfter
			return
		}
	case ',':
		if top {
			o.member()
			return
		}
	case ':':
		if top && o.key {
			o.name, o.named = "", false
			if name := bytes.TrimSpace(o.part); strictjson.Check(name) == nil {
				o.name, o.named = strictjson.ParseString(name)
			}
			o.key, o.part = false, o.part[:0]
			return
		}
	}
	o.keep(c)
}

func (o *outline) keep(c byte) {
	if len(o.part) <= maxPart {
		o.part = append(o.part, c)
	}
}

// member notes the member that has ended.
func (o *outline) member() {
	like := func(known string) bool {
		return o.name == known || strictjson.Object{{Name: o.name}}.NearMiss(known) != ""
	}
	switch {
	case o.named && o.name == "id" && len(o.part) <= maxPart && strictjson.Check(o.part) == nil:
		o.ids++
		o.id = readID(bytes.Clone(o.part))
	case !o.named || like("id"): // a name that cannot be read could be any
		o.ids++
		o.id = ""
	case like("method"):
		o.methods++
	case like("result") || like("error"):
		o.results++
	case like("jsonrpc"):
		o.jsonrpc = true
	}
	o.key, o.part, o.named = true, o.part[:0], false
}

// response returns the id of the response that the object is, "" if that is not certain.
func (o *outline) response() string {
	if o.state != outlineAfter || o.ids != 1 || o.methods > 0 || !o.jsonrpc && o.results == 0 {
		return ""
	}
	return o.id
}

// request returns the id of the request that the object is, "" if that is not certain.
func (o *outline) request() string {
	if o.state != outlineAfter || o.ids != 1 || o.methods == 0 || o.results > 0 {
		return ""
	}
	return o.id
}
