package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
)

// TestHidden: a line in which another reader may find another message than permd
// does, or one that permd does not find, is not passed on.
func TestHidden(t *testing.T) {
	const gate = `{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s1","command":"x"}}`
	refused := map[string]string{
		"between two returns":        `{"jsonrpc":"2.0","method":"_x","params":[` + "\r" + gate + "\r]}",
		"behind a text and a return": "ready\r" + gate,
		"behind a line separator":    "ready\u2028" + gate,
		"behind a next line":         "ready\u0085 " + gate,
		"behind a form feed":         "ready\f" + gate,
		"behind a NUL":               "\x00" + gate,
		"behind a file separator":    "\x1c" + gate,
		"behind an escape":           "\x1b" + gate,
		"a batch behind a NUL":       "\x00 [ " + gate + "]",
		"behind a byte order mark":   "\ufeff" + gate,
	}
	for name, line := range refused {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(line)
		k.want(clientSide)
		if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], `"id":null,"error"`) || len(k.says) != 1 {
			t.Errorf("%s: the agent got %q, the person %q", name, got, k.says)
		}
	}
	for name, line := range map[string]string{
		"a coloured line of a log":    "\x1b[32mready\x1b[0m {1}",
		"a bar":                       "10%\r20%\r",
		"a text with braces":          "ready {1}",
		"the end of a line of DOS":    `{"jsonrpc":"2.0","method":"_x"}` + "\r",
		"a separator within a text":   `{"jsonrpc":"2.0","method":"_x","params":"` + "\u2028{}" + `"}`,
		"an escaped return in a text": `{"jsonrpc":"2.0","method":"_x","params":"\r{}"}`,
	} {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(line)
		if got := k.sent(clientSide); len(got) != 1 || got[0] != line {
			t.Errorf("%s: the client was sent %q", name, got)
		}
	}
}

// TestVagueGates: a gate without required members, which a lenient client might
// carry out, is not passed on.
func TestVagueGates(t *testing.T) {
	const path = `"path":"/p/a","content":"x"`
	for name, params := range map[string]string{
		"no session": path, "a session that is a number": `"sessionId":1,` + path, "a session without a name": `"sessionId":"",` + path,
		"no path": `"sessionId":"s1"`, "a list as the path": `"sessionId":"s1","path":["/p/a"]`,
	} {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(`{"jsonrpc":"2.0","id":3,"method":"fs/write_text_file","params":{` + params + `}}`)
		k.want(clientSide)
		if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], `"id":3,"error":{"code":-32602`) {
			t.Errorf("%s: the agent got %q", name, got)
		}
	}
	for _, method := range []string{"fs/write_text_file", "fs/read_text_file", "terminal/create"} {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(`{"jsonrpc":"2.0","method":"` + method + `","params":{"sessionId":"s1","command":"x",` + path + `}}`)
		k.want(clientSide)
		if len(k.says) != 1 || len(k.sent(agentSide)) != 0 {
			t.Errorf("%s: said %q", method, k.says)
		}
	}
}

// TestSharedIDs: an answer counts as a person's approval only if no other request
// has that id.
func TestSharedIDs(t *testing.T) {
	const (
		other  = `{"jsonrpc":"2.0","id":7,"method":"terminal/output","params":{"sessionId":"s1","terminalId":"t"}}`
		inUse  = `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"` + errInUse + `"}}`
		output = `{"jsonrpc":"2.0","id":7,"result":{"output":"","truncated":false}}`
	)
	for name, asked := range map[string]string{
		"permission": request("7", "c"), "gate": strings.Replace(writeLine, `"id":3`, `"id":7`, 1),
	} {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(other)
		k.want(clientSide, other)
		k.agent(asked)
		k.want(clientSide)
		k.want(agentSide, inUse)
		k.client(output)
		k.want(agentSide, output)
		k.agent(asked) // the id is free again
		if len(k.open) != 1 {
			t.Errorf("%s: permd was asked %v", name, k.open)
		}
	}
	k := newTalk(t, Rules{})
	k.begin("x")
	k.shows("7")
	k.agent(other)
	k.want(clientSide)
	k.want(agentSide, inUse)
	// permd is not sent an approval that does not follow the protocol.
	k.client(output)
	k.answer(k.asked("session/request_permission"), "", asks("run"))
	k.want(agentSide, output)
	for _, a := range k.open {
		if a.Method == "permd/choose" {
			t.Errorf("permd received %s", a.Params)
		}
	}
}

// TestSharedIDsBound: the memory for unanswered requests is bounded.
func TestSharedIDsBound(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	for i := range maxOpen + 1 {
		k.agent(fmt.Sprintf(`{"jsonrpc":"2.0","id":"x%d","method":"_x"}`, i))
	}
	if n := len(k.sent(clientSide)); n != maxOpen {
		t.Errorf("%d were passed on", n)
	}
	if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], errMany) {
		t.Errorf("the agent got %q", got)
	}
}

// TestMoved: a session's folder is the one in which the client opened it last.
func TestMoved(t *testing.T) {
	for _, method := range []string{"session/load", "session/resume"} {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.client(`{"jsonrpc":"2.0","id":2,"method":"` + method + `","params":{"sessionId":"s1","cwd":"/q","additionalDirectories":["/r"]}}`)
		k.declared("s1", "/q", `["/r"]`)
		k.agent(`{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"x"}}`)
		k.declared("s1", "/p", "")
		k.client(`{"jsonrpc":"2.0","id":3,"method":"` + method + `","params":{"sessionId":"s1","cwd":"/p"}}`)
		if len(k.open) != 0 {
			t.Errorf("%s: permd was told of the same folder: %v", method, k.open)
		}
	}
	// An agent that names a session before it is opened does not choose its folder.
	k := newTalk(t, Rules{})
	k.begin("x")
	k.agent(update("s2", "tool_call", "c", `,"title":"x"`))
	k.declared("s2", "/p", "")
	k.client(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/q"}}`)
	k.agent(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s2"}}`)
	if a := k.declared("s2", "/q", ""); strictjson.Find(a.Params, "parent") != nil {
		t.Errorf("declared as %s", a.Params)
	}
}

func (k *talk) declared(session, cwd, roots string) action {
	k.t.Helper()
	a := k.asked("permd/session")
	if text(a.Params, "sessionId") != session || text(a.Params, "cwd") != cwd || string(strictjson.Find(a.Params, "roots")) != roots {
		k.t.Errorf("declared as %s, want %s in %s", a.Params, session, cwd)
	}
	return a
}

// TestGateTitle: permd's own question shows the gate in one line.
func TestGateTitle(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.agent(`{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s1","command":"make","args":["a\nb\u202e"]}}`)
	k.answer(k.asked("permd/gate"), "", asks("run"))
	got := k.sent(clientSide)
	if len(got) != 1 || text(strictjson.Value(got[0]), "params", "toolCall", "title") != `make a\u{a}b\u{202e}` {
		t.Errorf("the client was sent %q", got)
	}
}
