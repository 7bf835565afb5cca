package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/internal/protocoldoc"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// schemaPeer is a connection whose messages and answers are validated by the
// schema.
type schemaPeer struct {
	*wire
	schema  *protocoldoc.Schema
	n       int
	last    string          // id of the newest question
	batch   string          // id of the newest batch
	methods map[string]bool // that were called
	seen    map[string]bool // definitions that an answer was compared with
}

func newSchemaPeer(t *testing.T, d *testDaemon) *schemaPeer {
	t.Helper()
	s, err := protocoldoc.ReadSchema(filepath.Join("..", "..", "docs", "protocol.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return &schemaPeer{wire: d.wire(t), schema: s, methods: map[string]bool{}, seen: map[string]bool{}}
}

// schemaAnswer is one answer, as far as the tests look into it.
type schemaAnswer struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// exchange sends a message and reads the answer, if it gets one.
func (p *schemaPeer) exchange(t *testing.T, method, params string) (a schemaAnswer) {
	t.Helper()
	p.n++
	p.methods[method] = true
	asked := slices.Contains(p.schema.Names(), protocoldoc.Of(method, "result"))
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.n, method, params)
	if !asked {
		line = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
	}
	if _, err := fmt.Fprintln(p.wire, line); err != nil || !asked {
		return a
	}
	text, err := p.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if err := p.schema.Check("response", text); err != nil {
		t.Errorf("%s\nis answered with %s\n%v", line, text, err)
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	if a.Error == nil {
		p.compare(t, protocoldoc.Of(method, "result"), string(a.Result))
	}
	p.note(a)
	return a
}

func (p *schemaPeer) compare(t *testing.T, def, text string) {
	t.Helper()
	p.seen[def] = true
	if err := p.schema.Check(def, text); err != nil {
		t.Errorf("%s\n%v", text, err)
	}
}

// note remembers what later messages name.
func (p *schemaPeer) note(a schemaAnswer) {
	var r struct {
		BatchID   string
		Decision  struct{ DecisionID, Verdict string }
		Decisions []struct{ DecisionID, Verdict string }
	}
	_ = json.Unmarshal(a.Result, &r)
	if p.batch = r.BatchID; r.Decision.Verdict == "ask" {
		p.last = r.Decision.DecisionID
	}
	for _, d := range r.Decisions {
		if d.Verdict == "ask" {
			p.last = d.DecisionID
		}
	}
	if a.Error != nil && a.Error.Data != nil {
		var d struct{ DecisionID string }
		_ = json.Unmarshal(a.Error.Data, &d)
		p.last = d.DecisionID
	}
}

// schemaMessages are valid messages, at least one for each method, in an order in
// which each refers to earlier ones. $DIR is a folder, $ID the newest question,
// $BATCH the newest batch.
var schemaMessages = []struct{ method, params string }{
	{"permd/session", `{"sessionId":"s1","cwd":"$DIR","roots":["/tmp"],"agent":{"name":"claude-agent-acp","version":"0.100.0"},"client":{"name":"zed"},"mode":"default","protocolVersion":1}`},
	{"session/prompt", `{"sessionId":"s1"}`},
	{"session/update", `{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"git status","kind":"execute","rawInput":{"command":"git status"},"_meta":{"claudeCode":{"toolName":"Bash"}}}}`},
	{"session/request_permission", `{"sessionId":"s1","toolCall":{"toolCallId":"t1"},"options":[{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}`},
	{"session/request_permission", `{"sessionId":"s1","toolCall":{"toolCallId":"t2","kind":"execute","title":"npm test","rawInput":{"command":"npm test"},"_meta":{"claudeCode":{"toolName":"Bash"}}},"options":[{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}`},
	{"permd/choose", `{"decisionId":"$ID","optionId":"y"}`},
	{"permd/decide", `{"sessionId":"s1","calls":[{"callId":"1","tool":{"name":"Bash"},"input":{"command":"git log; rm -rf /"}},{"callId":"2","tool":{"name":"merge","server":"github","source":"https://example.com/mcp","version":"1.0.0"},"input":{"number":7},"kind":"other","title":"merge"}]}`},
	{"permd/choose", `{"decisionId":"$ID","verdict":"allow","width":"w1","scope":"session","expiresIn":60}`},
	{"permd/decide", `{"calls":[{"callId":"3","tool":{"name":"deploy","server":"k8s"},"input":{}}]}`},
	{"permd/choose", `{"decisionId":"$ID","verdict":"deny","scope":"user"}`},
	{"permd/gate", `{"sessionId":"s1","method":"terminal/create","params":{"command":"make","args":["install"],"env":[{"name":"A","value":"b"}],"cwd":"$DIR"},"ask":true}`},
	{"permd/choose", `{"decisionId":"$ID","verdict":"allow"}`},
	{"permd/gate", `{"sessionId":"s1","method":"fs/read_text_file","params":{"path":"$DIR/a"}}`},
	{"permd/gate", `{"sessionId":"s1","method":"session/set_mode","params":{"modeId":"plan"}}`},
	{"permd/ran", `{"sessionId":"s1","toolCall":{"toolCallId":"t3","title":"ls","kind":"execute","rawInput":{"command":"ls"},"_meta":{"claudeCode":{"toolName":"Bash"}}},"done":true,"denied":false}`},
	{"permd/unheard", `{"sessionId":"s1","toolCallIds":["t9"],"state":true}`},
	{"permd/session", `{"sessionId":"s2","cwd":"$DIR","protocolVersion":2}`},
	{"session/request_permission", `{"sessionId":"s2","title":"Look?","subject":{"type":"command","command":"git diff","cwd":"$DIR"},"options":[{"optionId":"y","name":"Allow once","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}`},
	{"session/cancel", `{"sessionId":"s2"}`},
	{"session/request_permission", `{"sessionId":"s2","title":"Continue?","options":[{"optionId":"y","name":"Allow once","kind":"allow_once"}]}`},
	{"$/cancel_request", `{"requestId":"none"}`},
	{"aap/permissions", `{"sessionId":"s1","endpoint":"https://agents.example.com","agent":{"name":"helper","tools":[{"name":"search","trust":true},{"name":"deploy"}]},"tools":[{"name":"show"}],"meta":{"version":3,"agents":[{"name":"helper","version":"1","tools":[{"name":"search"},{"name":"deploy"}]}]},"history":[],"turn":{"sse":"event: turn_start\ndata: {}\n\nevent: tool_call\ndata: {\"toolCallId\":\"c1\",\"name\":\"show\",\"input\":{}}\n\nevent: tool_call\ndata: {\"toolCallId\":\"c2\",\"name\":\"deploy\",\"input\":{}}\n\nevent: turn_stop\ndata: {\"stopReason\":\"tool_use\"}\n\n"}}`},
	{"aap/answer", `{"sessionId":"s1","batchId":"$BATCH","answers":[{"toolCallId":"c1","verdict":"allow"},{"toolCallId":"c2","verdict":"deny","reason":"not now"}],"results":[{"toolCallId":"c1","content":"shown"}]}`},
	{"aap/permissions", `{"sessionId":"s1","agent":{"name":"helper"},"turn":{"events":[{"event":"turn_start"},{"event":"tool_call","toolCallId":"c4","name":"deploy","input":{}},{"event":"turn_stop","stopReason":"tool_use"}]}}`},
	{"aap/ran", `{"sessionId":"s1","endpoint":"https://agents.example.com","agent":{"name":"helper","tools":[{"name":"search","trust":true}]},"tools":[{"name":"show"}],"meta":{"version":3,"agents":[{"name":"helper","version":"1","tools":[{"name":"search"}]}]},"turn":{"events":[{"event":"turn_start"},{"event":"tool_call","toolCallId":"c5","name":"search","input":{}},{"event":"tool_result","toolCallId":"c5","content":"found"},{"event":"turn_stop","stopReason":"end_turn"}]}}`},
	{"rap/invoke", `{"sessionId":"s1","operation":"purge","arguments":{"bin":"C-17"},"id":"k1","call_id":null,"group_id":"pick","thread_ancestors":["root"],"user_id":"u-7","toolset":{"name":"warehouse","endpoint":"http://127.0.0.1:7410/invoke","tools":[{"name":"purge","inputSchema":{"type":"object"},"annotations":{"destructive":true}}]}}`},
	{"rap/choice", `{"decisionId":"$ID","selected":0}`},
	{"rap/invoke", `{"operation":"none","arguments":{},"id":"k2","group_id":"pick","thread_ancestors":["root"],"toolset":{"name":"warehouse","tools":[]}}`},
	{"rap/invoke", `{"operation":"move","arguments":{},"id":"k3","group_id":"pick","thread_ancestors":["root"],"toolset":{"name":"warehouse"}}`},
	{"permd/choose", `{"decisionId":"$ID","verdict":"deny"}`},
	{"rap/invoke", `{"operation":"move","arguments":{},"id":"k4","group_id":"pick","thread_ancestors":["root"],"toolset":{"name":"warehouse"}}`},
	{"permd/wait", `{"decisionId":"$ID","seconds":1}`},
	{"rap/cancel", `{"thread_id":"pick","tool_call_id":"k4"}`},
	{"rap/ended", `{"thread_id":"pick","tool_call_id":"k1","outcome":"failed"}`},
	{"rap/close_thread", `{"thread_id":"pick"}`},
	{"otc/call", `{"sessionId":"s1","endpoint":"https://tools.example/v1","tool_id":"Sms.Send@1.2.0","call_id":"o1","trace_id":"x","input":{"to":"1"},"context":{"authorization":[{"id":"google","token":"x"}],"secrets":[{"id":"KEY","value":"x"}],"user_id":"u"},"tool":{"id":"Sms.Send@1.2.0","version":"1.2.0","input_schema":{"type":"object"},"requirements":{"authorization":[{"id":"google","oauth2":{"scopes":["mail"]}}],"secrets":[{"id":"KEY"}],"user_id":true}},"approval":{"url":"https://ok.example/{decisionId}","checkUrl":"https://ok.example/{decisionId}/check"}}`},
	{"permd/choose", `{"decisionId":"$ID","verdict":"deny"}`},
	{"otc/call", `{"request":{"tool_id":"Sms.Send","inputs":{"to":1}},"tool":{"id":"Sms.Send","input_schema":{"type":"object","properties":{"to":{"type":"string"}}}}}`},
	{"otc/call", `{"tool_id":"Sms.Send","input":{},"tool":{"id":"Sms.Send","requirements":{"secrets":[{"id":"KEY"}],"authorization":[{"id":"google"}],"user_id":true}}}`},
	{"permd/finished", `{"sessionId":"h1","harness":"claude","parent":"h0","call":{"callId":"t1","tool":"Bash","input":{"command":"ls"}},"turnEnded":true}`},
	{"permd/denied", `{"sessionId":"s1","tools":[{"name":"delete_repo","server":"github","source":"user"}]}`},
	{"permd/close", `{"sessionId":"s1"}`},
}

// TestProtocolSchema calls each method of a real daemon, and validates all messages
// and answers by docs/protocol.schema.json.
func TestProtocolSchema(t *testing.T) {
	t.Parallel()
	d, web := startHTTP(t, "127.0.0.1:0")
	dir := t.TempDir()
	p := newSchemaPeer(t, d)
	for _, m := range schemaMessages {
		params := strings.NewReplacer("$DIR", dir, "$ID", p.last, "$BATCH", p.batch).Replace(m.params)
		if err := p.schema.Check(protocoldoc.Of(m.method, "params"), params); err != nil {
			t.Errorf("%s %s\n%v", m.method, params, err)
		}
		if a := p.exchange(t, m.method, params); a.Error != nil && a.Error.Code != -32050 {
			t.Errorf("%s %s\n%s", m.method, params, a.Error.Message)
		}
	}
	if missing := slices.DeleteFunc(p.schema.Methods(), func(m string) bool { return p.methods[m] }); len(missing) > 0 {
		t.Errorf("no message of %v", missing)
	}
	session := fmt.Sprintf(`{"sessionId":"web","cwd":%q}`, dir)
	for _, ask := range []struct{ path, def, body string }{
		{"/v1/data/permd/decision", "http.data", `{"input":{"tool":{"name":"Bash"},"args":{"command":"git status"},"callId":"1","session":` + session + `}}`},
		{"/v1/calls", "http.calls", `{"calls":[{"callId":"1","tool":{"name":"Bash"},"input":{"command":"make"}}],"session":` + session + `}`},
	} {
		if err := p.schema.Check(ask.def+".body", ask.body); err != nil {
			t.Error(err)
		}
		p.compare(t, ask.def+".answer", web.send(t, "POST", ask.path, ask.body).Body)
		p.compare(t, "http.error", web.send(t, "POST", ask.path, `{}`).Body)
	}
	p.compare(t, "http.health.answer", web.send(t, "GET", "/health", "").Body)
	for _, name := range p.schema.Names() {
		if (strings.HasSuffix(name, ".result") || strings.HasSuffix(name, ".answer")) && !p.seen[name] {
			t.Errorf("no answer was compared with %s", name)
		}
	}
}

// TestProtocolSchemaRequired leaves one member after the other out of good
// messages: the daemon refuses what the schema does, and reads what it allows.
func TestProtocolSchemaRequired(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it leaves out every member of every message; TestProtocolSchema is the quick one")
	}
	t.Parallel()
	p := newSchemaPeer(t, startDaemon(t))
	dir := t.TempDir()
	// These methods need earlier messages, so they are refused here.
	stateful := []string{"permd/choose", "rap/choice", "aap/answer"}
	removed := 0
	for i, m := range schemaMessages {
		if i == 0 || m.method == "permd/session" {
			p.exchange(t, "permd/session", strings.ReplaceAll(m.params, "$DIR", dir))
		}
		var good map[string]json.RawMessage
		if err := json.Unmarshal([]byte(strings.ReplaceAll(m.params, "$DIR", dir)), &good); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(good)) {
			less := maps.Clone(good)
			delete(less, name)
			for _, id := range []string{"call_id", "id"} { // one that comes again is another question
				if less[id] != nil {
					less[id] = fmt.Appendf(nil, `"%s-%d"`, name, i)
				}
			}
			params := encoded(t, less)
			refused := p.schema.Check(protocoldoc.Of(m.method, "params"), params) != nil
			a := p.exchange(t, m.method, params)
			removed++
			switch {
			case a.Result == nil && a.Error == nil: // a notification
			case refused && (a.Error == nil || a.Error.Code != -32602):
				t.Errorf("%s without %s: the schema refuses it, and permd answers %+v", m.method, name, a)
			case !refused && !slices.Contains(stateful, m.method) && a.Error != nil && a.Error.Code != -32050:
				t.Errorf("%s without %s: the schema allows it, and permd says %s", m.method, name, a.Error.Message)
			}
		}
	}
	if removed < 100 {
		t.Errorf("only %d messages", removed)
	}
}

// TestHandshake declares a session as clients do that know the version member and
// as older ones do: the daemon has every feature of the schema, and clients need
// not check.
func TestHandshake(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	p := newSchemaPeer(t, d)
	params := map[string]string{"sessionId": "s", "cwd": t.TempDir()}
	hello, err := client.DeclareSession(t.Context(), d.dial(t), &client.Session{ID: "s", Cwd: params["cwd"]})
	if err != nil {
		t.Fatal(err)
	}
	props := p.schema.Def(protocoldoc.Of("permd/session", "result"))["properties"].(map[string]any)
	all := props["features"].(map[string]any)["items"].(map[string]any)["enum"].([]any)
	for _, feature := range all {
		if !hello.Has(feature.(string)) {
			t.Errorf("the daemon has no %s", feature)
		}
	}
	if hello.Protocol != client.Protocol || hello.Version != buildinfo.Version() || len(hello.Features) != len(all) {
		t.Errorf("the daemon says %+v", hello)
	}
	old := d.dial(t)
	if err := old.Call(t.Context(), "permd/session", params, &struct{}{}); err != nil {
		t.Error(err)
	}
	var out struct {
		Decisions []strictjson.Value `json:"decisions"`
	}
	call := map[string]any{"callId": "1", "tool": map[string]string{"name": "deploy", "server": "k8s"}}
	if err := old.Call(t.Context(), "permd/decide", map[string]any{"sessionId": "s", "calls": []any{call}}, &out); err != nil || len(out.Decisions) != 1 {
		t.Errorf("decisions %+v, %v", out, err)
	}
}
