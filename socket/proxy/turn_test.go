package proxy

import (
	"strings"
	"testing"

	"github.com/permd/permd/socket"
)

// TestCrossed: requests in a turn that the client has cancelled and the agent has
// not ended are answered as cancelled, and permd is not asked.
func TestCrossed(t *testing.T) {
	const (
		prompt  = `{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`
		ended   = `{"jsonrpc":"2.0","id":4,"result":{"stopReason":"cancelled"}}`
		gone    = `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`
		idle    = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"state_update","state":"idle"}}}`
		version = `{"jsonrpc":"2.0","id":"v","method":"initialize","params":{"protocolVersion":2}}`
		speaks  = `{"jsonrpc":"2.0","id":"v","result":{"protocolVersion":2}}`
	)
	again := strings.Replace(prompt, `"id":4`, `"id":5`, 1)
	asked := func(k *talk, want bool) {
		t.Helper()
		k.sent(clientSide)
		k.sent(agentSide)
		k.open, k.acts = nil, nil
		k.agent(request("7", "c"))
		if want {
			k.answer(k.asked("session/request_permission"), picks("yes"), nil)
			k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":`+picks("yes")+`}`)
			return
		}
		k.want(clientSide)
		k.want(agentSide, gone)
		if len(k.open) != 0 {
			t.Errorf("permd was asked %v", k.open)
		}
	}
	tests := []struct {
		name   string
		said   []string // by the client; what begins with < is the agent's
		judged bool
	}{
		{"while the prompt is open", []string{prompt, cancelTurn}, false},
		{"twice", []string{prompt, cancelTurn, cancelTurn}, false},
		{"after the prompt has ended", []string{prompt, cancelTurn, "<" + ended}, true},
		{"before any prompt", []string{cancelTurn}, true},
		{"after the turn", []string{prompt, "<" + ended, cancelTurn}, true},
		{"of another session", []string{prompt, strings.Replace(cancelTurn, "s1", "s2", 1)}, true},
		{"a new prompt", []string{prompt, cancelTurn, again}, true},
		{"the end of the old prompt is not that of the new", []string{prompt, cancelTurn, again, cancelTurn, "<" + ended}, false},
		{"the prompt has failed", []string{prompt, cancelTurn, `<{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"x"}}`}, true},
		{"version 2", []string{version, "<" + speaks, prompt, `<{"jsonrpc":"2.0","id":4,"result":{}}`, cancelTurn}, false},
		{"version 2, idle", []string{version, "<" + speaks, prompt, `<{"jsonrpc":"2.0","id":4,"result":{}}`, cancelTurn, "<" + idle}, true},
		{"version 2, a new prompt", []string{version, "<" + speaks, prompt, `<{"jsonrpc":"2.0","id":4,"result":{}}`, cancelTurn, again}, true},
	}
	for _, tt := range tests {
		k := newTalk(t, Rules{})
		k.begin("x")
		for _, line := range tt.said {
			if line, ok := strings.CutPrefix(line, "<"); ok {
				k.agent(line)
			} else {
				k.client(line)
			}
		}
		asked(k, tt.judged)
		// The agent may withdraw it, which no longer has an effect.
		if !tt.judged {
			k.agent(cancelAsk)
			k.want(clientSide)
			k.want(agentSide)
			asked(k, false) // and ask once more
		}
	}

	// A session that the agent has opened for the turn ends with it.
	k := newTalk(t, Rules{})
	k.begin("x")
	k.client(prompt)
	k.agent(strings.Replace(update("s1", "tool_call", "a", ""), `"s1"`, `"child"`, 1))
	k.client(cancelTurn)
	k.sent(clientSide)
	k.sent(agentSide)
	k.agent(strings.Replace(request("7", "c"), `"s1"`, `"child"`, 1))
	k.want(clientSide)
	k.want(agentSide, gone)

	// An approval of what the person was shown before does not count.
	k = newTalk(t, Rules{})
	k.begin("x")
	k.client(prompt)
	k.shows("7")
	k.client(cancelTurn)
	k.client(`{"jsonrpc":"2.0","id":7,"result":` + picks("yes") + `}`)
	k.want(agentSide, prompt, cancelTurn, gone)

	// A gate that would ask is not shown to the person.
	k = newTalk(t, Rules{})
	k.begin("x")
	k.client(prompt)
	k.client(cancelTurn)
	k.sent(agentSide)
	k.agent(writeLine)
	k.answer(k.asked("permd/gate"), "", asks("write"))
	k.want(clientSide)
	if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], "-32800") {
		t.Errorf("the agent got %q, want error %d", got, socket.CodeCancelled)
	}
}
