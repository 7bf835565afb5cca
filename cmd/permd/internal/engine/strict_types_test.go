package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/internal/protocoldoc"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket"
)

// strictSamples are params of each method with all members of the schema, in one message or
// several: members that exclude each other stand in different ones.
var strictSamples = map[string][]string{
	"permd/session": {
		`{"sessionId":"x1","cwd":"/","roots":["/tmp"],"parent":"","agent":{"name":"unheard-of","version":"1"},"client":{"name":"c","version":"1"},"mode":"m","harness":"","atShell":true,"changes":true,"protocolVersion":1,"tools":[{"name":"frob","members":{"a":"text"}}]}`,
	},
	"permd/close":    {`{"sessionId":"x2"}`},
	"session/update": {`{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"u1"}}`},
	"session/request_permission": {
		`{"sessionId":"s","toolCall":{"toolCallId":"t1","title":"x"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`,
		`{"sessionId":"v2","title":"t","subject":{"type":"command","command":"ls","cwd":"/"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`,
		`{"sessionId":"v2","title":"t","subject":{"type":"tool_call","toolCall":{"toolCallId":"t1","title":"x"}},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`,
	},
	"session/cancel": {`{"sessionId":"x3"}`},
	"session/prompt": {`{"sessionId":"x3"}`},
	"permd/gate": {
		`{"sessionId":"s","method":"terminal/create","params":{"command":"frob","args":["x"],"env":[{"name":"A","value":"b"}],"cwd":"/tmp"},"ask":false}`,
		`{"sessionId":"s","method":"fs/read_text_file","params":{"path":"/tmp/x"}}`,
		`{"sessionId":"s","method":"session/set_mode","params":{"modeId":"m"}}`,
		`{"sessionId":"s","method":"session/set_config_option","params":{"configId":"c","value":"m"}}`,
	},
	"permd/ran":     {`{"sessionId":"s","toolCall":{"toolCallId":"r1","title":"x"},"done":true,"denied":true}`},
	"permd/unheard": {`{"sessionId":"s","toolCallIds":["a"],"state":true}`},
	"permd/decide": {
		`{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"q","server":"T","source":"x","version":"1","changed":false},"input":{},"kind":"k","title":"t"}]}`,
	},
	"permd/choose":   {`{"decisionId":"no","optionId":"o","width":"w","scope":"user","expiresIn":5}`, `{"decisionId":"no","verdict":"allow"}`},
	"permd/wait":     {`{"decisionId":"no","seconds":1}`},
	"permd/finished": {`{"sessionId":"s","harness":"h","parent":"p","call":{"callId":"c","tool":"t","server":"s","input":{}},"turnEnded":true}`},
	"permd/denied":   {`{"sessionId":"s","tools":[{"name":"t","server":"s","source":"x"}]}`},
	"aap/permissions": {
		`{"sessionId":"s","endpoint":"https://a.example","agent":{"name":"a","tools":[{"name":"t","trust":true}]},"tools":[{"name":"u"}],"meta":{"version":3,"agents":[{"name":"a","version":"1","tools":[{"name":"t"}]}]},"turn":{"sse":"event: turn_start\ndata: {}\n\nevent: turn_stop\ndata: {\"stopReason\":\"end_turn\"}\n\n"},"history":{"full":[]},"batchId":""}`,
		`{"sessionId":"s","agent":{"name":"a"},"turn":{"events":[{"event":"turn_start"},{"event":"turn_stop","stopReason":"end_turn"}]}}`,
		`{"sessionId":"s","agent":{"name":"a"},"turn":{"stopReason":"end_turn","messages":[{"role":"assistant","content":"x"}]}}`,
	},
	"aap/answer": {
		`{"sessionId":"s","batchId":"no","answers":[{"toolCallId":"a","verdict":"allow","reason":"r","width":"w","scope":"user","expiresIn":5}],"results":[{"toolCallId":"b","content":"x"}]}`,
		`{"sessionId":"s","batchId":"no","answers":[{"toolCallId":"a","verdict":"deny","later":true}]}`,
	},
	"aap/ran": {
		`{"sessionId":"s","endpoint":"https://a.example","agent":{"name":"a","tools":[{"name":"t","trust":true}]},"tools":[{"name":"u"}],"meta":{"version":3,"agents":[{"name":"a","version":"1","tools":[{"name":"t"}]}]},"turn":{"sse":"event: turn_start\ndata: {}\n\nevent: turn_stop\ndata: {\"stopReason\":\"end_turn\"}\n\n"}}`,
		`{"sessionId":"s","agent":{"name":"a"},"turn":{"events":[{"event":"turn_start"},{"event":"turn_stop","stopReason":"end_turn"}]}}`,
		`{"sessionId":"s","agent":{"name":"a"},"turn":{"stopReason":"end_turn","messages":[{"role":"assistant","content":"x"}]}}`,
	},
	"rap/invoke": {
		`{"sessionId":"s","toolset":{"name":"w","endpoint":"https://a.example","tools":[{"name":"op","inputSchema":{},"annotations":{"readOnly":true,"destructive":true,"idempotent":true,"longRunning":true,"requiresAuth":"x"}}]},"width":"w","operation":"op","arguments":{},"id":"i","call_id":"c","group_id":"g","thread_ancestors":["h"],"user_id":"u","callback_url":"https://a.example"}`,
	},
	"rap/choice":       {`{"decisionId":"no","selected":0}`},
	"rap/close_thread": {`{"thread_id":"none"}`},
	"rap/cancel":       {`{"thread_id":"none","tool_call_id":"c"}`},
	"rap/ended":        {`{"thread_id":"none","tool_call_id":"c","outcome":"ran"}`},
	"otc/call": {
		`{"sessionId":"s","endpoint":"https://a.example","tool":{"id":"A.B","version":"1.0.0","input_schema":{},"requirements":{"authorization":[{"id":"a","oauth2":{"scopes":["s"]}}],"secrets":[{"id":"s"}],"user_id":true}},"approval":{"url":"https://a.example/{decisionId}","checkUrl":"https://a.example/{decisionId}"},"changed":true,"$schema":"x","tool_id":"A.B","call_id":"c","trace_id":"t","input":{},"inputs":{},"context":{"authorization":[{"id":"a","token":"t"}],"secrets":[{"id":"s","value":"v"}],"user_id":"u"}}`,
		`{"request":{"tool_id":"A.C","call_id":"d","trace_id":"t","input":{},"inputs":{},"context":{"authorization":[{"id":"a","token":"t"}],"secrets":[{"id":"s","value":"v"}],"user_id":"u"}}}`,
	},
}

// lenientMembers are the members of which docs/protocol.md says that a wrong type is no error:
// such a part of an agent's request is left out or cannot be checked, and the person is asked.
var lenientMembers = []string{
	"session/request_permission title", "session/request_permission description", "session/request_permission _meta",
	"session/request_permission subject.command", "session/request_permission subject.cwd", "session/request_permission subject.toolCall",
	"permd/gate params.env[].name", "permd/gate params.env[].value",
	"rap/invoke toolset.tools[].inputSchema", "otc/call tool.input_schema",
}

// TestStrictTypes puts a value of each other JSON type in place of each member of each method,
// as docs/protocol.schema.json has them: it must be refused as invalid params. So must null, except
// where the schema has it, as the protocol does that the member is from.
func TestStrictTypes(t *testing.T) {
	schema, err := protocoldoc.ReadSchema(filepath.Join("..", "..", "..", "..", "docs", "protocol.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	dirs := xdg.Dirs{Org: filepath.Join(home, "etc"), Config: filepath.Join(home, ".config", "permd"), Data: filepath.Join(home, ".local", "share", "permd")}
	caller, err := Local(t.Context(), dirs, true, io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	conns := uint64(1)
	// call calls a method on a connection of its own, with the sessions s and v2.
	call := func(method string, params any) error {
		conns++
		conn := &socket.Conn{ID: conns, Peer: caller.conn.Peer}
		on := &Caller{methods: caller.methods, conn: conn}
		for _, session := range []string{`{"sessionId":"s","cwd":"/"}`, `{"sessionId":"v2","cwd":"/","protocolVersion":2}`} {
			if _, err := on.do(t.Context(), "permd/session", json.RawMessage(session)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := on.do(t.Context(), method, params)
		return err
	}
	values := map[string]any{"null": nil, "boolean": true, "integer": 7, "number": 1.5, "string": "x", "array": []any{}, "object": map[string]any{}}
	tried := 0
	for _, method := range schema.Methods() {
		if caller.methods[method] == nil {
			continue // of the socket itself
		}
		if strictSamples[method] == nil {
			t.Errorf("%s has no sample", method)
		}
		want := map[string]bool{}
		seen := map[string]bool{}
		members(schema, schema.Def(protocoldoc.Of(method, "params")), "", func(at string, _ map[string]any, _ bool) { want[at] = true })
		for _, sample := range strictSamples[method] {
			var params map[string]any
			if err := json.Unmarshal([]byte(sample), &params); err != nil {
				t.Fatalf("%s: %v: %s", method, err, sample)
			}
			as := message(call(method, params))
			members(schema, schema.Def(protocoldoc.Of(method, "params")), "", func(at string, def map[string]any, required bool) {
				set, ok := place(params, at)
				if !ok {
					return
				}
				seen[at] = true
				types := typesOf(def)
				if types == nil || slices.Contains(types, "null") {
					before := set(nil)
					if now := message(call(method, params)); strings.Contains(now, "null") {
						t.Errorf("%s: %s may be null, and is refused: %s", method, at, now)
					}
					set(before)
				}
				if types == nil || slices.Contains(lenientMembers, method+" "+at) {
					return
				}
				for _, name := range slices.Sorted(maps.Keys(values)) {
					if slices.Contains(types, name) || name == "integer" && slices.Contains(types, "number") {
						continue
					}
					tried++
					before := set(values[name])
					err := call(method, params)
					set(before)
					e, ok := errors.AsType[*socket.Error](err)
					if !ok || e.Code != socket.CodeParams || e.Message == as {
						t.Errorf("%s: %s as %s: %v, %q without it", method, at, name, err, as)
					}
				}
			})
		}
		for at := range want {
			if !seen[at] && !slices.Contains(lenientMembers, method+" "+at) {
				t.Errorf("%s: no sample has %s", method, at)
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d values were tried", tried)
	}
}

func message(err error) string {
	if e, ok := errors.AsType[*socket.Error](err); ok && e.Code == socket.CodeParams {
		return e.Message
	}
	return ""
}

// members calls f for each member that a schema names, with its place.
func members(s *protocoldoc.Schema, def map[string]any, at string, f func(at string, def map[string]any, required bool)) {
	def = resolve(s, def)
	required, _ := def["required"].([]any)
	properties, _ := def["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		member, ok := properties[name].(map[string]any)
		if !ok {
			continue
		}
		member = resolve(s, member)
		f(at+name, member, slices.Contains(required, any(name)))
		members(s, member, at+name+".", f)
		if items, ok := member["items"].(map[string]any); ok {
			items = resolve(s, items)
			f(at+name+"[]", items, true)
			members(s, items, at+name+"[].", f)
		}
	}
}

func resolve(s *protocoldoc.Schema, def map[string]any) map[string]any {
	for {
		ref, ok := def["$ref"].(string)
		if !ok {
			return def
		}
		def = s.Def(strings.TrimPrefix(ref, "#/$defs/"))
	}
}

// typesOf returns the JSON types that a schema allows, nil for all.
func typesOf(def map[string]any) (types []string) {
	switch one := def["type"].(type) {
	case string:
		return []string{one}
	case []any:
		for _, t := range one {
			types = append(types, fmt.Sprint(t))
		}
		return types
	}
	if _, ok := def["enum"]; ok {
		return []string{"string"}
	}
	if _, ok := def["const"]; ok {
		return []string{"integer"}
	}
	return nil
}

// place returns what sets the member at a place of params and returns the value before; ok is
// false if it is not there.
func place(params map[string]any, at string) (set func(any) any, ok bool) {
	var in any = params
	words := strings.Split(at, ".")
	for i, word := range words {
		name, item := strings.CutSuffix(word, "[]")
		o, is := in.(map[string]any)
		if !is {
			return nil, false
		}
		v, has := o[name]
		if !has {
			return nil, false
		}
		last := i == len(words)-1
		if !item {
			if last {
				return func(now any) any { before := o[name]; o[name] = now; return before }, true
			}
			in = v
			continue
		}
		list, is := v.([]any)
		if !is || len(list) == 0 {
			return nil, false
		}
		if last {
			return func(now any) any { before := list[0]; list[0] = now; return before }, true
		}
		in = list[0]
	}
	return nil, false
}
