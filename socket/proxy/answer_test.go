package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

// back returns an answer of the client that selects an option.
func back(id, option string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + picks(option) + `}`
}

var errChanged = &client.Error{Code: socket.CodeParams, Message: "the rules have changed since the question; ask again"}

// lateDeny is permd's answer if rules deny a call.
const lateDeny = `{"outcome":{"outcome":"selected","optionId":"no"},"_meta":{"permd":{"verdict":"deny","reason":"frozen"}}}`

// shows shows the person a request that permd asks about.
func (k *talk) shows(id string) {
	k.t.Helper()
	k.agent(request(id, "c"))
	k.answer(k.asked("session/request_permission"), "", asks("run"))
	if got := k.sent(clientSide); len(got) != 1 || !strings.Contains(got[0], "permd-width-w1") {
		k.t.Fatalf("the person was shown %q", got)
	}
	k.acts = nil
}

// TestAskedTooOften: if each answer leads to another question, the person is asked
// only a few times.
func TestAskedTooOften(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.shows("7")
	for range maxAgain {
		k.client(back("7", "yes"))
		k.answer(k.asked("permd/choose"), "", errChanged)
		k.answer(k.asked("session/request_permission"), "", asks("run"))
		k.want(agentSide)
		if got := k.sent(clientSide); len(got) != 1 {
			t.Fatalf("the person was shown %q", got)
		}
	}
	k.client(back("7", "yes"))
	k.answer(k.asked("permd/choose"), "", errChanged)
	k.answer(k.asked("session/request_permission"), "", asks("run"))
	k.want(clientSide)
	k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`)
	// A cancel while the person is asked again reaches the question.
	k = newTalk(t, Rules{})
	k.begin("x")
	k.shows("7")
	k.client(back("7", "yes"))
	k.answer(k.asked("permd/choose"), "", errChanged)
	k.answer(k.asked("session/request_permission"), "", asks("run"))
	k.client(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	k.sent(agentSide)
	k.client(back("7", "yes"))
	k.want(agentSide, `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`)
}

// TestLateDeny has approvals that permd does not accept: what its rules deny by now
// is denied, and what they ask about is asked again.
func TestLateDeny(t *testing.T) {
	yes := back("7", "yes")
	again := strings.Replace(fmt.Sprintf(decisionAsk, "run"), `"d1"`, `"d2"`, 1)
	cases := []struct {
		name     string
		rules    Rules
		pick     string
		refusal  error
		result   string
		err      error
		agent    string
		says     []string
		received string // of the second question
		// asked is set where the person is asked again, with permd's question or, for
		// "unread", without one.
		asked string
	}{
		{name: "denied", pick: "yes", refusal: errChanged, result: lateDeny, agent: back("7", "no"), says: []string{"frozen"}},
		{name: "denied, for always", pick: "permd-width-w1", refusal: errChanged, result: lateDeny, agent: back("7", "no"), says: []string{"frozen"}},
		{name: "denied without an option for it", pick: "yes", refusal: errChanged, result: `{"outcome":{"outcome":"cancelled"}}`, agent: `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`, says: []string{"denies"}},
		{name: "denied with an option that there is not", pick: "yes", refusal: errChanged, result: picks("other"), agent: `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`, says: []string{"denies"}},
		{name: "no outcome", pick: "yes", refusal: errChanged, result: `{}`, agent: `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`, says: []string{"denies"}},
		{name: "always is no answer of permd", pick: "yes", refusal: errChanged, result: picks("always"), agent: back("7", "always"), says: []string{"denies"}},
		{name: "allowed", pick: "yes", refusal: errChanged, result: picks("yes"), agent: yes},
		{name: "allowed, for always", pick: "permd-width-w2", refusal: errChanged, result: picks("yes"), agent: yes, says: []string{"not remembered: the rules have changed"}},
		{name: "asked again", pick: "yes", refusal: errChanged, err: &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(again)}, asked: "7"},
		{name: "asked again, for always", pick: "permd-width-w1", refusal: errChanged, err: &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(again)}, asked: "7"},
		{name: "asked again, for the agent's always", pick: "always", refusal: errChanged, err: &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(again)}, asked: "7"},
		{name: "asked again, in words that cannot be read", pick: "yes", refusal: errChanged, err: &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(`{"decisionId":1}`)}, asked: "unread"},
		{name: "not decided", pick: "yes", refusal: errChanged, err: &client.Error{Code: socket.CodeBusy, Message: "busy"}, asked: "unread"},
		{name: "the disk is full", pick: "permd-width-w1", refusal: &client.Error{Code: socket.CodeInternal, Message: "the choice could not be stored; nothing was"}, result: picks("yes"), agent: yes, says: []string{"could not be stored"}},
		{name: "permd has been restarted, and denies", pick: "yes", refusal: client.ErrUnreachable, result: lateDeny, agent: back("7", "no"), says: []string{"frozen"}},
		{name: "permd has been restarted, and asks", pick: "yes", refusal: client.ErrUnreachable, err: &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(again)}, asked: "7"},
		{name: "the disk is full, and permd asks", pick: "yes", refusal: &client.Error{Code: socket.CodeInternal, Message: "x"}, err: &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(again)}, agent: yes, received: `{"decisionId":"d2","optionId":"yes"}`},
		{name: "permd is gone", pick: "yes", refusal: client.ErrUnreachable, err: client.ErrUnreachable, agent: yes},
		{name: "permd is gone, for always", pick: "permd-width-w1", refusal: client.ErrUnreachable, err: client.ErrUnreachable, agent: yes, says: []string{"not remembered"}},
		{name: "permd is gone, and required", rules: Rules{Require: true}, pick: "yes", refusal: client.ErrUnreachable, err: client.ErrUnreachable, agent: `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"permd acp: ` + client.ErrUnreachable.Error() + `"}}`},
		{name: "required, and not decided", rules: Rules{Require: true}, pick: "yes", refusal: errChanged, err: &client.Error{Code: socket.CodeBusy, Message: "busy"}, asked: "unread"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, c.rules)
			k.begin("x")
			k.shows("7")
			k.client(back("7", c.pick))
			k.client(`{"jsonrpc":"2.0","method":"_after"}`)
			k.answer(k.asked("permd/choose"), "", c.refusal)
			k.want(agentSide) // it waits, and so do later messages
			a := k.asked("session/request_permission")
			if want := string(strictjson.Find(strictjson.Value(request("7", "c")), "params")); string(a.Params) != want {
				t.Errorf("permd was asked %s, want %s", a.Params, want)
			}
			k.answer(a, c.result, c.err)
			if c.asked != "" {
				k.want(agentSide, `{"jsonrpc":"2.0","method":"_after"}`)
				got := k.sent(clientSide)
				if len(got) != 1 || !strings.Contains(got[0], "session/request_permission") ||
					strings.Contains(got[0], "permd-width-w1") == (c.asked == "unread") {
					t.Fatalf("the person was shown %q", got)
				}
				if len(k.says) != 1 || !strings.Contains(k.says[0], "asked again") {
					t.Errorf("said %q", k.says)
				}
				k.client(back("7", "yes"))
				k.want(agentSide)
				if c.asked == "unread" {
					k.answer(k.asked("session/request_permission"), picks("yes"), nil)
				} else if a := k.asked("permd/choose"); string(a.Params) != `{"decisionId":"d2","optionId":"yes"}` {
					t.Errorf("permd received %s", a.Params)
				} else {
					k.answer(a, `{"stored":[]}`, nil)
				}
				k.want(agentSide, yes)
				return
			}
			k.want(agentSide, c.agent, `{"jsonrpc":"2.0","method":"_after"}`)
			k.want(clientSide)
			if c.received != "" {
				a := k.asked("permd/choose")
				if string(a.Params) != c.received {
					t.Errorf("permd received %s, want %s", a.Params, c.received)
				}
				k.answer(a, "", errChanged) // a second time: the approval has counted
				k.want(agentSide)
			}
			if len(k.open) != 0 {
				t.Errorf("permd was asked %v", k.open)
			}
			ok := len(k.says) == len(c.says)
			for i := 0; ok && i < len(c.says); i++ {
				ok = strings.Contains(k.says[i], c.says[i])
			}
			if !ok {
				t.Errorf("said %q, want %q", k.says, c.says)
			}
		})
	}
}

// TestUnasked: if permd could not be asked about a request, it is asked when the
// person answers.
func TestUnasked(t *testing.T) {
	for name, c := range map[string]struct {
		pick, result string
		err          error
		agent        string
	}{
		"denied":      {"always", lateDeny, nil, back("7", "no")},
		"allowed":     {"always", picks("yes"), nil, back("7", "always")}, // as if there were no permd
		"asked":       {"yes", "", asks("run"), back("7", "yes")},
		"not decided": {"yes", "", client.ErrUnreachable, back("7", "yes")},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t, Rules{})
			k.begin("x")
			k.agent(request("7", "c"))
			k.answer(k.asked("session/request_permission"), "", client.ErrUnreachable)
			k.want(clientSide, request("7", "c"))
			k.client(back("7", c.pick))
			k.want(agentSide)
			k.answer(k.asked("session/request_permission"), c.result, c.err)
			k.want(agentSide, c.agent)
		})
	}
	t.Run("too long to be asked", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.agent(strings.Replace(request("7", "c"), `"c"`, `"c","title":"`+strings.Repeat("x", maxNotification)+`"`, 1))
		k.client(back("7", "always"))
		k.want(agentSide, back("7", "always"))
		if len(k.open) != 0 {
			t.Errorf("permd was asked %v", k.open)
		}
	})
}

// TestOdd: an answer that may be an approval waits like one, and is passed on
// unchanged.
func TestOdd(t *testing.T) {
	for name, result := range map[string]string{
		"flat":                `"result":{"outcome":"selected","optionId":"yes"}`,
		"an unknown outcome":  `"result":{"outcome":{"outcome":"_later","optionId":"yes"}}`,
		"no option":           `"result":{"outcome":{"outcome":"selected"}}`,
		"nothing":             `"result":null`,
		"neither":             `"_meta":{}`,
		"both":                `"error":{"code":1,"message":"x"},"result":{"outcome":{"outcome":"_later"}}`,
		"an option not of it": `"result":` + picks("other"),
	} {
		for _, deny := range []bool{false, true} {
			k := newTalk(t, Rules{})
			k.begin("x")
			k.shows("7")
			line := `{"jsonrpc":"2.0","id":7,` + result + `}`
			k.client(line)
			k.want(agentSide)
			if strings.Contains(name, "not of it") {
				k.answer(k.asked("permd/choose"), "", errChanged)
			}
			if deny {
				k.answer(k.asked("session/request_permission"), lateDeny, nil)
				want := `{"jsonrpc":"2.0","id":7,"result":` + lateDeny + `}`
				if strings.Contains(result, `{"outcome":{"outcome":"selected"`) {
					want = back("7", "no") // only the option is another
				}
				k.want(agentSide, want)
				continue
			}
			k.answer(k.asked("session/request_permission"), "", asks("run"))
			k.want(agentSide, line)
			if t.Failed() {
				t.Fatal(name)
			}
		}
	}
}

// TestNo: a reject is passed on at once, and permd is notified of it.
func TestNo(t *testing.T) {
	cases := []struct{ name, client, agent, received string }{
		{"reject", back("7", "no"), back("7", "no"), `{"decisionId":"d1","optionId":"no"}`},
		{"never", back("7", "never"), back("7", "no"), `{"decisionId":"d1","optionId":"never"}`},
		{"dismissed", `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`, "", `{"decisionId":"d1","verdict":"deny"}`},
		{"the client cannot ask", `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"x"}}`, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.agent == "" {
				c.agent = c.client
			}
			k := newTalk(t, Rules{})
			k.begin("x")
			k.shows("7")
			k.client(c.client)
			k.want(agentSide, c.agent)
			if c.received == "" {
				if len(k.acts) != 1 || k.acts[0].Kind != actWithdraw {
					t.Errorf("permd received %v", k.acts)
				}
				return
			}
			a := k.asked("permd/choose")
			if string(a.Params) != c.received {
				t.Errorf("permd received %s, want %s", a.Params, c.received)
			}
			k.answer(a, "", errChanged)
			if len(k.open) != 0 {
				t.Errorf("permd was asked %v about a no", k.open)
			}
			k.want(agentSide)
		})
	}
	t.Run("of a turn that is over", func(t *testing.T) {
		k := newTalk(t, Rules{})
		k.begin("x")
		k.shows("7")
		k.client(cancelTurn)
		k.client(cases[2].client)
		k.want(agentSide, cancelTurn, cases[2].client)
		if len(k.open) != 0 {
			t.Errorf("permd received %v: nobody has answered", k.open)
		}
	})
}

// TestDeniedBytes: of an answer that permd denies, only the option is changed.
func TestDeniedBytes(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	k.shows("7")
	answer := func(option string) string {
		return `{"jsonrpc":"2.0","id":7,"_x":[1 ,2.50],"result":{"_meta":{"a":"\u00e9"},"outcome":{"outcome":"selected","optionId":"` + option + `","_meta":null}}}`
	}
	k.client(answer("permd-width-w1"))
	k.answer(k.asked("permd/choose"), "", errChanged)
	k.answer(k.asked("session/request_permission"), lateDeny, nil)
	k.want(agentSide, answer("no"))
}
