package httpapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/protocoldoc"
)

// TestWords: each verdict has one word. An unknown verdict is a deny, and only an
// allow has the word for it.
func TestWords(t *testing.T) {
	for _, tt := range []struct {
		verdict decisions.Verdict
		message string
		want    string
	}{
		{decisions.Allow, "", `{"decision":"allow","reason":""}`},
		{decisions.Allow, "well done", `{"decision":"allow","reason":""}`},
		{decisions.Ask, "", `{"decision":"requires-approval","reason":"because of rule 7"}`},
		{decisions.Ask, "ask ana", `{"decision":"requires-approval","reason":"because of rule 7"}`},
		{decisions.Deny, "", `{"decision":"deny","reason":"permd denies this call"}`},
		{decisions.Deny, "use staging", `{"decision":"deny","reason":"use staging"}`},
		{"", "", `{"decision":"deny","reason":"permd denies this call"}`},
		{"Allow", "", `{"decision":"deny","reason":"permd denies this call"}`},
	} {
		s := serveUnix(t, Options{})
		s.verdict, s.message = tt.verdict, tt.message
		got := s.send(t, s.post(PathDecision, okInput))
		if want := `{"decision_id":"d1","result":` + tt.want + "}\n"; got.status != 200 || got.body != want {
			t.Errorf("%q: %d %s, want %s", tt.verdict, got.status, got.body, want)
		}
	}
}

// TestInput checks which parts of an input become part of the call.
func TestInput(t *testing.T) {
	s := serveUnix(t, Options{})
	for _, tt := range []struct {
		name, input string
		want        map[string]string
	}{
		{"the least", `{"tool":{"name":"deploy"},"args":{}}`, map[string]string{"tool": "deploy", "input": "{}", "id": "call"}},
		{
			"all of policy-opa", `{"tool":{"name":"deploy"},"args":{"n":1.0},"messages":[{"role":"user","content":"canary"}],"runtimeContext":{"role":"developer"}}`,
			map[string]string{"tool": "deploy", "input": `{"n":1.0}`, "id": "call"},
		},
		{
			"a tool of a server", `{"tool":{"name":"merge","server":"github","source":"https://github.example","version":"2"},"args":[1],"callId":"c\"9"}`,
			map[string]string{"tool": "merge", "server": "github", "source": "https://github.example", "version": "2", "input": "[1]", "id": `c"9`},
		},
		{
			"a session", `{"tool":{"name":"Bash"},"args":{"command":"ls"},"session":{"sessionId":"s\u0031","cwd":"/w","mode":"plan","agent":{"name":"claude","version":"1"},"client":{"name":"app"}}}`,
			map[string]string{"tool": "Bash", "input": `{"command":"ls"}`, "id": "call", "session": "s1", "cwd": "/w", "mode": "plan", "agent": "claude", "client": "app"},
		},
		{
			"a session in the context", `{"tool":{"name":"x"},"args":"text","runtimeContext":{"permd":{"sessionId":"s2","cwd":"/v"},"canary":1}}`,
			map[string]string{"tool": "x", "input": `"text"`, "id": "call", "session": "s2", "cwd": "/v"},
		},
		{"contexts that are none", `{"tool":{"name":"x"},"args":0,"runtimeContext":["permd"]}`, map[string]string{"tool": "x", "input": "0", "id": "call"}},
		{"nulls", `{"tool":{"name":"x"},"args":false,"runtimeContext":null,"session":null,"callId":null}`, map[string]string{"tool": "x", "input": "false", "id": "call"}},
		{"arguments that are null", `{"tool":{"name":"x"},"args":null}`, map[string]string{"tool": "x", "id": "call"}},
		{"a context without a session", `{"tool":{"name":"x"},"args":{},"runtimeContext":{"permd":null}}`, map[string]string{"tool": "x", "input": "{}", "id": "call"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := s.send(t, s.post(PathDecision, `{"input":`+tt.input+`}`))
			if got.status != 200 {
				t.Fatalf("%+v", got)
			}
			asked := s.requests()
			r := asked[len(asked)-1]
			facts := map[string]string{
				"tool": r.Call.Tool.Name, "server": r.Call.Tool.Server, "source": r.Call.Tool.Source, "version": r.Call.Tool.Version,
				"input": string(r.Call.Input), "id": r.Call.ID, "session": r.Session.ID, "cwd": r.Call.Cwd, "mode": r.Session.Mode,
				"agent": r.Call.Agent.Name, "client": r.Call.Client.Name,
			}
			for k, v := range facts {
				if v == "" {
					delete(facts, k)
				}
			}
			if diff := cmp.Diff(tt.want, facts); diff != "" {
				t.Errorf("the call (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInputRefused: an ambiguous or incomplete input is an error, and nothing is
// decided.
func TestInputRefused(t *testing.T) {
	s := serveUnix(t, Options{})
	decision := func(input string) [2]string { return [2]string{PathDecision, `{"input":` + input + `}`} }
	calls := func(body string) [2]string { return [2]string{pathCalls, body} }
	const call = `{"callId":"c1","tool":{"name":"x"},"input":{}}`
	ok := `{"tool":{"name":"x"},"args":{}}`
	for name, r := range map[string][2]string{
		"no JSON":                        {PathDecision, `input`},
		"half of it":                     {PathDecision, okInput[:20]},
		"more behind it":                 {PathDecision, okInput + `{}`},
		"twice":                          {PathDecision, okInput + okInput},
		"a list":                         {PathDecision, `[` + okInput + `]`},
		"null":                           {PathDecision, `null`},
		"nothing":                        {PathDecision, `{}`},
		"a byte order mark":              {PathDecision, "\ufeff" + okInput},
		"no UTF-8":                       decision("{\"tool\":{\"name\":\"x\xff\"},\"args\":{}}"),
		"a lone surrogate":               decision(`{"tool":{"name":"x"},"args":{"a":"\ud800"}}`),
		"two inputs":                     {PathDecision, `{"input":` + ok + `,"input":` + ok + `}`},
		"two inputs, one escaped":        {PathDecision, `{"input":` + ok + `,"inpu\u0074":` + ok + `}`},
		"an input in other letters":      {PathDecision, `{"Input":` + ok + `,"input":` + ok + `}`},
		"an input that is text":          decision(`"x"`),
		"an input that is null":          decision(`null`),
		"two tools":                      decision(`{"tool":{"name":"x"},"tool":{"name":"y"},"args":{}}`),
		"a tool in other letters":        decision(`{"Tool":{"name":"y"},"tool":{"name":"x"},"args":{}}`),
		"a name in other letters":        decision(`{"tool":{"name":"x","Name":"y"},"args":{}}`),
		"arguments in other letters":     decision(`{"tool":{"name":"x"},"args":{},"ARGS":{}}`),
		"a name that stands twice there": decision(`{"tool":{"name":"x"},"args":{"a":1,"a":2}}`),
		"twice in what is dropped":       decision(`{"tool":{"name":"x"},"args":{},"messages":[{"a":1,"a":2}]}`),
		"too deep":                       decision(`{"tool":{"name":"x"},"args":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`),
		"no tool":                        decision(`{"args":{}}`),
		"a tool that is text":            decision(`{"tool":"x","args":{}}`),
		"a tool without a name":          decision(`{"tool":{},"args":{}}`),
		"an empty name":                  decision(`{"tool":{"name":""},"args":{}}`),
		"a name that is a number":        decision(`{"tool":{"name":7},"args":{}}`),
		"a long name":                    decision(`{"tool":{"name":"` + strings.Repeat("x", 2000) + `"},"args":{}}`),
		"no arguments":                   decision(`{"tool":{"name":"x"}}`),
		"an id that is a number":         decision(`{"tool":{"name":"x"},"args":{},"callId":7}`),
		"an empty id":                    decision(`{"tool":{"name":"x"},"args":{},"callId":""}`),
		"a session that is text":         decision(`{"tool":{"name":"x"},"args":{},"session":"s1"}`),
		"a session without an id":        decision(`{"tool":{"name":"x"},"args":{},"session":{"cwd":"/"}}`),
		"a session with an empty id":     decision(`{"tool":{"name":"x"},"args":{},"session":{"sessionId":"","cwd":"/"}}`),
		"a session whose id is null":     decision(`{"tool":{"name":"x"},"args":{},"session":{"sessionId":null,"cwd":"/"}}`),
		"a session without a folder":     decision(`{"tool":{"name":"x"},"args":{},"session":{"sessionId":"s"}}`),
		"a relative folder":              decision(`{"tool":{"name":"x"},"args":{},"session":{"sessionId":"s","cwd":"w"}}`),
		"an unknown parent":              decision(`{"tool":{"name":"x"},"args":{},"session":{"sessionId":"s","cwd":"/","parent":"p"}}`),
		"a harness":                      decision(`{"tool":{"name":"x"},"args":{},"session":{"sessionId":"s","cwd":"/","harness":"claude"}}`),
		"a harness, escaped":             decision(`{"tool":{"name":"x"},"args":{},"session":{"sessionId":"s","cwd":"/","h\u0061rness":"claude"}}`),
		"a harness in other letters":     decision(`{"tool":{"name":"x"},"args":{},"session":{"sessionId":"s","cwd":"/","Harness":"claude"}}`),
		"an id in other letters":         decision(`{"tool":{"name":"x"},"args":{},"session":{"sessionId":"s","SessionId":"t","cwd":"/"}}`),
		"two sessions":                   decision(`{"tool":{"name":"x"},"args":{},"session":{"sessionId":"s","cwd":"/"},"runtimeContext":{"permd":{"sessionId":"t","cwd":"/"}}}`),
		"a session in other letters":     decision(`{"tool":{"name":"x"},"args":{},"Session":{"sessionId":"s","cwd":"/"}}`),
		"permd in other letters":         decision(`{"tool":{"name":"x"},"args":{},"runtimeContext":{"Permd":{"sessionId":"s","cwd":"/"}}}`),
		"permd that is text":             decision(`{"tool":{"name":"x"},"args":{},"runtimeContext":{"permd":"s"}}`),
		"no calls":                       calls(`{}`),
		"calls that are none":            calls(`{"calls":[]}`),
		"calls that are null":            calls(`{"calls":null}`),
		"too many calls":                 calls(`{"calls":[` + strings.Repeat(call+",", 64) + call + `]}`),
		"an id twice":                    calls(`{"calls":[` + call + `,` + call + `]}`),
		"calls in other letters":         calls(`{"calls":[` + call + `],"Calls":[]}`),
		"calls twice":                    calls(`{"calls":[` + call + `],"calls":[` + call + `]}`),
		"a session beside the calls":     calls(`{"sessionId":"s1","calls":[` + call + `]}`),
		"more behind the calls":          calls(`{"calls":[` + call + `]}]`),
	} {
		t.Run(name, func(t *testing.T) {
			before := len(s.requests())
			got := s.send(t, s.post(r[0], r[1]))
			if got.status != 400 || len(s.requests()) != before {
				t.Errorf("answer %+v, %d calls decided", got, len(s.requests())-before)
			}
			var e struct{ Code, Message string }
			if err := json.Unmarshal([]byte(got.body), &e); err != nil || e.Code != "invalid_parameter" || e.Message == "" {
				t.Errorf("the error is %s", got.body)
			}
		})
	}
}

// TestSessionsLast: a session is identified by the person and its id, on any
// connection; without an id there is none.
func TestSessionsLast(t *testing.T) {
	s := serveUnix(t, Options{})
	in := func(session string) *decisions.Request {
		got := s.send(t, s.post(pathCalls, `{"calls":[{"callId":"c","tool":{"name":"x"},"input":{}}]`+session+`}`))
		if got.status != 200 || !strings.HasPrefix(got.body, `{"decisions":[{`) {
			t.Fatalf("answer %+v", got)
		}
		asked := s.requests()
		return asked[len(asked)-1]
	}
	first := in(`,"session":{"sessionId":"s1","cwd":"/a"}`)
	second := in(`,"session":{"sessionId":"s1","cwd":"/b"}`)
	if in(`,"session":{"sessionId":"s1","cwd":"/a"}`); s.prepared.Load() != 2 {
		t.Errorf("rules were looked for %d times, want once for each declaration", s.prepared.Load())
	}
	child := in(`,"session":{"sessionId":"s2","cwd":"/b","parent":"s1"}`)
	other := in(`,"session":{"sessionId":"s3","cwd":"/b"}`)
	none := in("")
	if first.Session.Conn != second.Session.Conn || first.Session.Conn != child.Session.Conn || !slices.Equal(child.Session.Ancestors, []string{"s1"}) {
		t.Errorf("one session is %+v and %+v, its child %+v", first.Session, second.Session, child.Session)
	}
	if first.Session.Conn == other.Session.Conn || none.Session.Conn != 0 || none.Call.Cwd != "" {
		t.Errorf("the sessions are %+v, %+v and %+v", first.Session, other.Session, none.Session)
	}
	if first.Call.Cwd != "/a" || second.Call.Cwd != "/b" {
		t.Error("a call is not about the folder that came with it")
	}
}

// TestDocumented compares the tables of the document with what is read and served.
func TestDocumented(t *testing.T) {
	doc, err := protocoldoc.Read("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(doc), "\n## HTTP\n")
	if !ok {
		t.Fatal("HTTP is not documented")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	part := func(title string) protocoldoc.Document {
		_, text, ok := strings.Cut(section, "\n### "+title+"\n")
		if !ok {
			t.Fatalf("%s is not documented", title)
		}
		text, _, _ = strings.Cut(text, "\n### ")
		return protocoldoc.Document("\n## it\n" + text)
	}
	for title, want := range map[string][]string{
		"One call over HTTP": inputMembers, "Calls over HTTP": {"calls", "session"},
	} {
		got, err := part(title).Table("it", "parameter")
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
			t.Errorf("%s (-read +documented):\n%s", title, diff)
		}
	}
	for _, path := range []string{PathDecision, pathCalls, PathHealth, pathMetrics} {
		if !strings.Contains(section, "\n| `"+path+"` | ") {
			t.Errorf("%s is not documented", path)
		}
	}
	for f := range reflect.TypeFor[dataResult]().Fields() {
		if name := f.Tag.Get("json"); !strings.Contains(section, `"`+name+`"`) {
			t.Errorf("%s is not documented", name)
		}
	}
}
