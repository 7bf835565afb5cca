package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const withForms = `"elicitation":{}`

// metaOf returns the member _meta of a request since 2026-07-28.
func metaOf(capabilities string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{` + capabilities + `}}`
}

// stateless returns a request since 2026-07-28.
func stateless(id, method, params, capabilities string) string {
	if params != "" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + metaOf(capabilities) + `}}`
}

// answerTo waits for the response to a request and returns it.
func (w *world) answerTo(t testing.TB, id string) (m struct {
	Result struct {
		ResultType    string
		InputRequests map[string]struct {
			Method string
			Params struct{ Message string }
		}
		RequestState string
		Content      []struct{ Text string }
	}
	Error struct {
		Code    int
		Message string
	}
},
) {
	t.Helper()
	part := `{"jsonrpc":"2.0","id":` + id + `,`
	w.wantClient(t, part)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.client {
		if strings.HasPrefix(line, part) {
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

// countServer returns how many messages with a part the server has received.
func (w *world) countServer(part string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(strings.Join(w.server, ""), part)
}

// TestStateless: what a client says of itself in each request reaches the server as far as the
// protocol has it, and no other method does.
func TestStateless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 0
	send := func(method, params string) string {
		n++
		w.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, n, method, params))
		return fmt.Sprint(n)
	}
	const version, capabilities = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities"`
	const rest = `"progressToken":7,"io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1","x":"secret"},"x/y":"secret"`
	const all = `"roots":{},"x":{"secret":1},"sampling":{"tools":{}},"elicitation":{"url":{},"form":{}},"experimental":{"secret":{}},` +
		`"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{"mimeTypes":["secret","text/html;profile=mcp-app"]}}`
	const passed = `"_meta":{` + version + `,` + capabilities + `:{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"tools":{}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/logLevel":"info","progressToken":7}`
	for method, params := range map[string]string{
		methodDiscover: ``, methodListTools: `"cursor":"x",`, methodCallTool: `"name":"yes","arguments":{"b":2,"a":1},`,
		"prompts/list": ``, methodGetPrompt: `"name":"p","arguments":{"a":"b"},`, "completion/complete": `"ref":{},`,
		"resources/list": ``, "resources/templates/list": ``, methodListen: `"notifications":{"toolsListChanged":true},`,
	} {
		id := send(method, params+`"_meta":{`+version+`,`+capabilities+`:{`+all+`},`+rest+`}`)
		w.wantServer(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":{`+params+passed+`}}`)
	}
	before := w.countServer("\n")

	refused := func(method, params string, code int) {
		t.Helper()
		if m := w.answerTo(t, send(method, params)); m.Error.Code != code {
			t.Errorf("%s %s is answered with %+v, want %d", method, params, m, code)
		}
	}
	for _, method := range []string{"ping", methodInitialize, "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/get", "tasks/update", "tasks/cancel", "x"} {
		refused(method, metaOf(""), codeMethod)
	}
	for _, meta := range []string{
		version, version + `,` + capabilities + `:[]`, version + `,` + capabilities + `:null`,
		version + `,` + capabilities + `:{},"progressToken":1.5`, version + `,` + capabilities + `:{},"ProgressToken":1`,
		version + `,` + capabilities + `:{},"io.modelcontextprotocol/logLevel":"loud"`,
		version + `,` + capabilities + `:{},"IO.modelcontextprotocol/clientCapabilities":{}`,
	} {
		for _, method := range []string{methodListTools, methodCallTool, methodDiscover} {
			refused(method, `"name":"yes","_meta":{`+meta+`}`, codeParams)
		}
	}
	for _, params := range []string{`"name":"yes","task":{}`, `"name":"yes","x":1`, `"Name":"yes"`, `"name":"yes","RequestState":"x"`, `"name":"yes","arguments":[]`} {
		refused(methodCallTool, params+`,`+metaOf(""), codeParams)
	}
	refused(methodListTools, `"requestState":"x",`+metaOf(""), codeParams)
	refused(methodGetPrompt, `"name":"p","x":1,`+metaOf(""), codeParams)
	for _, method := range []string{"notifications/progress", "notifications/roots/list_changed", notedInitialized, methodCallTool} {
		w.send(t, `{"jsonrpc":"2.0","method":"`+method+`","params":{"name":"yes",`+metaOf("")+`}}`)
	}
	w.flush(t)
	if now := w.countServer("\n"); now != before {
		t.Errorf("the server received %s", w.server[before:])
	}
	if has(w, &w.server, "secret") {
		t.Errorf("the server received what the protocol does not have: %s", w.server)
	}
	w.send(t, stateless(`"no"`, methodCallTool, `"name":"no"`, ""))
	if m := w.answerTo(t, `"no"`); m.Result.ResultType != "complete" {
		t.Errorf("a call that is denied has the result %+v", m)
	}
}

// TestDiscovery: the client is told of no revision and no extension that the gateway does not
// know.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, tt := range []struct{ result, want string }{
		{
			`{"resultType":"complete","supportedVersions":["2027-01-01","2026-07-28","2025-11-25"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{}}},"ttlMs":1}`,
			`"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/ui":{}}},"ttlMs":1}`,
		},
		{`{"supportedVersions":["2025-11-25"],"capabilities":{"extensions":{"x/y":{}}}}`, `"result":{"supportedVersions":["2025-11-25"],"capabilities":{}}`},
		{`{"supportedVersions":["2027-01-01"],"capabilities":{}}`, `"error":`},
		{`{"supportedVersions":[],"capabilities":{}}`, `"error":`},
		{`{"supportedVersions":"2026-07-28"}`, `"error":`},
		{`{"supportedVersions":["2026-07-28"],"SupportedVersions":["2027-01-01"]}`, `"error":`},
		{`{"resultType":"input_required","requestState":"x","supportedVersions":["2026-07-28"]}`, `"error":`},
	} {
		id := fmt.Sprintf(`"id":%d,`, i)
		w.send(t, stateless(fmt.Sprint(i), methodDiscover, "", ""))
		w.wantServer(t, id)
		w.serve(t, `{"jsonrpc":"2.0",`+id+`"result":`+tt.result+"}\n")
		w.wantClient(t, id+tt.want)
	}
}

var formID = regexp.MustCompile(`"requestState":"(permd-[A-Z0-9]+)"`)

// TestQuestionInResult: a call about which permd asks runs once, after a yes to this very
// question about this very call.
func TestQuestionInResult(t *testing.T) {
	t.Parallel()
	const yes = `"inputResponses":{"permd":{"action":"accept","content":{"answer":"once"}}}`
	for _, tt := range []struct {
		name   string
		repeat func(state string) string // method and params
		runs   bool
		spent  bool // the question cannot be answered after it
	}{
		{"yes", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},` + yes + `,"requestState":"` + s + `"`
		}, true, true},
		{"yes, in another order", func(s string) string {
			return `tools/call|"requestState":"` + s + `","arguments": { "a" : 1 },` + yes + `,"name":"ask"`
		}, true, true},
		{"yes, and answers to nobody", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},"inputResponses":{"x":{"action":"accept"},"permd":{"action":"accept","content":{"answer":"once"}}},"requestState":"` + s + `"`
		}, true, true},
		{"no", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},"inputResponses":{"permd":{"action":"decline"}},"requestState":"` + s + `"`
		}, false, true},
		{"reject", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},"inputResponses":{"permd":{"action":"accept","content":{"answer":"reject"}}},"requestState":"` + s + `"`
		}, false, true},
		{"another answer", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},"inputResponses":{"permd":{"action":"accept","content":{"answer":"w1"}}},"requestState":"` + s + `"`
		}, false, true},
		{"no answer", func(s string) string { return `tools/call|"name":"ask","arguments":{"a":1},"requestState":"` + s + `"` }, false, true},
		{"an answer to another question", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},"inputResponses":{"x":{"action":"accept","content":{"answer":"once"}}},"requestState":"` + s + `"`
		}, false, true},
		{"other arguments", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":2},` + yes + `,"requestState":"` + s + `"`
		}, false, true},
		{"more arguments", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1,"b":1},` + yes + `,"requestState":"` + s + `"`
		}, false, true},
		{"the same number", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1.0},` + yes + `,"requestState":"` + s + `"`
		}, false, true},
		{"no arguments", func(s string) string { return `tools/call|"name":"ask",` + yes + `,"requestState":"` + s + `"` }, false, true},
		{"another tool", func(s string) string {
			return `tools/call|"name":"ask2","arguments":{"a":1},` + yes + `,"requestState":"` + s + `"`
		}, false, true},
		{"another method", func(s string) string { return `resources/read|"uri":"a:b",` + yes + `,"requestState":"` + s + `"` }, false, true},
		{"a prompt", func(s string) string {
			return `prompts/get|"name":"ask","arguments":{"a":1},` + yes + `,"requestState":"` + s + `"`
		}, false, true},
		{"no state", func(s string) string { return `tools/call|"name":"ask","arguments":{"a":1},` + yes }, false, false},
		{"another state", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},` + yes + `,"requestState":"` + s + `A"`
		}, false, false},
		{"a state in lower case", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},` + yes + `,"requestState":"` + strings.ToLower(s) + `"`
		}, false, false},
		{"an empty state", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},` + yes + `,"requestState":""`
		}, false, false},
		{"a state that is no text", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},` + yes + `,"requestState":["` + s + `"]`
		}, false, false},
		{"answers that are no object", func(s string) string {
			return `tools/call|"name":"ask","arguments":{"a":1},"inputResponses":[],"requestState":"` + s + `"`
		}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mu.Lock()
			w.tools = `[{"name":"ask"},{"name":"ask2"}]`
			w.mu.Unlock()
			w.send(t, stateless("1", methodCallTool, `"name":"ask","arguments":{"a":1}`, withForms))
			m := w.answerTo(t, "1")
			if q := m.Result.InputRequests[ownQuestion]; m.Result.ResultType != "input_required" || len(m.Result.InputRequests) != 1 || q.Method != methodElicit || !strings.HasPrefix(q.Params.Message, "permd asks: ") {
				t.Fatalf("the result is %+v", m)
			}
			state := m.Result.RequestState
			method, params, _ := strings.Cut(tt.repeat(state), "|")
			w.send(t, stateless("2", method, params, withForms))
			if tt.runs {
				w.wantServer(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"a":1},"_meta"`)
			} else if m := w.answerTo(t, "2"); m.Result.ResultType == "input_required" {
				t.Errorf("it is asked about again: %+v", m)
			}
			// Once more, with a yes.
			w.send(t, stateless("3", methodCallTool, `"name":"ask","arguments":{"a":1},`+yes+`,"requestState":"`+state+`"`, withForms))
			if tt.spent {
				if m := w.answerTo(t, "3"); m.Error.Code != codeParams {
					t.Errorf("a question is answered twice: %+v", m)
				}
			} else {
				w.wantServer(t, `"id":3,"method":"tools/call"`)
			}
			if n := w.countServer(`"method":`); n != 1 && (tt.runs || !tt.spent) || n != 0 && !tt.runs && tt.spent {
				t.Errorf("%d requests reach the server: %s", n, w.server)
			}
			if has(w, &w.server, "inputResponses") || has(w, &w.server, "requestState") {
				t.Errorf("the server receives what is for permd: %s", w.server)
			}
		})
	}
}

// TestNoForms: a client that does not say in a request that it can show forms is not asked there.
func TestNoForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		capabilities string
		no           bool // --no-elicitation
		asks         bool
	}{
		{``, false, false},
		{withForms, true, false},
		{withForms, false, true},
		{`"elicitation":{"form":{}}`, false, true},
		{`"elicitation":{"url":{}}`, false, false},
		{`"elicitation":{"url":{},"form":{}}`, false, true},
		{`"elicitation":true`, false, false},
		{`"Elicitation":{}`, false, false},
	} {
		w := newWorldWith(t, t.TempDir(), func(c *Config) { c.NoElicitation = tt.no })
		// What an earlier request said does not count.
		w.send(t, stateless("0", methodCallTool, `"name":"no"`, withForms), stateless("1", methodCallTool, `"name":"ask"`, tt.capabilities))
		m := w.answerTo(t, "1")
		if asks := m.Result.ResultType == "input_required"; asks != tt.asks || has(w, &w.server, "tools/call") {
			t.Errorf("%+v: %+v", tt, m)
		}
	}
}
