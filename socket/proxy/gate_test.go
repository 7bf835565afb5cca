package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// 12: the capabilities of both sides are not changed.
func TestInitialize(t *testing.T) {
	k := newTalk(t, Rules{})
	in := `{"jsonrpc":"2.0", "id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true},"terminal":true,"_meta":{"x":1}},"clientInfo":{"name":"ed"}}}`
	out := `{"jsonrpc":"2.0", "id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"a"},"_meta":{"y":2}}}`
	k.client(in)
	k.agent(out)
	k.want(agentSide, in)
	k.want(clientSide, out)
}

// 13: the version that counts is that of the agent's answer.
func TestVersion(t *testing.T) {
	for version, want := range map[string]string{"1": "1", "2": "2", "3": "", `"1"`: ""} {
		k := newTalk(t, Rules{})
		k.client(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2}}`)
		k.agent(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":` + version + `}}`)
		k.client(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/p"}}`)
		k.agent(`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}`)
		if got := string(strictjson.Find(k.asked("permd/session").Params, "protocolVersion")); got != want {
			t.Errorf("answered with %s, declared as %q, want %q", version, got, want)
		}
	}
}

// 14: a switch of mode passes unless permd denies it, and permd is notified of it.
// It is the person's own action, so it never asks.
func TestModes(t *testing.T) {
	cases := []struct{ name, line, params string }{
		{"mode", `{"jsonrpc":"2.0","id":5,"method":"session/set_mode","params":{"sessionId":"s1","modeId":"yolo"}}`, `{"modeId":"yolo"}`},
		{"option", `{"jsonrpc":"2.0","id":5,"method":"session/set_config_option","params":{"sessionId":"s1","configId":"m","value":"yolo"}}`, `{"configId":"m","value":"yolo"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, Rules{AskGates: true})
			k.begin("x")
			k.agent(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"m","category":"mode"},{"id":"model","category":"model"}]}}}`)
			k.client(c.line)
			k.client(`{"jsonrpc":"2.0","method":"_after"}`)
			a := k.asked("permd/gate")
			if string(strictjson.Find(a.Params, "params")) != c.params || strictjson.Find(a.Params, "ask") != nil {
				t.Errorf("permd was asked %s", a.Params)
			}
			k.want(agentSide)
			k.answer(a, `{"passes":false,"decision":{"verdict":"deny","reason":"no modes"}}`, nil)
			k.want(agentSide, `{"jsonrpc":"2.0","method":"_after"}`)
			if got := k.sent(clientSide); len(got) != 2 || got[1] != `{"jsonrpc":"2.0","id":5,"error":{"code":-32001,"message":"permd denies this: no modes"}}` {
				t.Errorf("the client got %q", got)
			}
			k.client(c.line)
			k.answer(k.asked("permd/gate"), "", client.ErrUnreachable)
			k.want(agentSide, c.line)
			k.want(clientSide)
			k.agent(`{"jsonrpc":"2.0","id":5,"result":{}}`)
			k.sent(clientSide)
			for _, err := range []error{asks("mode"), &client.Error{Code: socket.CodeBusy}} {
				k.client(c.line)
				k.answer(k.asked("permd/gate"), "", err)
				k.want(agentSide)
				if got := k.sent(clientSide); len(got) != 1 || !strings.Contains(got[0], "could not decide this") {
					t.Errorf("the client got %q", got)
				}
			}
		})
	}
	k := newTalk(t, Rules{})
	k.begin("x")
	k.client(cases[0].line)
	k.answer(k.asked("permd/gate"), passes, nil)
	k.agent(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	if a := k.asked("permd/session"); text(a.Params, "mode") != "yolo" {
		t.Errorf("declared as %s", a.Params)
	}
	k.client(`{"jsonrpc":"2.0","id":6,"method":"session/set_config_option","params":{"sessionId":"s1","configId":"model","value":"large"}}`)
	if len(k.open) != 0 {
		t.Errorf("permd was asked about a model: %v", k.open)
	}
}

const passes = `{"passes":true,"decision":{"decisionId":"g1","verdict":"ask","outcome":"passed"}}`

// TestGates: permd is asked about what the client is to do for the agent.
func TestGates(t *testing.T) {
	deny := `{"passes":false,"decision":{"verdict":"deny","reason":"r","message":"use the pipeline"}}`
	cases := []struct{ name, method, params, told string }{
		{"terminal", "terminal/create", `"command":"make","args":["a b"],"cwd":"/p/x","outputByteLimit":7`, `{"command":"make","args":["a b"],"cwd":"/p/x"}`},
		{"environment", "terminal/create", `"command":"make | sh","env":[{"name":"A","value":"b"}]`, `{"command":"make | sh","env":[{"name":"A","value":"b"}]}`},
		{"write", "fs/write_text_file", `"path":"/p/a","content":"secret"`, `{"path":"/p/a"}`},
		{"read", "fs/read_text_file", `"path":"/p/a","line":3`, `{"path":"/p/a"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			line := `{"jsonrpc":"2.0","id":3,"method":"` + c.method + `","params":{"sessionId":"s1",` + c.params + `}}`
			for _, answer := range []struct {
				result string
				err    error
				says   string
			}{
				{passes, nil, ""},
				{"", client.ErrUnreachable, ""},
				{deny, nil, "use the pipeline"},
				{`{}`, nil, "permd denies it"},
			} {
				k := newTalk(t, Rules{})
				k.begin("x")
				k.agent(line)
				k.agent(`{"jsonrpc":"2.0","method":"_after"}`)
				a := k.asked("permd/gate")
				want := `{"sessionId":"s1","method":"` + c.method + `","params":` + c.told + `}`
				if string(a.Params) != want {
					t.Errorf("permd was asked %s, want %s", a.Params, want)
				}
				k.want(clientSide)
				k.answer(a, answer.result, answer.err)
				if answer.says == "" {
					k.want(clientSide, line, `{"jsonrpc":"2.0","method":"_after"}`)
					k.want(agentSide)
					continue
				}
				k.want(clientSide, `{"jsonrpc":"2.0","method":"_after"}`)
				k.want(agentSide, fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"error":{"code":-32001,"message":"permd denies this: %s"}}`, answer.says))
			}
		})
	}
	k := newTalk(t, Rules{})
	k.begin("x")
	k.agent(`{"jsonrpc":"2.0","id":3,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/p/a","Path":"/p/b"}}`)
	k.want(clientSide)
	if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], "-32602") {
		t.Errorf("two paths: the agent got %q", got)
	}
	for id, nothing := range []string{`"command":7`, `"args":["a"]`} {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1%d,"method":"terminal/create","params":{"sessionId":"s1",%s}}`, id, nothing)
		k.agent(line)
		k.want(clientSide)
		if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], "-32602") {
			t.Errorf("%s: the agent got %q", nothing, got)
		}
	}
}

// TestRequire: the answer is an error if permd cannot be asked.
func TestRequire(t *testing.T) {
	k := newTalk(t, Rules{Require: true})
	k.begin("x")
	k.agent(request("1", "c"))
	k.answer(k.asked("session/request_permission"), "", client.ErrUnreachable)
	k.agent(`{"jsonrpc":"2.0","id":2,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/p/a","content":""}}`)
	k.answer(k.asked("permd/gate"), "", client.ErrUnreachable)
	k.want(clientSide)
	if got := k.sent(agentSide); len(got) != 2 || !strings.Contains(got[0], `"id":1,"error"`) || !strings.Contains(got[1], `"id":2,"error"`) {
		t.Errorf("the agent got %q", got)
	}
}

// TestConnectedAgain: a new permd gets all declarations, and the calls of which it
// has missed messages; the questions of the old one no longer count.
func TestConnectedAgain(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	for _, update := range []string{`"sessionUpdate":"tool_call","toolCallId":"open"`, `"sessionUpdate":"tool_call_update","toolCallId":"open 2"`,
		`"sessionUpdate":"tool_call","toolCallId":"done","status":"in_progress"`, `"sessionUpdate":"tool_call_update","toolCallId":"done","status":"completed"`} {
		k.agent(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{` + update + `}}}`)
	}
	k.agent(request("7", "c"))
	k.answer(k.asked("session/request_permission"), "", asks("run"))
	k.sent(clientSide)
	k.acts = nil
	k.do(k.core.onConnected(true))
	if len(k.acts) != 2 || text(k.acts[0].Params, "cwd") != "/p" || k.acts[1].Method != "permd/unheard" ||
		string(k.acts[1].Params) != `{"sessionId":"s1","toolCallIds":["open","open 2"]}` {
		t.Errorf("permd received %v", k.acts)
	}
	k.acts = nil
	k.client(`{"jsonrpc":"2.0","id":7,"result":` + picks("permd-width-w1") + `}`)
	k.answer(k.asked("session/request_permission"), "", client.ErrUnreachable)
	k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":`+picks("yes")+`}`)
	if len(k.acts) != 1 || len(k.says) != 1 {
		t.Errorf("permd received %v, said %q", k.acts, k.says)
	}
}

// TestConnectedAgainState: a new permd is sent the sessions whose shell may be in
// another folder.
func TestConnectedAgainState(t *testing.T) {
	state := `{"effects":[{"kind":"run","text":"ls"},{"kind":"state","text":"cd /etc"}]}`
	result := func(option string) string {
		return strings.TrimSuffix(picks(option), "}") + `,"_meta":{"permd":` + state + `}}`
	}
	for name, c := range map[string]struct {
		do   func(k *talk)
		told bool
	}{
		"allowed": {func(k *talk) {
			k.agent(request("1", "c"))
			k.answer(k.asked("session/request_permission"), result("yes"), nil)
		}, true},
		"denied": {func(k *talk) {
			k.agent(request("1", "c"))
			k.answer(k.asked("session/request_permission"), result("no"), nil)
		}, false},
		"asked": {func(k *talk) {
			k.agent(request("1", "c"))
			k.answer(k.asked("session/request_permission"), "", asks("state"))
		}, true},
		"asked about something else": {func(k *talk) {
			k.agent(request("1", "c"))
			k.answer(k.asked("session/request_permission"), "", asks("run"))
		}, false},
		"unasked": {func(k *talk) {
			k.agent(update("s1", "tool_call", "c", `,"status":"completed"`))
			k.answer(k.asked("permd/ran"), `{"decision":`+state+`}`, nil)
		}, true},
	} {
		k := newTalk(t, Rules{})
		k.begin("x")
		c.do(k)
		k.acts = nil
		k.do(k.core.onConnected(true))
		got := string(k.acts[len(k.acts)-1].Params)
		if told := got == `{"sessionId":"s1","toolCallIds":[],"state":true}`; told != c.told {
			t.Errorf("%s: permd received %s", name, got)
		}
	}
}

// TestConnectedAgainLost: a message of the agent that could not be read may have
// named any call.
func TestConnectedAgainLost(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.agent(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","sessionId":"s1"}}`)
	k.acts = nil
	k.do(k.core.onConnected(true))
	if len(k.acts) != 3 || string(k.acts[1].Params) != `{"sessionId":"s1","update":{}}` || string(k.acts[2].Params) != `{}` {
		t.Errorf("permd received %v", k.acts)
	}
}
