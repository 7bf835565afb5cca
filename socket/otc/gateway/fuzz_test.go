package gateway

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// FuzzCall: a body is refused in words, or what is forwarded of it is the call that was
// read, and nothing more.
func FuzzCall(f *testing.F) {
	for _, s := range []string{
		`{"tool_id":"A.B","call_id":"c","input":{"a":1.0}}`, `{"$schema":"urn:oxp:1.0","request":{"tool_id":"A.B@1","inputs":{}}}`,
		`{"tool_id":"A.B","context":{"authorization":[{"id":"x","token":"y"}],"secrets":[{"id":"x","value":"\u0000"}],"user_id":"u"},"trace_id":"t"}`,
		`{"request":{"tool_id":"A.B"},"tool_id":"A.B"}`, `{"tool_id":"A.B","tool_id":"A.C"}`, `[`, `{}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, why := readCall(body)
		if (c == nil) != (why != "") {
			t.Fatalf("%q: %v, %q", body, c, why)
		}
		if c == nil {
			return
		}
		version := c.version
		if version == "" {
			version = "1.0.0"
		}
		sent := c.forwarded(&tool{id: c.toolkit + "." + c.name + "@" + version}, "id", c.grants, c.secrets, c.user)
		again, why := readCall(sent)
		if why != "" {
			t.Fatalf("%q is forwarded as %s: %s", body, sent, why)
		}
		again.version = c.version
		if again.sum() != c.sum() || again.id != "id" || again.trace != c.trace || again.enveloped != c.enveloped {
			t.Fatalf("%q is forwarded as %s", body, sent)
		}
	})
}

// FuzzAnswer: an answer of an upstream is none, or one that can be read in one way, with the
// call's id.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"call_id":"c","success":true,"value":null}`, `{"result":{"call_id":"c","success":false,"error":{"message":"m","x":1}}}`,
		`{"call_id":"c","success":true,"error":{}}`, `{"message":"m","missing_requirements":{"user_id":true}}`, `{}`, `[`,
	} {
		f.Add(200, []byte(s))
		f.Add(400, []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if r, ok := readResult(body, "c"); ok {
			id, _ := strictjson.ParseString(strictjson.Find(r.body, "call_id"))
			fault := strictjson.Find(r.body, "error")
			if strictjson.Check(r.body) != nil || r.status != 200 || id != "c" || !isTheirs(r, fault) {
				t.Fatalf("%q is %d %s", body, r.status, r.body)
			}
		}
		if r, ok := readRefusal(status, body); ok {
			wrapped := slices.Concat(r.wrapped(&call{enveloped: true, schema: schemaURN})...)
			if strictjson.Check(wrapped) != nil || r.status != status || strictjson.Kind(strictjson.Find(wrapped, "message")) != '"' || !isTheirs(r, r.body) {
				t.Fatalf("%d %q is %s", status, body, wrapped)
			}
		}
	})
}

// isTheirs reports whether an answer, whose error is the object if there is one, says that it is
// a tool server's.
func isTheirs(r *response, fault strictjson.Value) bool {
	if strictjson.Kind(fault) == '{' {
		s, _ := strictjson.ParseString(strictjson.Find(fault, "developer_message"))
		if s != theirSource && !strings.HasPrefix(s, theirSource+": ") {
			return false
		}
	}
	return r.source() == theirSource
}
