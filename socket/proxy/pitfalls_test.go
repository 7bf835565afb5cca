package proxy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// The ways in which a proxy between an ACP client and an agent can go wrong, each
// with a test. Those of the process (logging in at a terminal, signals and exit
// status) are tested with the command.

// 1: ids are told apart by their bytes and never changed, in both directions at
// once.
func TestIDs(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	ids := []string{`1`, `"1"`, `1.0`, `null`, `"a\"\u00e9"`}
	for _, id := range ids {
		k.agent(request(id, "c"))
	}
	// The client's own requests have the same ids.
	prompt := `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1"}}`
	k.client(prompt)
	k.want(agentSide, prompt)
	k.client(`{"jsonrpc":"2.0","id":1.0,"result":` + picks("yes") + `}`)
	k.want(agentSide) // an answer to a request that the client was not sent
	var questions []action
	for range ids {
		questions = append(questions, k.asked("session/request_permission"))
	}
	for i := len(ids) - 1; i >= 0; i-- {
		k.answer(questions[i], picks("yes"), nil)
		k.want(agentSide, `{"jsonrpc":"2.0","id":`+ids[i]+`,"result":`+picks("yes")+`}`)
	}
	// One string, written in two ways, is one id.
	k.agent(request(`"é"`, "c"))
	k.agent(request(`"\u00e9"`, "c"))
	if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], `"error"`) {
		t.Errorf("the second request of an id in use was answered %q", got)
	}
}

// 2: bytes are forwarded unchanged, even if permd rewrites another part of the
// message.
func TestBytes(t *testing.T) {
	k := newTalk(t, Rules{NoReasons: true})
	k.begin("x")
	const more = `"vendor":{"n":12345678901234567890.10,"s":"\u00e9\/","a":[ 1 ]},"name":"Tool"`
	line := strings.Replace(request("7", "c"), `"toolCallId":"c"`, `"toolCallId":"c",`+more, 1)
	k.agent(line)
	k.answer(k.asked("session/request_permission"), "", asks("run"))
	got := k.sent(clientSide)
	if len(got) != 1 || !strings.Contains(got[0], more) {
		t.Errorf("shown %q, want %s in it", got, more)
	}
}

// 3: a batch is refused, whatever its sender and position; so is a message of
// the agent that can be read in two ways.
func TestBatches(t *testing.T) {
	for name, line := range map[string]string{
		"batch":            `[` + request("1", "c") + `]`,
		"batch with space": " \t[" + request("1", "c") + `]`,
		"empty batch":      `[]`,
	} {
		for _, from := range []peerSide{clientSide, agentSide} {
			k := newTalk(t, Rules{})
			k.do(k.core.onLine(from, []byte(line+"\n")))
			k.want(from.other())
			k.want(from, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"permd acp: batches are not part of the protocol"}}`)
			if len(k.says) != 1 {
				t.Errorf("%s: said %q", name, k.says)
			}
		}
	}
	for name, line := range map[string]string{
		"two methods":      `{"jsonrpc":"2.0","id":1,"method":"x","method":"fs/write_text_file","params":{}}`,
		"another case":     `{"jsonrpc":"2.0","id":1,"Method":"fs/write_text_file","params":{}}`,
		"byte order mark":  "\ufeff" + request("1", "c"),
		"answer and call":  `{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{},"result":1}`,
		"error and call":   `{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{},"error":{}}`,
		"method no string": `{"jsonrpc":"2.0","id":1,"method":["fs/write_text_file"],"params":{}}`,
		"not UTF-8":        "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"\xff\"}",
		"too deep":         `{"jsonrpc":"2.0","method":"x","params":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		"half":             `{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file"`,
		"two on a line":    `{"jsonrpc":"2.0"}` + request("1", "c"),
	} {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(line)
		k.want(clientSide)
		if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], `"id":null,"error"`) {
			t.Errorf("%s: the agent got %q", name, got)
		}
		if len(k.acts) != 2 || string(k.acts[0].Params) != `{"sessionId":"s1","update":{}}` || string(k.acts[1].Params) != `{}` {
			t.Errorf("%s: permd was not notified that messages were lost: %v", name, k.acts)
		}
	}
}

// 4: permd gets updates and requests in the agent's order, and so does the client.
func TestOrder(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.agent(update("s1", "tool_call", "a", `,"rawInput":{"command":"one"}`))
	k.agent(request("1", "a"))
	k.agent(update("s1", "tool_call_update", "a", `,"rawInput":{"command":"two"}`))
	k.agent(request("2", "b"))
	k.agent(`{"jsonrpc":"2.0","method":"_last"}`)
	var received []string
	for _, a := range k.acts {
		received = append(received, a.Method)
	}
	if d := cmp.Diff([]string{"session/update", "session/request_permission", "session/update", "session/request_permission"}, received); d != "" {
		t.Errorf("permd received (-want +got):\n%s", d)
	}
	first, second := k.asked("session/request_permission"), k.asked("session/request_permission")
	k.answer(second, "", client.ErrUnreachable)
	k.want(clientSide, update("s1", "tool_call", "a", `,"rawInput":{"command":"one"}`))
	k.answer(first, "", client.ErrUnreachable)
	k.want(clientSide, request("1", "a"), update("s1", "tool_call_update", "a", `,"rawInput":{"command":"two"}`), request("2", "b"), `{"jsonrpc":"2.0","method":"_last"}`)
}

// 5: every request is answered once, and a side that has not seen it is not told
// that it was cancelled.
func TestOneAnswer(t *testing.T) {
	const cancelTurn = `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`
	const withdraw = `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`
	t.Run("the turn is cancelled while permd decides", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(request("7", "c"))
		a := k.asked("session/request_permission")
		k.client(cancelTurn)
		k.want(agentSide, cancelTurn, `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`)
		if last := k.acts[len(k.acts)-1]; last.Method != "session/cancel" {
			t.Errorf("permd was not notified: %v", k.acts)
		}
		k.answer(a, picks("yes"), nil) // too late
		k.want(agentSide)
		k.want(clientSide)
	})
	t.Run("of another session", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(request("7", "c"))
		k.client(strings.Replace(cancelTurn, "s1", "s2", 1))
		k.answer(k.asked("session/request_permission"), picks("yes"), nil)
		k.want(agentSide, strings.Replace(cancelTurn, "s1", "s2", 1), `{"jsonrpc":"2.0","id":7,"result":`+picks("yes")+`}`)
	})
	t.Run("the turn is cancelled while the person decides", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(request("7", "c"))
		k.answer(k.asked("session/request_permission"), "", asks("run"))
		k.client(cancelTurn)
		k.want(agentSide, cancelTurn) // the client answers it
		back := `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`
		k.client(back)
		k.want(agentSide, back)
	})
	t.Run("withdrawn while permd decides", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(request("7", "c"))
		a := k.asked("session/request_permission")
		k.agent(withdraw)
		k.want(agentSide, `{"jsonrpc":"2.0","id":7,"error":{"code":-32800,"message":"request cancelled"}}`)
		if last := k.acts[len(k.acts)-1]; last.Kind != actWithdraw || last.N != a.N {
			t.Errorf("permd was not notified: %v", k.acts)
		}
		k.answer(a, picks("yes"), nil)
		k.want(agentSide)
		k.want(clientSide)
	})
	t.Run("withdrawn after permd has answered", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(request("7", "c"))
		k.answer(k.asked("session/request_permission"), picks("yes"), nil)
		k.agent(withdraw)
		k.want(clientSide)
		// The id is free again, for what the client does see.
		k.agent(`{"jsonrpc":"2.0","id":7,"method":"_ask"}`)
		k.agent(withdraw)
		k.want(clientSide, `{"jsonrpc":"2.0","id":7,"method":"_ask"}`, withdraw)
		k.sent(agentSide)
		k.client(`{"jsonrpc":"2.0","id":7,"result":1}`)
		k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":1}`)
	})
	t.Run("withdrawn while the person decides", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(request("7", "c"))
		k.answer(k.asked("session/request_permission"), "", asks("run"))
		k.sent(clientSide)
		k.agent(withdraw)
		k.want(clientSide, withdraw)
		back := `{"jsonrpc":"2.0","id":7,"error":{"code":-32800,"message":"Request cancelled"}}`
		k.client(back)
		k.want(agentSide, back)
	})
	t.Run("answered by a client that was not asked", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(request("7", "c"))
		k.client(`{"jsonrpc":"2.0","id":7,"result":` + picks("yes") + `}`)
		k.want(agentSide)
		k.answer(k.asked("session/request_permission"), picks("no"), nil)
		k.client(`{"jsonrpc":"2.0","id":7,"result":` + picks("yes") + `}`)
		k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":`+picks("no")+`}`)
	})
}

// 6: a session that the agent opens by itself has the folder of the only one
// that the client has opened, and no folder when there are two.
func TestOwnSessions(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.agent(update("sub", "tool_call", "c", ``))
	a := k.asked("permd/session")
	if p := a.Params; text(p, "sessionId") != "sub" || text(p, "cwd") != "/p" || text(p, "parent") != "s1" {
		t.Errorf("declared as %s", p)
	}
	k.client(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/q","mcpServers":[]}}`)
	k.agent(update("early", "tool_call", "c", ``)) // perhaps the new one
	k.agent(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s2"}}`)
	if a := k.asked("permd/session"); text(a.Params, "sessionId") != "s2" {
		t.Errorf("declared as %s", a.Params)
	}
	k.agent(update("sub2", "tool_call", "c", ``))
	if len(k.open) != 0 {
		t.Errorf("a session that may belong to two was declared: %v", k.open)
	}
}

// 7: if an agent sends the input after the request, permd is asked again with it;
// the wait is bounded.
func TestLateInput(t *testing.T) {
	late := strings.Replace(request("7", "c"), `"toolCallId":"c"`, `"toolCallId":"c","title":"bash","rawInput":{}`, 1)
	input := update("s1", "tool_call_update", "c", `,"rawInput":{"command":"ls"}`)
	begin := func(t *testing.T, agent string) *talk {
		k := newTalk(t, Rules{NoReasons: true})
		k.begin(agent)
		k.agent(late)
		k.answer(k.asked("session/request_permission"), "", asks("unknown"))
		return k
	}
	t.Run("it comes", func(t *testing.T) {
		k := begin(t, "OpenCode")
		k.want(clientSide)
		if len(k.wakes) != 1 || k.wakes[0].After != defaultLateWait {
			t.Errorf("wakes: %v", k.wakes)
		}
		k.agent(update("s1", "tool_call_update", "other", `,"rawInput":{"command":"ls"}`))
		k.agent(update("s1", "tool_call_update", "c", `,"status":"in_progress"`))
		if len(k.open) != 0 {
			t.Fatalf("asked again without the input: %v", k.open)
		}
		k.agent(input)
		a := k.asked("session/request_permission")
		if v := strictjson.Find(a.Params, "toolCall", "rawInput"); v != nil || text(a.Params, "toolCall", "title") != "bash" {
			t.Errorf("asked about %s: its own empty input hides the other", a.Params)
		}
		k.do(k.core.onLate(k.wakes[0].N)) // it has ended, and nobody waits any more
		k.answer(a, picks("yes"), nil)
		k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":`+picks("yes")+`}`)
	})
	t.Run("it does not come", func(t *testing.T) {
		k := begin(t, "opencode")
		k.do(k.core.onLate(k.wakes[0].N))
		if got := k.sent(clientSide); len(got) != 1 || !strings.Contains(got[0], "request_permission") {
			t.Errorf("the client was sent %q", got)
		}
		k.agent(input)
		if len(k.open) != 0 {
			t.Errorf("asked again: %v", k.open)
		}
	})
	t.Run("another agent", func(t *testing.T) {
		k := begin(t, "some-agent")
		if n := len(k.sent(clientSide)); n != 1 || len(k.wakes) != 0 {
			t.Errorf("the person waits: %d messages, %v", n, k.wakes)
		}
	})
}

// 8: the history of a loaded session is not what it does now.
func TestReplay(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.client(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"old","cwd":"/p","mcpServers":[]}}`)
	if a := k.asked("permd/session"); text(a.Params, "sessionId") != "old" {
		t.Errorf("declared as %s", a.Params)
	}
	k.acts = nil
	replayed := update("old", "tool_call", "c", `,"rawInput":{"command":"ls"}`)
	k.agent(replayed)
	k.agent(update("child-of-old", "tool_call", "c", ``))
	if len(k.acts) != 0 {
		t.Errorf("permd was told of history: %v", k.acts)
	}
	k.want(clientSide, replayed, update("child-of-old", "tool_call", "c", ``))
	k.agent(update("s1", "tool_call", "d", ``)) // goes on meanwhile
	k.agent(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	k.agent(update("old", "tool_call", "e", ``))
	if len(k.acts) != 2 {
		t.Errorf("permd received %v, want the live updates", k.acts)
	}
}

// A session that could not be loaded is not left open.
func TestLoadFails(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.client(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"old","cwd":"/p"}}`)
	k.agent(`{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"x"}}`)
	if a := k.asked("permd/close"); text(a.Params, "sessionId") != "old" {
		t.Errorf("closed %s", a.Params)
	}
}

// 9: a call's id is not that of a request: two requests about one are two.
func TestSameCall(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.agent(request("1", "c"))
	k.answer(k.asked("session/request_permission"), picks("yes"), nil)
	k.agent(request("2", "c"))
	k.answer(k.asked("session/request_permission"), picks("no"), nil)
	k.want(agentSide, `{"jsonrpc":"2.0","id":1,"result":`+picks("yes")+`}`, `{"jsonrpc":"2.0","id":2,"result":`+picks("no")+`}`)
}
