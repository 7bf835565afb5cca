package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/socket/client"
)

const (
	cancelTurn = `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`
	cancelAsk  = `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`
)

// TestCancelledYes cancels at each step of an approval: the agent gets one answer
// at once, which is not an approval.
func TestCancelledYes(t *testing.T) {
	points := []struct {
		name string
		goes func(k *talk) (open action)
	}{
		{"while permd stores it", func(k *talk) action { return k.asked("permd/choose") }},
		{"while permd decides again", func(k *talk) action {
			k.answer(k.asked("permd/choose"), "", errChanged)
			return k.asked("session/request_permission")
		}},
	}
	late := []struct {
		result string
		err    error
	}{{`{"stored":[{}]}`, nil}, {picks("yes"), nil}, {lateDeny, nil}, {"", errChanged}, {"", asks("run")}, {"", client.ErrUnreachable}}
	for _, p := range points {
		for i, l := range late {
			t.Run(fmt.Sprintf("the turn, %s, %d", p.name, i), func(t *testing.T) {
				k := newTalk(t, Rules{})
				k.begin("x")
				k.shows("7")
				k.client(back("7", "permd-width-w1"))
				open := p.goes(k)
				k.client(cancelTurn)
				k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`, cancelTurn)
				k.answer(open, l.result, l.err)
				k.client(back("7", "yes"))
				k.want(agentSide)
				k.want(clientSide)
				if len(k.open) != 0 {
					t.Errorf("permd was asked %v", k.open)
				}
			})
			t.Run(fmt.Sprintf("the request, %s, %d", p.name, i), func(t *testing.T) {
				k := newTalk(t, Rules{})
				k.begin("x")
				k.shows("7")
				k.client(back("7", "permd-width-w1"))
				open := p.goes(k)
				k.agent(cancelAsk)
				k.want(agentSide, `{"jsonrpc":"2.0","id":7,"error":{"code":-32800,"message":"request cancelled"}}`)
				k.want(clientSide, cancelAsk) // it has seen the request
				k.answer(open, l.result, l.err)
				k.want(agentSide)
			})
			t.Run(fmt.Sprintf("the agent ends, %s, %d", p.name, i), func(t *testing.T) {
				k := newTalk(t, Rules{})
				k.begin("x")
				k.shows("7")
				k.client(back("7", "permd-width-w1"))
				open := p.goes(k)
				k.do(k.core.onEnded(agentSide))
				k.answer(open, l.result, l.err)
				k.client(`{"jsonrpc":"2.0","method":"_after"}`)
				k.want(agentSide, `{"jsonrpc":"2.0","method":"_after"}`) // nothing delays it
			})
		}
	}
	t.Run("the request, before the yes", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.shows("7")
		k.agent(cancelAsk)
		k.client(back("7", "permd-width-w1"))
		k.want(agentSide, `{"jsonrpc":"2.0","id":7,"error":{"code":-32800,"message":"request cancelled"}}`)
		if len(k.open) != 0 {
			t.Errorf("permd was asked %v", k.open)
		}
	})
	t.Run("the turn, before the yes", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.shows("7")
		k.client(cancelTurn)
		k.client(back("7", "yes"))
		k.want(agentSide, cancelTurn, `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`)
		if len(k.open) != 0 {
			t.Errorf("permd was asked %v", k.open)
		}
	})
}

// TestTwoAnswers: only the first answer of the client reaches the agent, whenever
// the others come.
func TestTwoAnswers(t *testing.T) {
	no, yes := back("7", "no"), back("7", "yes")
	t.Run("while the first waits", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.shows("7")
		for _, line := range []string{yes, no, yes, back("7", "always")} {
			k.client(line)
		}
		k.answer(k.asked("permd/choose"), `{"stored":[]}`, nil)
		k.want(agentSide, yes)
		if len(k.says) != 3 || len(k.open) != 0 {
			t.Errorf("said %q, permd was asked %v", k.says, k.open)
		}
	})
	t.Run("after it", func(t *testing.T) {
		for _, first := range []string{yes, no} {
			k := newTalk(t, Rules{})
			k.begin("x")
			k.shows("7")
			k.client(first)
			k.answer(k.asked("permd/choose"), `{"stored":[]}`, nil)
			k.want(agentSide, first)
			k.client(yes)
			k.client(back("7", "permd-width-w1"))
			k.want(agentSide)
		}
	})
	t.Run("before the request was shown", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.client(yes) // of nothing: the agent's business
		k.want(agentSide, yes)
		k.agent(request("7", "c"))
		k.client(yes)
		k.want(agentSide)
		k.answer(k.asked("session/request_permission"), "", asks("run"))
		k.client(no)
		k.want(agentSide, no)
	})
	t.Run("of an id that is used again", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		for range 3 {
			k.shows("7")
			k.client(yes)
			// The agent has no answer yet, so the id is not free.
			k.agent(request("7", "d"))
			k.answer(k.asked("permd/choose"), `{"stored":[]}`, nil)
			got := k.sent(agentSide)
			if len(got) != 2 || got[0] != yes || !strings.Contains(got[1], `"error"`) {
				t.Fatalf("the agent was sent %q", got)
			}
		}
		k.agent(`{"jsonrpc":"2.0","id":7,"method":"_ask"}`)
		k.client(`{"jsonrpc":"2.0","id":7,"result":1}`)
		k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":1}`)
		k.agent(`{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/p/a"}}`)
		for len(k.open) > 0 {
			a := k.open[0]
			k.open = k.open[1:]
			k.answer(a, "", client.ErrUnreachable)
		}
		k.client(`{"jsonrpc":"2.0","id":7,"result":{"content":""}}`)
		k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":{"content":""}}`)
	})
}

// TestAskedAgain: a request that was asked again on a new connection is answered
// there; the questions of the old one no longer count.
func TestAskedAgain(t *testing.T) {
	for name, before := range map[string]bool{"before": true, "after": false} {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(request("7", "c"))
		a := k.asked("session/request_permission")
		if before {
			k.answer(a, "", asks("run"))
		}
		k.do(k.core.onConnected(true))
		if !before {
			k.answer(a, "", asks("run"))
		}
		for len(k.open) > 0 {
			k.answer(k.asked("permd/session"), `{}`, nil)
		}
		k.client(back("7", "permd-width-w1"))
		if len(k.open) != 1 || (k.open[0].Method == "permd/choose") == before {
			t.Errorf("asked %s: permd is asked %v", name, k.open)
		}
	}
}

// TestLongIDs: ids as long as messages are distinguished, and not kept.
func TestLongIDs(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	long := strings.Repeat("x", 100_000)
	one, other := `"`+long+`1"`, `"`+long+`2"`
	for _, id := range []string{one, other} {
		k.shows(id)
		k.client(back(id, "no"))
		k.want(agentSide, back(id, "no"))
		k.client(back(id, "yes"))
		k.want(agentSide)
		k.agent(request(id, "d")) // decided by permd
		k.answer(k.asked("session/request_permission"), picks("yes"), nil)
		k.sent(agentSide)
		k.client(back(id, "yes"))
		k.want(agentSide)
	}
	for _, r := range []recentIDs{k.core.answeredByPerson, k.core.answeredByPermd[agentSide]} {
		for _, id := range r.list {
			if len(id) > 64 {
				t.Errorf("an id of %d bytes is kept", len(id))
			}
		}
	}
	if k.client(back(`"`+long+`3"`, "yes")); len(k.sent(agentSide)) != 1 {
		t.Error("an id is taken for another")
	}
}
