package acp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// seen is what a request was decided on.
type seen struct {
	Title, Kind, Input string
	Paths              []string
	Incomplete         bool
	Defects            int
}

func sawOf(c *effects.Call) seen {
	s := seen{c.Claims.Title, c.Claims.Kind, string(c.Input), nil, c.Incomplete != "", len(c.Defects)}
	for _, l := range c.Claims.Locations {
		s.Paths = append(s.Paths, l.Path)
	}
	return s
}

const bare = `{"toolCallId":"c"}`

// TestMerge sends updates and then a request, which is decided on all of them.
func TestMerge(t *testing.T) {
	const first = `{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"},"locations":[{"path":"/a"},{"path":"/b"}]}`
	whole := seen{Title: "ls", Kind: "execute", Input: `{"command":"ls"}`, Paths: []string{"/a", "/b"}}
	changed := func(f func(*seen)) seen { s := whole; f(&s); return s }
	tests := []struct {
		name    string
		updates []string
		call    string
		want    seen
	}{
		{"nothing before", nil, bare, seen{Incomplete: true}},
		{"a bare request", []string{first}, bare, whole},
		{"another call's update", []string{strings.Replace(first, `"c"`, `"d"`, 1)}, bare, seen{Incomplete: true}},
		{"null keeps", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","title":null,"rawInput":null,"locations":null}`}, bare, whole},
		{"absent keeps", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}`}, bare, whole},
		{"arrays replace", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","locations":[{"path":"/z"}]}`}, bare,
			changed(func(s *seen) { s.Paths = []string{"/z"} })},
		{"an empty array replaces", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","locations":[]}`}, bare,
			changed(func(s *seen) { s.Paths = nil })},
		{"input replaces whole", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":{"cmd":"rm"}}`}, bare,
			changed(func(s *seen) { s.Input = `{"cmd":"rm"}` })},
		{"the request is the last word", []string{first}, `{"toolCallId":"c","rawInput":{"command":"rm"}}`,
			changed(func(s *seen) { s.Input = `{"command":"rm"}` })},
		{"an update without an announcement", []string{`{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"ls","rawInput":{"command":"ls"}}`}, bare,
			seen{Title: "ls", Input: `{"command":"ls"}`}},
		{"a new call of the same id starts over", []string{first, `{"sessionUpdate":"tool_call","toolCallId":"c","title":"x"}`}, bare,
			seen{Title: "x", Incomplete: true}},
		{"a call that ended is over", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}`}, bare, seen{Incomplete: true}},
		{"a call that failed is over", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"}`}, bare, seen{Incomplete: true}},
		{"a wrong type keeps, with a defect", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","locations":7}`}, bare,
			changed(func(s *seen) { s.Defects = 1 })},
		{"a defect stays", []string{`{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","locations":[1]}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":{"command":"ls"},"locations":[{"path":"/a"},{"path":"/b"}]}`}, bare,
			changed(func(s *seen) { s.Defects = 1 })},
		{"an unreadable update loses the calls", []string{first, `{"sessionUpdate":"tool_call_update","toolCallId":"c","RawInput":{"command":"rm"}}`}, bare, seen{Incomplete: true}},
		{"and later patches do not heal them", []string{first, `{"sessionUpdate":7}`, `{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"ls","kind":"execute"}`}, bare,
			seen{Title: "ls", Kind: "execute", Incomplete: true}},
		{"but a new announcement does", []string{first, `{"sessionUpdate":7}`, first}, bare, whole},
		{"other updates are ignored", []string{first, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`,
			`{"sessionUpdate":"plan","entries":[]}`, `{"sessionUpdate":"_vendor","toolCallId":"c","title":"evil"}`}, bare, whole},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(decisions.Allow)
			c := conn(1)
			for _, u := range tt.updates {
				_, _ = d.call(t, c, MethodUpdate, sessionUpdate(u))
			}
			_, err := d.call(t, c, MethodRequestPermission, permission(tt.call))
			if diff := cmp.Diff(tt.want, sawOf(&d.last(t).Call)); diff != "" {
				t.Errorf("decided on (-want +got):\n%s", diff)
			}
			if ask := tt.want.Incomplete || tt.want.Defects > 0; ask != (code(err) == socket.CodeAsk) {
				t.Errorf("error %v, want a question: %v", err, ask)
			}
		})
	}
}

// TestRequestIsNoUpdate asks twice under one id: what the first request said
// must not complete the second.
func TestRequestIsNoUpdate(t *testing.T) {
	d := newDaemon(decisions.Allow)
	c := conn(1)
	d.must(t, c, MethodRequestPermission, permission(`{"toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`))
	_, err := d.call(t, c, MethodRequestPermission, permission(bare))
	if code(err) != socket.CodeAsk || len(d.last(t).Call.Input) > 0 {
		t.Errorf("error %v, decided on %+v", err, sawOf(&d.last(t).Call))
	}
}

// TestStateIsTheConnections sends the update on another connection, and in
// another session.
func TestStateIsTheConnections(t *testing.T) {
	d := newDaemon(decisions.Allow)
	a, b := conn(1), conn(2)
	d.must(t, a, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`))
	if _, err := d.call(t, b, MethodRequestPermission, permission(bare)); code(err) != socket.CodeAsk {
		t.Errorf("another connection's update was used: %v", err)
	}
	other := strings.Replace(permission(bare), `"s"`, `"other"`, 1)
	if _, err := d.call(t, a, MethodRequestPermission, other); code(err) != socket.CodeAsk {
		t.Errorf("another session's update was used: %v", err)
	}
	d.must(t, a, MethodRequestPermission, permission(bare))
}

// TestSnapshot changes a call after the request was read: the decision is on
// what was known then.
func TestSnapshot(t *testing.T) {
	d := newDaemon(decisions.Allow)
	c := conn(1)
	d.must(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"x","kind":"execute","rawInput":{},"locations":[]}`))
	r, err := d.start(t, c, MethodRequestPermission, permission(bare))
	if err != nil {
		t.Fatal(err)
	}
	d.must(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":{"command":"ls"},"locations":[1]}`))
	_, err = r(t.Context())
	if got := sawOf(&d.last(t).Call); code(err) != socket.CodeAsk || got.Input != "{}" || got.Defects != 0 {
		t.Errorf("error %v, decided on %+v", err, got)
	}
}

// TestBounds keeps the newest calls and asks about the others.
func TestBounds(t *testing.T) {
	announce := func(session, id, input string) string {
		return fmt.Sprintf(`{"sessionId":%q,"update":{"sessionUpdate":"tool_call","toolCallId":%q,"title":"t","kind":"execute","rawInput":%q}}`, session, id, input)
	}
	ask := func(session, id string) string {
		return fmt.Sprintf(`{"sessionId":%q,"toolCall":{"toolCallId":%q},%s}`, session, id, onceOptions)
	}
	known := func(t *testing.T, d *daemon, c *socket.Conn, session, id string, want bool) {
		t.Helper()
		_, err := d.call(t, c, MethodRequestPermission, ask(session, id))
		if got := err == nil; got != want {
			t.Errorf("%s/%s known: %v, want %v", session, id, got, want)
		}
	}
	t.Run("calls", func(t *testing.T) {
		d, c := newDaemon(decisions.Allow), conn(1)
		for i := range maxCalls + 1 {
			d.must(t, c, MethodUpdate, announce("s", fmt.Sprint(i), "ls"))
		}
		known(t, d, c, "s", "0", false)
		known(t, d, c, "s", "1", true)
		// A patch on the forgotten call does not make it whole.
		d.must(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"0","title":"ls","kind":"execute"}`))
		known(t, d, c, "s", "0", false)
	})
	t.Run("sessions", func(t *testing.T) {
		d, c := newDaemon(decisions.Allow), conn(1)
		for i := range maxSessions + 1 {
			d.must(t, c, MethodUpdate, announce(fmt.Sprint("s", i), "c", "ls"))
		}
		known(t, d, c, "s1", "c", true) // it is now the latest used
		known(t, d, c, "s0", "c", false)
		known(t, d, c, "s2", "c", false) // s0 came back in its place
		known(t, d, c, "s1", "c", true)
		if n := len(stateOf(c).sessions); n != maxSessions {
			t.Errorf("%d sessions, want %d", n, maxSessions)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		d, c := newDaemon(decisions.Allow), conn(1)
		big := strings.Repeat("x", maxBytes/4)
		for i := range 4 {
			d.must(t, c, MethodUpdate, announce(fmt.Sprint("s", i), "c", big))
		}
		known(t, d, c, "s0", "c", false)
		known(t, d, c, "s3", "c", true)
		if n := stateOf(c).bytes; n > maxBytes || n < maxBytes/2 {
			t.Errorf("%d bytes kept", n)
		}
	})
	t.Run("one call over the bound", func(t *testing.T) {
		d, c := newDaemon(decisions.Allow), conn(1)
		d.must(t, c, MethodUpdate, announce("s", "c", strings.Repeat("x", maxBytes)))
		known(t, d, c, "s", "c", false)
		if n := stateOf(c).bytes; n != 0 {
			t.Errorf("%d bytes kept", n)
		}
	})
	t.Run("bytes are given back", func(t *testing.T) {
		d, c := newDaemon(decisions.Allow), conn(1)
		for i := range 3 {
			d.must(t, c, MethodUpdate, announce("s", fmt.Sprint(i), "ls"))
			d.must(t, c, MethodUpdate, announce("s", fmt.Sprint(i), "a longer command"))
		}
		d.must(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"0","status":"completed"}`))
		_, _ = d.call(t, c, MethodUpdate, sessionUpdate(`{}`))
		d.must(t, c, native.MethodClose, `{"sessionId":"s"}`)
		if n := stateOf(c).bytes; n != 0 || len(stateOf(c).sessions) != 0 {
			t.Errorf("%d bytes, %d sessions kept", n, len(stateOf(c).sessions))
		}
	})
	t.Run("an update without a session loses all", func(t *testing.T) {
		d, c := newDaemon(decisions.Allow), conn(1)
		d.must(t, c, MethodUpdate, announce("s", "c", "ls"))
		_, err := d.call(t, c, MethodUpdate, `{"update":{"sessionUpdate":"tool_call_update"}}`)
		if code(err) != socket.CodeParams {
			t.Errorf("error %v", err)
		}
		known(t, d, c, "s", "c", false)
	})
}

// TestMode keeps the mode that the agent says it is in until the session is
// declared again.
func TestMode(t *testing.T) {
	d, c := newDaemon(decisions.Ask), conn(1)
	mode := func() string {
		_, _ = d.call(t, c, MethodRequestPermission, permission(`{"toolCallId":"c","name":"Bash"}`))
		return d.last(t).Session.Mode
	}
	d.must(t, c, native.MethodSession, `{"sessionId":"s","cwd":"/w","mode":"ask"}`)
	steps := []struct{ method, params, want string }{
		{MethodUpdate, sessionUpdate(`{"sessionUpdate":"plan"}`), "ask"},
		{MethodUpdate, sessionUpdate(`{"sessionUpdate":"current_mode_update","currentModeId":"yolo"}`), "yolo"},
		{MethodUpdate, sessionUpdate(`{"sessionUpdate":"current_mode_update","modeId":"code"}`), "code"},
		{native.MethodSession, `{"sessionId":"s","cwd":"/w","mode":"plan"}`, "plan"},
		{MethodUpdate, sessionUpdate(`{"sessionUpdate":"config_option_update","configOptions":[7,{"id":"model","category":"model","currentValue":"m"},{"configId":"m","category":"mode","type":"select","currentValue":"auto"}]}`), "auto"},
		{MethodUpdate, sessionUpdate(`{"sessionUpdate":"config_option_update","configOptions":[{"id":"mode","category":"mode","currentValue":7}]}`), "auto"},
		{MethodUpdate, sessionUpdate(`{"sessionUpdate":"config_option_update","configOptions":null}`), "auto"},
	}
	for _, s := range steps {
		d.must(t, c, s.method, s.params)
		if got := mode(); got != s.want {
			t.Errorf("after %s: mode %q, want %q", s.params, got, s.want)
		}
	}
	if _, err := d.call(t, c, MethodUpdate, sessionUpdate(`{"sessionUpdate":"current_mode_update","currentmodeid":"x","currentModeId":"y"}`)); code(err) != socket.CodeParams {
		t.Errorf("error %v", err)
	}
}

// TestTwoAboutOne asks twice about one call: what the first request said other
// than the updates must not be filled in with what they said.
func TestTwoAboutOne(t *testing.T) {
	const announce = `{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"},"locations":[{"path":"/a"}]}`
	tests := []struct {
		name          string
		first, second string // tool calls of the requests
		between       string // an update
		question      bool
	}{
		{"the same twice", bare, bare, "", false},
		{"the same values", `{"toolCallId":"c","rawInput":{"command":"ls"},"title":"ls"}`, bare, "", false},
		{"another command, then nothing", `{"toolCallId":"c","rawInput":{"command":"rm"}}`, bare, "", true},
		{"another command, then a third", `{"toolCallId":"c","rawInput":{"command":"rm"}}`, `{"toolCallId":"c","rawInput":{"command":"cp"}}`, "", false},
		{"another command, then an update", `{"toolCallId":"c","rawInput":{"command":"rm"}}`, bare, `{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":{"command":"cp"}}`, false},
		{"another command, then an update of something else", `{"toolCallId":"c","rawInput":{"command":"rm"}}`, bare, `{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"x"}`, true},
		{"a name, then none", `{"toolCallId":"c","name":"mcp__a__b"}`, `{"toolCallId":"c","rawInput":{"command":"cp"}}`, "", true},
		{"other places, then none", `{"toolCallId":"c","locations":[]}`, bare, "", true},
		{"one tool, then another, each in full", `{"toolCallId":"c","title":"external_directory","kind":"other","rawInput":{"filepath":"/x"},"locations":[{"path":"/x"}]}`,
			`{"toolCallId":"c","title":"bash","kind":"execute","rawInput":{"command":"ls"},"locations":[]}`, "", false},
		{"then the call is announced anew", `{"toolCallId":"c","rawInput":{"command":"rm"}}`, bare,
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, c := newDaemon(decisions.Allow), conn(1)
			d.must(t, c, MethodUpdate, sessionUpdate(announce))
			d.must(t, c, MethodRequestPermission, permission(tt.first))
			if tt.between != "" {
				d.must(t, c, MethodUpdate, sessionUpdate(tt.between))
			}
			_, err := d.call(t, c, MethodRequestPermission, permission(tt.second))
			if got := code(err) == socket.CodeAsk; got != tt.question {
				t.Errorf("error %v, want a question: %v; decided on %+v", err, tt.question, sawOf(&d.last(t).Call))
			}
		})
	}
}

// TestTwoAgents has two agents on one connection, in sessions of their own,
// with the same ids of calls.
func TestTwoAgents(t *testing.T) {
	d, c := newDaemon(decisions.Ask), conn(1)
	d.declare(t, c, "s1", "one")
	d.must(t, c, native.MethodSession, `{"sessionId":"s2","cwd":"/v","agent":{"name":"two"},"protocolVersion":2}`)
	d.must(t, c, MethodUpdate, `{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"one","rawInput":{"command":"one"}}}`)
	d.must(t, c, MethodUpdate, `{"sessionId":"s2","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"two","rawInput":{"command":"two"}}}`)
	_, _ = d.call(t, c, MethodRequestPermission, strings.Replace(permission(bare), `"s"`, `"s1"`, 1))
	if call := d.last(t).Call; call.Claims.Title != "one" || call.Agent.Name != "one" || call.Cwd != "/home/ana/src/shop" {
		t.Errorf("decided on %+v", call)
	}
	_, _ = d.call(t, c, MethodRequestPermission, strings.Replace(ask(bare), `"s"`, `"s2"`, 1))
	if call := d.last(t).Call; call.Claims.Title != "two" || call.Agent.Name != "two" || call.Cwd != "/v" {
		t.Errorf("decided on %+v", call)
	}
	d.must(t, c, MethodCancel, `{"sessionId":"s1"}`)
	if _, err := d.call(t, c, native.MethodChoose, `{"decisionId":"d1","verdict":"deny"}`); err == nil {
		t.Error("the question of the session that was cancelled is still open")
	}
	d.must(t, c, native.MethodChoose, `{"decisionId":"d2","verdict":"deny"}`)
}
