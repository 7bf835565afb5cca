package acp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/sockettest"
)

// gated asks the person, but first waits at the gate that the call's title names.
type gated struct {
	sockettest.Unchanged

	started chan struct{}
	gate    chan struct{} // is never opened: a request that waits here must be withdrawn
}

func (g *gated) Decide(ctx context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	d := &decisions.Decision{ID: "d-" + reqs[0].Call.ID, CallID: reqs[0].Call.ID, Verdict: decisions.Ask, Reason: "the test says so"}
	if reqs[0].Call.Claims.Title == "wait" {
		g.started <- struct{}{}
		select {
		case <-g.gate:
		case <-ctx.Done():
			d.Reason = decisions.CancelledReason(context.Cause(ctx))
		}
		d.Verdict = decisions.Allow // it could have been decided in the same moment
	}
	return []*decisions.Decision{d}
}

func withdraw(id string) string {
	return `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + id + `}}`
}

func asking(id, call, title string, version int) string {
	params := `"toolCall":{"toolCallId":"` + call + `","title":"` + title + `","rawInput":{"command":"ls"}}`
	if version == 2 {
		params = `"title":"Go on?","subject":{"type":"tool_call",` + params + `}`
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/request_permission","params":{"sessionId":"s",` + params +
		`,"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}`
}

func choosing(id, call string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"permd/choose","params":{"decisionId":"d-` + call + `","verdict":"allow"}}`
}

// TestWithdraw withdraws requests by their ids, of all forms and in both
// versions, while they are decided and after they were answered with a question.
func TestWithdraw(t *testing.T) {
	ids := []struct{ name, id, other string }{
		{"number", `7`, `"7"`},
		{"zero", `0`, `"0"`},
		{"negative", `-3`, `3`},
		{"string", `"a7"`, `"A7"`},
		{"string that is a number", `"7"`, `7`},
		{"empty string", `""`, `null`},
		{"string with an escape", `"\u0061/"`, `"a\u005c/"`},
		{"null", `null`, `""`},
	}
	for _, version := range []int{1, 2} {
		for _, tt := range ids {
			t.Run(fmt.Sprintf("v%d %s", version, tt.name), func(t *testing.T) {
				g := &gated{started: make(chan struct{}), gate: make(chan struct{})}
				w := serveWith(t, g)
				c, stranger := w.dial(t), w.dial(t)
				c.send(t, asking(tt.id, "c", "wait", version))
				<-g.started
				// None of these is the request, nor is it another connection's.
				stranger.send(t, withdraw(tt.id))
				c.send(t, withdraw(tt.other), withdraw(`1.0`), withdraw(`{}`), withdraw(`[`+tt.id+`]`),
					`{"jsonrpc":"2.0","method":"$/cancel_request"}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}`)
				if got := c.exchange(t, choosing(`99`, "x")); !strings.Contains(got["99"], "no question") {
					t.Fatalf("the connection does not go on: %s", got["99"])
				}
				c.send(t, withdraw(tt.id))
				want := `{"jsonrpc":"2.0","id":` + tt.id + `,"error":{"code":-32800,"message":"request cancelled"}}`
				if got := c.line(t); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				// Withdrawing it has no effect after it is answered, or before it
				// is asked.
				c.send(t, withdraw(tt.id), withdraw(tt.id))
				c.send(t, asking(tt.id, "q", "ask", version))
				if got := c.line(t); !strings.Contains(got, `"code":-32050`) {
					t.Fatalf("no question: %s", got)
				}
				stranger.send(t, withdraw(tt.id))
				c.send(t, withdraw(tt.other))
				c.send(t, asking(`50`, "q2", "ask", version))
				if got := c.line(t); !strings.Contains(got, `"code":-32050`) {
					t.Fatalf("no question: %s", got)
				}
				// After a request is withdrawn, its question cannot be answered;
				// those of others can.
				c.send(t, withdraw(tt.id))
				if got := c.exchange(t, choosing(`51`, "q")); !strings.Contains(got["51"], "no question of that decisionId is open") {
					t.Errorf("a withdrawn question was answered: %s", got["51"])
				}
				if got := c.exchange(t, choosing(`52`, "q2")); !strings.Contains(got["52"], `"optionId":"y"`) {
					t.Errorf("another question: %s", got["52"])
				}
			})
		}
	}
}

// TestWithdrawDecide withdraws a request in permd's own form, whose answer would
// be a result.
func TestWithdrawDecide(t *testing.T) {
	g := &gated{started: make(chan struct{}), gate: make(chan struct{})}
	c := serveWith(t, g).dial(t)
	c.send(t, `{"jsonrpc":"2.0","id":7,"method":"permd/decide","params":{"calls":[{"callId":"c","tool":{"name":"Bash"},"input":{"command":"ls"},"title":"wait"}]}}`)
	<-g.started
	c.send(t, withdraw(`7`))
	if got, want := c.line(t), `{"jsonrpc":"2.0","id":7,"error":{"code":-32800,"message":"request cancelled"}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCancelOverTheSocket cancels the turn while a request is decided.
func TestCancelOverTheSocket(t *testing.T) {
	for _, version := range []int{1, 2} {
		g := &gated{started: make(chan struct{}), gate: make(chan struct{})}
		c := serveWith(t, g).dial(t)
		c.send(t, asking(`1`, "c", "wait", version))
		<-g.started
		c.send(t, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"other"}}`,
			`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
		got := c.line(t)
		if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"cancelled"},"_meta":{"permd":{"decisionId":"d-c"`) ||
			!strings.Contains(got, "the client cancelled the session's turn") {
			t.Errorf("version %d: %s", version, got)
		}
	}
}
