package mcp

import (
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/permd/permd/internal/strictjson"
)

// Since 2026-07-28 headers repeat parts of a message, so that what is between a client and its
// server need not read it: the method, the name of what is called, and arguments that the tool's
// definition names.

// paramHeader is an argument that is repeated in a header.
type paramHeader struct {
	path []string // of members of the arguments
	name string   // of the header
}

const paramHeaderPrefix = "Mcp-Param-"

// maxSchemaDepth is how deep schemas are read.
const maxSchemaDepth = 64

var errHeaders = errors.New("the arguments that the tool's definition wants in headers (x-mcp-header) are not as the protocol has them")

// subschemas are the keywords of JSON Schema that hold schemas but no member of the instance. The
// value is what they hold: one, a list or an object of them.
var subschemas = map[string]bool{
	"items": true, "prefixItems": true, "additionalItems": true, "contains": true, "unevaluatedItems": true,
	"additionalProperties": true, "unevaluatedProperties": true, "patternProperties": true, "propertyNames": true, "dependentSchemas": true, "dependencies": true,
	"oneOf": true, "anyOf": true, "allOf": true, "not": true, "if": true, "then": true, "else": true,
	"$defs": true, "definitions": true, "contentSchema": true,
}

// paramHeaders returns the arguments of a tool that are repeated in headers.
func paramHeaders(tool strictjson.Value) ([]paramHeader, error) {
	s := headerSearch{names: map[string]bool{}}
	s.schema(strictjson.Find(tool, "inputSchema"), nil, true, 0)
	if s.bad {
		return nil, errHeaders
	}
	return s.found, nil
}

type headerSearch struct {
	found []paramHeader
	names map[string]bool // in lower case
	bad   bool
}

// schema reads a schema. reached is set for that of a member of the arguments, at path, which is
// there for all arguments that have it.
func (s *headerSearch) schema(v strictjson.Value, path []string, reached bool, depth int) {
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return // it can be true or false
	}
	if depth > maxSchemaDepth {
		s.bad = true
		return
	}
	for _, m := range o {
		switch {
		case m.Name == "x-mcp-header":
			s.header(o, m.Value, path, reached)
		case m.Name == "properties":
			members, _ := strictjson.ParseObject(m.Value)
			for _, member := range members {
				s.schema(member.Value, append(path[:len(path):len(path)], member.Name), reached, depth+1)
			}
		case subschemas[m.Name]:
			s.schema(m.Value, nil, false, depth+1)
			list, _ := strictjson.ParseArray(m.Value)
			for _, v := range list {
				s.schema(v, nil, false, depth+1)
			}
			members, _ := strictjson.ParseObject(m.Value)
			for _, member := range members {
				s.schema(member.Value, nil, false, depth+1)
			}
		}
	}
}

func (s *headerSearch) header(schema strictjson.Object, v strictjson.Value, path []string, reached bool) {
	name, _ := strictjson.ParseString(v)
	kind, _ := schema.Get("type")
	typed, _ := strictjson.ParseString(kind)
	lower := strings.ToLower(name)
	if !reached || len(path) == 0 || !isToken(name) || s.names[lower] || typed != "string" && typed != "integer" && typed != "boolean" {
		s.bad = true
		return
	}
	s.names[lower] = true
	s.found = append(s.found, paramHeader{path, paramHeaderPrefix + name})
}

// isToken reports whether a text is a token of HTTP.
func isToken(s string) bool {
	return s != "" && len(s) <= maxID && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

// leaveOutHeaders leaves out the tools that a server over HTTP cannot be sent calls of.
func (l *toolList) leaveOutHeaders() {
	var kept []listed
	for _, t := range l.tools {
		if t.unsent {
			l.leftOut, l.unsent = append(l.leftOut, errHeaders.Error()), append(l.unsent, t.name)
			continue
		}
		kept = append(kept, t)
	}
	l.tools = kept
}

// setStateless sets the headers of a message of statelessRevision.
func (u *Upstream) setStateless(h http.Header, m *message) {
	h.Set("MCP-Protocol-Version", statelessRevision)
	h.Set("Mcp-Method", headerValue(m.method))
	name := "name"
	switch m.method {
	case methodReadResource:
		name = "uri"
	case methodCallTool, methodGetPrompt:
	default:
		return
	}
	called, _ := strictjson.ParseString(strictjson.Find(m.params, name))
	h.Set("Mcp-Name", headerValue(called))
	if m.method != methodCallTool {
		return
	}
	u.mu.Lock()
	headers := u.headers[called]
	u.mu.Unlock()
	for _, p := range headers {
		if value, ok := argumentText(strictjson.Find(m.params, append([]string{"arguments"}, p.path...)...)); ok {
			h.Set(p.name, headerValue(value))
		}
	}
}

// argumentText returns a string, an integer or a boolean as text. Others, and null, are in no
// header.
func argumentText(v strictjson.Value) (string, bool) {
	switch strictjson.Kind(v) {
	case '"':
		return strictjson.ParseString(v)
	case 't', 'f':
		return strings.TrimSpace(string(v)), true
	case '0':
		f, err := strconv.ParseFloat(strings.TrimSpace(string(v)), 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > maxInteger {
			return "", false
		}
		return strconv.FormatInt(int64(f), 10), true
	}
	return "", false
}

// headerValue returns a text as the value of a header: in base64 if it could be read otherwise.
func headerValue(s string) string {
	const begin, end = "=?base64?", "?="
	plain := !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
	if encoded := strings.HasPrefix(s, begin) && strings.HasSuffix(s, end); plain && !encoded && strings.TrimSpace(s) == s {
		return s
	}
	return begin + base64.StdEncoding.EncodeToString([]byte(s)) + end
}

// noteHeaders notes which arguments a list of tools wants in headers.
func (u *Upstream) noteHeaders(result strictjson.Value) {
	l, err := readList(result)
	if err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, t := range l.tools {
		headers, _ := paramHeaders(t.text)
		switch {
		case len(headers) == 0:
			delete(u.headers, t.name)
		case u.headers[t.name] != nil || len(u.headers) < maxTools:
			if u.headers == nil {
				u.headers = map[string][]paramHeader{}
			}
			u.headers[t.name] = headers
		}
	}
}

// withdraw ends a request of statelessRevision: the server sees that nobody reads its answer. It
// reports whether there is nothing to post.
func (u *Upstream) withdraw(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.open[id]
	if p == nil {
		return u.stateless && u.revision == ""
	}
	if !p.stateless {
		return false
	}
	delete(u.open, id)
	p.cancel(nil)
	return true
}
