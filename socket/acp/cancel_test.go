package acp

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// prompt is a request of version 2 about a command in session s.
const prompt = `{"sessionId":"s","title":"Run it?","subject":{"type":"command","command":"ls","cwd":"/w","toolCallId":"c"},` + onceOptions + `}`

// checkCancelled checks the answer to a request whose turn was cancelled.
func checkCancelled(t *testing.T, v decisions.Verdict, res any, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	body := strictjson.Value(encode(t, res))
	if got := string(member(body, "outcome")); got != `{"outcome":"cancelled"}` {
		t.Errorf("outcome %s", got)
	}
	verdict, reason := "ask", "cancelled: the client cancelled the session's turn"
	if v == decisions.Deny {
		verdict, reason = "deny", "the test says so"
	}
	if got := text(body, "_meta", "permd", "verdict"); got != verdict {
		t.Errorf("_meta.permd.verdict = %q, want %q", got, verdict)
	}
	if got := text(body, "_meta", "permd", "reason"); got != reason {
		t.Errorf("_meta.permd.reason = %q, want %q", got, reason)
	}
}

// TestCancel cancels the turn before, while and after a request is decided,
// whatever the verdict and in both versions.
func TestCancel(t *testing.T) {
	for version, request := range map[string]string{"v1": permission(plainCall), "v2": prompt} {
		for _, v := range []decisions.Verdict{decisions.Allow, decisions.Deny, decisions.Ask} {
			t.Run(version+" before "+string(v), func(t *testing.T) {
				d, c := newDaemon(v), conn(1)
				var cause error
				d.during = func(ctx context.Context) { cause = context.Cause(ctx) }
				r, err := d.start(t, c, MethodRequestPermission, request)
				if err != nil {
					t.Fatal(err)
				}
				d.must(t, c, MethodCancel, `{"sessionId":"s"}`)
				res, err := r(t.Context())
				checkCancelled(t, v, res, err)
				if len(d.got) != 1 || !errors.Is(cause, errTurn) {
					t.Errorf("%d decided, cause %v; want one, so that it is in the journal", len(d.got), cause)
				}
				if _, err := d.call(t, c, native.MethodChoose, `{"decisionId":"d1","verdict":"allow"}`); code(err) != socket.CodeParams {
					t.Errorf("a question was left open: %v", err)
				}
			})
			t.Run(version+" while "+string(v), func(t *testing.T) {
				d, c := newDaemon(v), conn(1)
				d.during = func(ctx context.Context) {
					d.must(t, c, MethodCancel, `{"sessionId":"s"}`)
					<-ctx.Done() // the decider's context is cancelled
				}
				res, err := d.call(t, c, MethodRequestPermission, request)
				checkCancelled(t, v, res, err)
				d.during = nil
				if _, err := d.call(t, c, native.MethodChoose, `{"decisionId":"d1","verdict":"allow"}`); code(err) != socket.CodeParams {
					t.Errorf("the question is still open: %v", err)
				}
				if _, err := d.call(t, c, MethodRequestPermission, request); v != decisions.Ask && err != nil {
					t.Errorf("the next turn: %v", err)
				}
			})
			t.Run(version+" withdrawn while "+string(v), func(t *testing.T) {
				d, c := newDaemon(v), conn(1)
				ctx, withdraw := context.WithCancel(t.Context())
				d.during = func(context.Context) { withdraw() }
				r, err := d.start(t, c, MethodRequestPermission, request)
				if err != nil {
					t.Fatal(err)
				}
				// The transport turns the error into that of a cancelled request.
				if res, err := r(ctx); res != nil || !errors.Is(err, context.Canceled) {
					t.Errorf("%+v, error %v", res, err)
				}
				if _, err := d.call(t, c, native.MethodChoose, `{"decisionId":"d1","verdict":"allow"}`); code(err) != socket.CodeParams {
					t.Errorf("the question is still open: %v", err)
				}
			})
		}
		t.Run(version+" after", func(t *testing.T) {
			d, c := newDaemon(decisions.Ask), conn(1)
			_, _ = d.call(t, c, MethodRequestPermission, request)
			d.must(t, c, MethodCancel, `{"sessionId":"s"}`)
			if _, err := d.call(t, c, native.MethodChoose, `{"decisionId":"d1","verdict":"allow"}`); code(err) != socket.CodeParams {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("another session and connection", func(t *testing.T) {
		d, c := newDaemon(decisions.Ask), conn(1)
		r, err := d.start(t, c, MethodRequestPermission, permission(plainCall))
		if err != nil {
			t.Fatal(err)
		}
		d.must(t, c, MethodCancel, `{"sessionId":"other"}`)
		d.must(t, conn(2), MethodCancel, `{"sessionId":"s"}`)
		if _, err := r(t.Context()); code(err) != socket.CodeAsk {
			t.Errorf("error %v", err)
		}
		d.must(t, c, native.MethodChoose, `{"decisionId":"d1","verdict":"allow"}`)
	})
	t.Run("a shell that was not reached", func(t *testing.T) {
		// A cancelled call has not changed the shell's folder.
		d, c := newDaemon(decisions.Allow), conn(1)
		d.declare(t, c, "s", "alive")
		d.kind = "state"
		d.during = func(context.Context) { d.must(t, c, MethodCancel, `{"sessionId":"s"}`) }
		d.must(t, c, MethodRequestPermission, permission(plainCall))
		if native.StateOf(c).Shells.Changed("s") {
			t.Error("the shell is said to have changed")
		}
	})
	t.Run("what crosses with it", func(t *testing.T) {
		for version, request := range map[string]string{"v1": permission(plainCall), "v2": prompt} {
			d, c := newDaemon(decisions.Allow), conn(1)
			crosses := func(want bool) {
				t.Helper()
				res, err := d.call(t, c, MethodRequestPermission, request)
				if want {
					checkCancelled(t, decisions.Allow, res, err)
				} else if r, ok := res.(permissionResult); err != nil || !ok || r.Outcome.Outcome != "selected" {
					t.Errorf("%s: answered %+v, error %v; want it allowed", version, res, err)
				}
			}
			d.must(t, c, methodPrompt, `{"sessionId":"s","prompt":[]}`)
			crosses(false)
			d.must(t, c, MethodCancel, `{"sessionId":"other"}`)
			crosses(false)
			d.must(t, c, MethodCancel, `{"sessionId":"s"}`)
			crosses(true)
			crosses(true)
			d.must(t, c, methodPrompt, `{"sessionId":"other"}`)
			crosses(true)
			d.must(t, c, methodPrompt, `{"sessionId":"s"}`)
			crosses(false)
			// A client that does not say when a turn begins.
			d, c = newDaemon(decisions.Allow), conn(1)
			d.must(t, c, MethodCancel, `{"sessionId":"s"}`)
			crosses(false)
		}
	})
	t.Run("malformed", func(t *testing.T) {
		for _, params := range []string{`[]`, `{}`, `{"sessionId":1}`, `{"sessionId":"s","SessionId":"t"}`} {
			if _, err := newDaemon(decisions.Ask).call(t, conn(1), MethodCancel, params); code(err) != socket.CodeParams {
				t.Errorf("%s: error %v", params, err)
			}
		}
	})
}

// TestCancelledAfterAnAllow is a turn that ends when the decision is made and
// not yet said: what is said is that the call is off, and no allow.
func TestCancelledAfterAnAllow(t *testing.T) {
	d := &decisions.Decision{Verdict: decisions.Allow, Widths: []decisions.Width{{ID: "w"}}}
	got := cancelledDecision(d, errTurn)
	if got.Verdict != decisions.Ask || got.By != decisions.ByFailure || got.Widths != nil || !strings.HasPrefix(got.Reason, "cancelled: ") {
		t.Errorf("%+v", got)
	}
	if d.Verdict != decisions.Allow || d.Widths == nil {
		t.Error("the decision itself was changed")
	}
}
