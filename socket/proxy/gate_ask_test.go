package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/client"
)

const (
	writeLine = `{"jsonrpc":"2.0","id":3,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/p/a","content":"new\ntext"}}`
	afterLine = `{"jsonrpc":"2.0","method":"_after"}`
)

// shown sends a gate that permd asks about, and returns the id of the question.
func (k *talk) gateAsked(line string, err error) string {
	k.t.Helper()
	k.agent(line)
	k.answer(k.asked("permd/gate"), "", err)
	got := k.sent(clientSide)
	if len(got) == 0 || !strings.Contains(got[len(got)-1], "request_permission") {
		k.t.Fatalf("the client was sent %q", got)
	}
	id, _ := strictjson.ParseString(strictjson.Find(strictjson.Value(got[len(got)-1]), "id"))
	if !strings.HasPrefix(id, "permd-") {
		k.t.Fatalf("the question has the id %q", id)
	}
	return id
}

func (k *talk) replies(id, result string) {
	k.client(`{"jsonrpc":"2.0","id":"` + id + `","result":` + result + `}`)
}

// TestGateQuestion checks what the person is shown of a gate.
func TestGateQuestion(t *testing.T) {
	options := `"options":[{"optionId":"permd-once","name":"Allow once","kind":"allow_once"},` +
		`{"optionId":"permd-width-w1","name":"Always, exactly this: make install (project)","kind":"allow_always"},` +
		`{"optionId":"permd-width-w2","name":"Always: make * (user)","kind":"allow_always"},` +
		`{"optionId":"permd-reject","name":"Reject","kind":"reject_once"}]`
	why := `{"type":"content","content":{"type":"text","text":"permd asks: changes something"}}`
	cases := []struct {
		name, line, call string
		rules            Rules
	}{
		{name: "write", line: writeLine, call: `"title":"Write /p/a","kind":"edit","status":"pending","rawInput":{"path":"/p/a"},` +
			`"content":[{"type":"diff","path":"/p/a","newText":"new\ntext"},` + why + `],"locations":[{"path":"/p/a"}]`},
		{name: "read", line: `{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/p/a"}}`,
			call: `"title":"Read /p/a","kind":"read","status":"pending","rawInput":{"path":"/p/a"},"content":[` + why + `],"locations":[{"path":"/p/a"}]`},
		{name: "terminal", line: `{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s1","command":"make","args":["a b","c"],"env":[{"name":"A","value":"b"}],"cwd":"/p"}}`,
			call: `"title":"make a b c","kind":"execute","status":"pending","rawInput":{"command":"make","args":["a b","c"],"env":[{"name":"A","value":"b"}],"cwd":"/p"},"content":[` + why + `]`},
		{name: "silent", rules: Rules{NoReasons: true}, line: `{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s1","command":"make | sh"}}`,
			call: `"title":"make | sh","kind":"execute","status":"pending","rawInput":{"command":"make | sh"},"content":[]`},
		{name: "a large file", line: strings.Replace(writeLine, "new", strings.Repeat("x", maxShownContent), 1),
			call: `"title":"Write /p/a","kind":"edit","status":"pending","rawInput":{"path":"/p/a"},"content":[` + why + `],"locations":[{"path":"/p/a"}]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, c.rules)
			k.begin("x")
			k.agent(c.line)
			k.answer(k.asked("permd/gate"), "", asks("run"))
			id := k.core.gateQuestions["3"].id
			name, _ := strictjson.ParseString(id)
			k.want(clientSide, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"%s",%s},%s}}`, id, name, c.call, options))
		})
	}
}

// TestGateAnswers checks the result of a gate for the person's answer and permd's
// reply to it, and what permd is sent. Other messages of the agent are not delayed.
func TestGateAnswers(t *testing.T) {
	declined := `{"jsonrpc":"2.0","id":3,"error":{"code":-32001,"message":"the person declined this"}}`
	denied := `{"jsonrpc":"2.0","id":3,"error":{"code":-32001,"message":"permd denies this: now"}}`
	late := &client.Error{Code: socket.CodeParams, Message: "the rules have changed"}
	cases := []struct {
		name, answer string
		choose       string // what permd is sent; "" for nothing
		saved        error
		again        string // permd's second answer; "" for none is asked for
		againErr     error
		client       string
		agent        string
		says         int
		asked        bool // the person is, once more
	}{
		{name: "once", answer: picks(gateOnce), choose: `{"decisionId":"d1","verdict":"allow"}`, client: writeLine},
		{name: "a width", answer: picks("permd-width-w2"), choose: `{"decisionId":"d1","verdict":"allow","width":"w2"}`, client: writeLine},
		{name: "no", answer: picks(gateReject), choose: `{"decisionId":"d1","verdict":"deny"}`, agent: declined},
		{name: "dismissed", answer: `{"outcome":{"outcome":"cancelled"}}`, agent: declined},
		{name: "an option that is none", answer: picks("yes"), agent: declined},
		{name: "another width", answer: picks("permd-width-w9"), agent: declined},
		{name: "the flat form", answer: `{"outcome":"selected","optionId":"permd-once"}`, agent: declined},
		{name: "nothing", answer: `{}`, agent: declined},
		{name: "once, and the rules deny it by now", answer: picks(gateOnce), choose: `{"decisionId":"d1","verdict":"allow"}`, saved: late,
			again: `{"passes":false,"decision":{"reason":"now"}}`, agent: denied},
		{name: "once, and other rules ask by now", answer: picks(gateOnce), choose: `{"decisionId":"d1","verdict":"allow"}`, saved: late,
			againErr: asks("run"), asked: true},
		{name: "once, and other rules allow it by now", answer: picks(gateOnce), choose: `{"decisionId":"d1","verdict":"allow"}`, saved: late, again: passes, client: writeLine},
		{name: "always, and permd is gone", answer: picks("permd-width-w1"), choose: `{"decisionId":"d1","verdict":"allow","width":"w1"}`,
			saved: client.ErrUnreachable, againErr: client.ErrUnreachable, client: writeLine, says: 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, Rules{})
			k.begin("x")
			id := k.gateAsked(writeLine, asks("run"))
			k.agent(afterLine)
			k.want(clientSide, afterLine)
			k.acts = nil
			k.replies(id, c.answer)
			if c.choose == "" {
				if len(k.acts) != 1 || k.acts[0].Kind != actWithdraw {
					t.Errorf("permd received %v", k.acts)
				}
			} else {
				a := k.asked("permd/choose")
				if string(a.Params) != c.choose || !a.Wait {
					t.Errorf("permd was sent %s", a.Params)
				}
				if c.agent != declined {
					k.want(clientSide)
				}
				k.answer(a, `{"stored":[{}]}`, c.saved)
			}
			if c.again != "" || c.againErr != nil {
				k.want(clientSide)
				k.answer(k.asked("permd/gate"), c.again, c.againErr)
			}
			if c.asked {
				got := k.sent(clientSide)
				if len(got) != 1 || !strings.Contains(got[0], "session/request_permission") {
					t.Fatalf("the client was sent %q", got)
				}
				k.want(agentSide)
				k.replies(id, picks(gateOnce)) // to the question before
				k.want(clientSide)
				id, _ = strictjson.ParseString(strictjson.Find(strictjson.Value(got[0]), "id"))
				k.replies(id, picks(gateOnce))
				k.answer(k.asked("permd/choose"), `{"stored":[]}`, nil)
				c.client = writeLine
			}
			for to, want := range map[peerSide]string{clientSide: c.client, agentSide: c.agent} {
				if want == "" {
					k.want(to)
				} else {
					k.want(to, want)
				}
			}
			if len(k.says) != c.says {
				t.Errorf("said %q", k.says)
			}
			// There is no second answer.
			k.replies(id, picks(gateOnce))
			k.want(clientSide)
			k.want(agentSide)
			if len(k.core.gateQuestions) != 0 || len(k.core.tracked[agentSide]) != 0 {
				t.Error("something of it is kept")
			}
			k.agent(writeLine) // the id is free
			k.asked("permd/gate")
		})
	}
}

// TestGateFailures: if permd is running and cannot decide, the person is asked; if
// it is not running, only if the settings say so.
func TestGateFailures(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules Rules
		err   error
		asks  bool
	}{
		{"busy", Rules{}, &client.Error{Code: socket.CodeBusy}, true},
		{"an older permd", Rules{}, &client.Error{Code: socket.CodeMethod}, true},
		{"a question that cannot be read", Rules{}, &client.Error{Code: socket.CodeAsk, Data: strictjson.Value(`{}`)}, true},
		{"not there", Rules{}, client.ErrUnreachable, false},
		{"too much at once", Rules{}, errFull, true},
		{"it does not answer", Rules{}, errSlow, true},
		{"of another protocol", Rules{}, fmt.Errorf("%w; %w", &client.VersionError{Protocol: 2}, errOther), true},
		{"not there, and to be asked", Rules{AskGates: true}, client.ErrUnreachable, true},
		{"too much at once, and to be asked", Rules{AskGates: true}, errFull, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t, c.rules)
			k.begin("x")
			if !c.asks {
				k.agent(writeLine)
				k.answer(k.asked("permd/gate"), "", c.err)
				k.want(clientSide, writeLine)
				return
			}
			id := k.gateAsked(writeLine, c.err)
			k.replies(id, picks(gateOnce))
			// It is there again, perhaps.
			k.answer(k.asked("permd/gate"), "", c.err)
			k.want(clientSide, writeLine)
			k.want(agentSide)
			id = k.gateAsked(writeLine, c.err)
			k.acts = nil
			k.replies(id, picks(gateReject))
			if len(k.acts) != 0 || len(k.sent(agentSide)) != 1 {
				t.Errorf("permd received %v", k.acts)
			}
		})
	}
	k := newTalk(t, Rules{AskGates: true})
	k.begin("x")
	k.agent(writeLine)
	if a := k.asked("permd/gate"); string(strictjson.Find(a.Params, "ask")) != "true" {
		t.Errorf("permd was asked %s", a.Params)
	}
}

// TestGateCalledOff: a question whose gate was cancelled.
func TestGateCalledOff(t *testing.T) {
	cancelled := `{"jsonrpc":"2.0","id":3,"error":{"code":-32800,"message":"request cancelled"}}`
	turn := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`
	for _, answered := range []bool{false, true} {
		k := newTalk(t, Rules{})
		k.begin("x")
		id := k.gateAsked(writeLine, asks("run"))
		if answered {
			k.replies(id, picks(gateOnce))
		}
		k.agent(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}`)
		k.want(agentSide, cancelled)
		if answered {
			k.want(clientSide)
			k.answer(k.asked("permd/choose"), `{"stored":[]}`, nil)
		} else {
			k.want(clientSide, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"`+id+`"}}`)
			k.replies(id, picks(gateOnce)) // too late
		}
		k.want(clientSide)
		k.want(agentSide)

		id = k.gateAsked(writeLine, asks("run"))
		if answered {
			k.replies(id, picks(gateOnce))
		}
		k.client(turn)
		if got := k.sent(agentSide); len(got) != 2 || got[0] != turn || got[1] != cancelled {
			t.Errorf("the agent was sent %q", got)
		}
		k.sent(clientSide)
		k.replies(id, `{"outcome":{"outcome":"cancelled"}}`)
		k.want(agentSide)
		k.want(clientSide)
	}
}

// TestGateStale: a question from before permd was restarted accepts an approval
// after permd was asked once more; nothing is remembered.
func TestGateStale(t *testing.T) {
	k := newTalk(t, Rules{})
	k.begin("x")
	id := k.gateAsked(writeLine, asks("run"))
	k.do(k.core.onConnected(true))
	k.replies(id, picks("permd-width-w1"))
	k.want(clientSide)
	k.answer(k.asked("permd/gate"), `{"passes":false,"decision":{"reason":"now"}}`, nil)
	k.want(clientSide)
	k.want(agentSide, `{"jsonrpc":"2.0","id":3,"error":{"code":-32001,"message":"permd denies this: now"}}`)
	if len(k.says) != 1 {
		t.Errorf("said %q", k.says)
	}
}

// TestGateIDs: no other message has the id of the proxy's question, and no request
// gets another's answer.
func TestGateIDs(t *testing.T) {
	k, other := newTalk(t, Rules{}), newTalk(t, Rules{})
	k.begin("x")
	other.begin("x")
	id, id2 := k.gateAsked(writeLine, asks("run")), other.gateAsked(writeLine, asks("run"))
	if id == id2 {
		t.Error("two conversations have one id")
	}
	// The client cannot answer what it was not sent.
	k.client(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	k.want(agentSide)
	// What looks like it is not it.
	answer := `{"jsonrpc":"2.0","id":"` + id2 + `","result":{}}`
	if k.chain == nil {
		k.client(answer)
		k.want(agentSide, answer)
	}
	// The agent cannot use its own id twice.
	k.agent(writeLine)
	if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], "-32600") {
		t.Errorf("the agent got %q", got)
	}
}

// TestGateBounds: the number of gates that wait for the person is bounded, and
// those above the bound are rejected.
func TestGateBounds(t *testing.T) {
	gate := func(id int, content string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/p/a","content":"%s"}}`, id, content)
	}
	k := newTalk(t, Rules{})
	k.begin("x")
	for i := range maxAsking {
		k.gateAsked(gate(i+10, ""), asks("run"))
	}
	k.agent(gate(1, ""))
	k.answer(k.asked("permd/gate"), "", asks("run"))
	if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], fmt.Sprint(socket.CodeBusy)) {
		t.Errorf("the agent got %q", got)
	}
	k = newTalk(t, Rules{})
	k.begin("x")
	large := strings.Repeat("x", maxAskingBytes/2)
	k.gateAsked(gate(1, large), asks("run"))
	k.agent(gate(2, large))
	k.answer(k.asked("permd/gate"), "", asks("run"))
	if got := k.sent(agentSide); len(got) != 1 || !strings.Contains(got[0], fmt.Sprint(socket.CodeBusy)) {
		t.Errorf("the agent got %d lines", len(got))
	}
	// A gate that permd cannot read asks.
	k = newTalk(t, Rules{})
	k.begin("x")
	k.agent(`{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s1","command":"` + strings.Repeat("x", maxNotification) + `"}}`)
	if got := k.sent(clientSide); len(got) != 1 || !strings.Contains(got[0], "request_permission") {
		t.Errorf("the client was sent %d lines", len(got))
	}
}
