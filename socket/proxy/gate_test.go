package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// 12: what the two say of themselves is not touched.
func TestInitialize(t *testing.T) {
	k := newTalk(t, Rules{})
	in := `{"jsonrpc":"2.0", "id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true},"terminal":true,"_meta":{"x":1}},"clientInfo":{"name":"ed"}}}`
	out := `{"jsonrpc":"2.0", "id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"a"},"_meta":{"y":2}}}`
	k.client(in)
	k.agent(out)
	k.want(Agent, in)
	k.want(Client, out)
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
	// A request of version 2 is shown as it is.
	k := newTalk(t, Rules{})
	k.begin("x")
	k.core.version = 2
	line := `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","title":"x","subject":{"type":"command","command":"ls","cwd":"/p"},` + options + `}}`
	k.agent(line)
	k.answer(k.asked("session/request_permission"), "", asks("run"))
	k.want(Client, line)
}

// 14: a switch of mode passes unless permd denies it, and permd is told of it.
func TestModes(t *testing.T) {
	cases := []struct{ name, line string }{
		{"mode", `{"jsonrpc":"2.0","id":5,"method":"session/set_mode","params":{"sessionId":"s1","modeId":"yolo"}}`},
		{"option", `{"jsonrpc":"2.0","id":5,"method":"session/set_config_option","params":{"sessionId":"s1","configId":"m","value":"yolo"}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, Rules{})
			k.begin("x")
			k.agent(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"m","category":"mode"},{"id":"model","category":"model"}]}}}`)
			k.client(c.line)
			k.client(`{"jsonrpc":"2.0","method":"_after"}`)
			a := k.asked("session/request_permission")
			if text(a.Params, "toolCall", "kind") != "switch_mode" || text(a.Params, "toolCall", "rawInput", "modeId") != "yolo" {
				t.Errorf("permd was asked %s", a.Params)
			}
			k.want(Agent)
			k.answer(a, `{"outcome":{"outcome":"selected","optionId":"reject"},"_meta":{"permd":{"verdict":"deny","reason":"no modes"}}}`, nil)
			k.want(Agent, `{"jsonrpc":"2.0","method":"_after"}`)
			if got := k.sent(Client); len(got) != 2 || got[1] != `{"jsonrpc":"2.0","id":5,"error":{"code":-32001,"message":"permd denies this: no modes"}}` {
				t.Errorf("the client was told %q", got)
			}
			k.client(c.line)
			k.answer(k.asked("session/request_permission"), "", asks("mode"))
			k.want(Agent, c.line)
		})
	}
	k := newTalk(t, Rules{})
	k.begin("x")
	k.client(cases[0].line)
	k.answer(k.asked("session/request_permission"), "", asks("mode"))
	k.asked("permd/session") // that of the gate
	k.agent(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	if a := k.asked("permd/session"); text(a.Params, "mode") != "yolo" {
		t.Errorf("declared as %s", a.Params)
	}
	k.client(`{"jsonrpc":"2.0","id":6,"method":"session/set_config_option","params":{"sessionId":"s1","configId":"model","value":"large"}}`)
	if len(k.open) != 0 {
		t.Errorf("permd was asked about a model: %v", k.open)
	}
}

// TestGates asks about what the client is to do for the agent: only a deny
// stops it.
func TestGates(t *testing.T) {
	deny := `{"outcome":{"outcome":"selected","optionId":"reject"},"_meta":{"permd":{"verdict":"deny","reason":"r","message":"use the pipeline"}}}`
	cases := []struct{ name, method, params, kind, input string }{
		{"terminal", "terminal/create", `"command":"make","args":["a b"],"cwd":"/p/x"`, "execute", `{"command":["make","a b"],"cwd":"/p/x"}`},
		{"shell text", "terminal/create", `"command":"make | sh"`, "execute", `{"command":"make | sh"}`},
		{"write", "fs/write_text_file", `"path":"/p/a","content":"secret"`, "edit", `{"path":"/p/a"}`},
		{"read", "fs/read_text_file", `"path":"/p/a","line":3`, "read", `{"path":"/p/a"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			line := `{"jsonrpc":"2.0","id":3,"method":"` + c.method + `","params":{"sessionId":"s1",` + c.params + `}}`
			for i, answer := range []struct {
				result string
				err    error
				passes bool
			}{
				{picks("allow"), nil, true},
				{"", asks("run"), true},
				{"", client.ErrUnreachable, true},
				{deny, nil, false},
				{`{"outcome":{"outcome":"cancelled"}}`, nil, false},
			} {
				k := newTalk(t, Rules{})
				k.begin("x")
				k.agent(line)
				s := k.asked("permd/session").Params
				if text(s, "parent") != "s1" || strictjson.Find(s, "agent") != nil || text(s, "cwd") != "/p" {
					t.Errorf("judged in the session %s", s)
				}
				a := k.asked("session/request_permission")
				if got := string(strictjson.Find(a.Params, "toolCall", "rawInput")); got != c.input || text(a.Params, "toolCall", "kind") != c.kind {
					t.Errorf("permd was asked %s, want %s", a.Params, c.input)
				}
				k.want(Client)
				k.answer(a, answer.result, answer.err)
				if answer.passes {
					k.want(Client, line)
					k.want(Agent)
					continue
				}
				k.want(Client)
				why := "use the pipeline"
				if i == 4 {
					why = "permd denies it"
				}
				k.want(Agent, fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"error":{"code":-32001,"message":"permd denies this: %s"}}`, why))
			}
		})
	}
	k := newTalk(t, Rules{})
	k.begin("x")
	k.agent(`{"jsonrpc":"2.0","id":3,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/p/a","Path":"/p/b"}}`)
	k.want(Client)
	if got := k.sent(Agent); len(got) != 1 || !strings.Contains(got[0], "-32602") {
		t.Errorf("two paths: the agent was told %q", got)
	}
}

// TestRequire answers with an error where permd cannot be asked.
func TestRequire(t *testing.T) {
	k := newTalk(t, Rules{Require: true})
	k.begin("x")
	k.agent(request("1", "c"))
	k.answer(k.asked("session/request_permission"), "", client.ErrUnreachable)
	k.agent(`{"jsonrpc":"2.0","id":2,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/p/a","content":""}}`)
	k.answer(k.asked("session/request_permission"), "", client.ErrUnreachable)
	k.want(Client)
	if got := k.sent(Agent); len(got) != 2 || !strings.Contains(got[0], `"id":1,"error"`) || !strings.Contains(got[1], `"id":2,"error"`) {
		t.Errorf("the agent was told %q", got)
	}
}

// TestConnectedAgain declares everything to a new permd, which is told that it
// has missed something; its questions of before are dead.
func TestConnectedAgain(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.agent(request("7", "c"))
	k.answer(k.asked("session/request_permission"), "", asks("run"))
	k.sent(Client)
	k.acts = nil
	k.do(k.core.Connected(true))
	if len(k.acts) != 3 || text(k.acts[0].Params, "cwd") != "/p" || string(k.acts[1].Params) != `{"sessionId":"s1","update":{}}` || string(k.acts[2].Params) != `{}` {
		t.Errorf("permd heard %v", k.acts)
	}
	k.acts = nil
	k.client(`{"jsonrpc":"2.0","id":7,"result":` + picks("permd-width-w1") + `}`)
	k.want(Agent, `{"jsonrpc":"2.0","id":7,"result":`+picks("yes")+`}`)
	if len(k.acts) != 0 || len(k.says) != 1 {
		t.Errorf("permd heard %v, said %q", k.acts, k.says)
	}
}
