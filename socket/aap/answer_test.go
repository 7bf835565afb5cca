package aap

import (
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// theTurn has a call of each side that asks, and one of each that rules decide.
const theTurn = `{"sessionId":"s",` + open

func theTurnParams(more string) string {
	return theTurn + more + `,` + turnOf("a mine 1", "b t 1", "c theirs 1", "d hers 1") + `}`
}

func newTurn(t testing.TB) (*daemon, *Result) {
	t.Helper()
	d := newDaemon(t)
	d.verdicts["theirs"], d.verdicts["hers"], d.message = decisions.Allow, decisions.Deny, "not hers"
	return d, d.must(t, MethodPermissions, theTurnParams(""))
}

func answers(list string) string {
	return `{"sessionId":"s","batchId":"b1","answers":[` + list + `]}`
}

// TestAnswers: answers come one at a time, in any order; messages are in the order
// of the calls.
func TestAnswers(t *testing.T) {
	d, r := newTurn(t)
	sockettest.Diff(t, "needs", needs{Answers: []string{"a", "b"}, Results: []string{}}, r.Needs)
	r = d.must(t, MethodAnswer, answers(`{"toolCallId":"b","verdict":"allow"}`))
	sockettest.Diff(t, "needs", needs{Answers: []string{"a"}, Results: []string{}}, r.Needs)
	if r.Messages != nil {
		t.Errorf("messages %v", r.Messages)
	}
	r = d.must(t, MethodAnswer, answers(`{"toolCallId":"a","verdict":"allow"}`))
	sockettest.Diff(t, "needs", needs{Answers: []string{}, Results: []string{"a"}}, r.Needs)
	ready := []string{
		`{"role":"tool_permission","toolCallId":"b","granted":true}`,
		`{"role":"tool_permission","toolCallId":"c","granted":true}`,
		`{"role":"tool_permission","toolCallId":"d","granted":false,"reason":"not hers"}`,
	}
	sockettest.Diff(t, "messages", ready, posts(t, r))
	r = d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1","results":[{"toolCallId":"a","content":[{"type":"text","text":"1 < 2"}]}]}`)
	whole := append([]string{`{"role":"tool","toolCallId":"a","content":[{"type":"text","text":"1 < 2"}]}`}, ready...)
	sockettest.Diff(t, "messages", whole, posts(t, r))
	sockettest.Diff(t, "needs", needs{Answers: []string{}, Results: []string{}}, r.Needs)
	// Calls are decided again when they are handed out, and the log has what the
	// person said about each.
	sockettest.Diff(t, "noted", []string{"d2 allow 0", "d1 allow 0", "d5 allow 0", "d6 allow 0", "d8 allow 0"}, d.answered)

	// The POST failed: again, in both ways.
	sockettest.Diff(t, "messages again", whole, posts(t, d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1"}`)))
	sockettest.Diff(t, "messages again", whole, posts(t, d.must(t, MethodPermissions, theTurnParams(`,"batchId":"b1"`))))
	sockettest.Diff(t, "messages again", whole, posts(t, d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1","results":[{"toolCallId":"a","content":[ {"text":"1 < 2","type":"text"} ]}]}`)))
	// The same calls without saying so may be those of a later turn.
	r = d.must(t, MethodPermissions, theTurnParams(""))
	sockettest.Diff(t, "needs", needs{Answers: []string{"a", "b"}, Results: []string{}}, r.Needs)
	if r.BatchID == "b1" {
		t.Error("it is taken for the old batch")
	}
}

// TestAllAtOnce: a client that has run its tool after the person's approval may
// send both together.
func TestAllAtOnce(t *testing.T) {
	d, _ := newTurn(t)
	r := d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1","answers":[{"toolCallId":"a","verdict":"allow"},
		{"toolCallId":"b","verdict":"deny","reason":"<b> first"}],"results":[{"toolCallId":"a","content":"done"}]}`)
	sockettest.Diff(t, "messages", []string{
		`{"role":"tool","toolCallId":"a","content":"done"}`,
		`{"role":"tool_permission","toolCallId":"b","granted":false,"reason":"<b> first"}`,
		`{"role":"tool_permission","toolCallId":"c","granted":true}`,
		`{"role":"tool_permission","toolCallId":"d","granted":false,"reason":"not hers"}`,
	}, posts(t, r))
}

// TestAlways: a choice is stored once, and a repeated batch gets the same answer,
// on this connection and on another.
func TestAlways(t *testing.T) {
	d, _ := newTurn(t)
	r := d.must(t, MethodAnswer, answers(`{"toolCallId":"a","verdict":"deny"},{"toolCallId":"b","verdict":"allow","width":"w1"}`))
	if len(r.Stored) != 1 || r.Stored[0].ID != "c1" {
		t.Errorf("stored %+v", r.Stored)
	}
	want := posts(t, r)
	sockettest.Diff(t, "again", want, posts(t, d.must(t, MethodPermissions, theTurnParams(`,"batchId":"b1"`))))
	sockettest.Diff(t, "again", want, posts(t, d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1"}`)))
	sockettest.Diff(t, "noted", []string{"d1 deny 0", "d2 allow 1"}, d.answered)

	d.connect(t, 2)
	d.Refused(t, MethodAnswer, `{"sessionId":"s","batchId":"b1"}`, "no batch of that batchId")
	d.Refused(t, MethodPermissions, theTurnParams(`,"batchId":"b1"`), "no batch of that batchId")
	r = d.must(t, MethodPermissions, theTurnParams(""))
	sockettest.Diff(t, "another connection", []string{
		"a client ask", "b server granted", "c server granted", "d server denied: not hers",
	}, outcomes(r))
}

func TestAnswersRefused(t *testing.T) {
	for name, c := range map[string]struct{ params, says string }{
		"no session":           {`{"batchId":"b1"}`, "sessionId is missing"},
		"no batch":             {`{"sessionId":"s"}`, "batchId is missing"},
		"another batch":        {`{"sessionId":"s","batchId":"b2"}`, "no batch of that batchId"},
		"another session":      {`{"sessionId":"z","batchId":"b1"}`, "not declared"},
		"a call of another":    {answers(`{"toolCallId":"z","verdict":"allow"}`), "no call of that toolCallId"},
		"a call without":       {answers(`{"verdict":"allow"}`), "toolCallId is missing"},
		"twice":                {answers(`{"toolCallId":"a","verdict":"allow"},{"toolCallId":"a","verdict":"allow"}`), "two of them"},
		"one that is granted":  {answers(`{"toolCallId":"c","verdict":"deny"}`), "does not wait for the person"},
		"one that is denied":   {answers(`{"toolCallId":"d","verdict":"allow"}`), "does not wait for the person"},
		"no verdict":           {answers(`{"toolCallId":"a"}`), "verdict must be"},
		"another verdict":      {answers(`{"toolCallId":"a","verdict":"ask"}`), "verdict must be"},
		"a verdict's case":     {answers(`{"toolCallId":"a","Verdict":"allow"}`), "reading params"},
		"a reason to allow":    {answers(`{"toolCallId":"a","verdict":"allow","reason":"x"}`), "a reason belongs to a deny"},
		"a long reason":        {answers(`{"toolCallId":"a","verdict":"deny","reason":"` + strings.Repeat("x", maxReason+1) + `"}`), "longer than"},
		"a result of a server": {`{"sessionId":"s","batchId":"b1","results":[{"toolCallId":"c","content":""}]}`, "the client has no call"},
		"a result of nothing":  {`{"sessionId":"s","batchId":"b1","results":[{"toolCallId":"z","content":""}]}`, "the client has no call"},
		"a result of an ask":   {`{"sessionId":"s","batchId":"b1","results":[{"toolCallId":"a","content":""}]}`, "may not run"},
		"a result of a deny":   {`{"sessionId":"s","batchId":"b1","answers":[{"toolCallId":"a","verdict":"deny"}],"results":[{"toolCallId":"a","content":""}]}`, "may not run"},
		"a result of a kind":   {`{"sessionId":"s","batchId":"b1","answers":[{"toolCallId":"a","verdict":"allow"}],"results":[{"toolCallId":"a","content":{}}]}`, "must be text or a list"},
		"a result without one": {`{"sessionId":"s","batchId":"b1","answers":[{"toolCallId":"a","verdict":"allow"}],"results":[{"toolCallId":"a"}]}`, "must be text or a list"},
		"two results":          {`{"sessionId":"s","batchId":"b1","answers":[{"toolCallId":"a","verdict":"allow"}],"results":[{"toolCallId":"a","content":""},{"toolCallId":"a","content":""}]}`, "two of them"},
		"good beside bad":      {answers(`{"toolCallId":"b","verdict":"allow"},{"toolCallId":"c","verdict":"allow"}`), "does not wait"},
		"another turn's batch": {theTurn + `,"batchId":"b1",` + turnOf("a mine 2", "b t 1", "c theirs 1", "d hers 1") + `}`, "not that of batchId"},
		"fewer calls":          {theTurn + `,"batchId":"b1",` + turnOf("a mine 1") + `}`, "not that of batchId"},
		"another order":        {theTurn + `,"batchId":"b1",` + turnOf("b t 1", "a mine 1", "c theirs 1", "d hers 1") + `}`, "not that of batchId"},
		"another agent":        {`{"sessionId":"s","agent":{"name":"z"},"tools":[{"name":"mine"}],"batchId":"b1",` + turnOf("a mine 1", "b t 1", "c theirs 1", "d hers 1") + `}`, "not that of batchId"},
		"another endpoint":     {theTurnParams(`,"batchId":"b1","endpoint":"https://x"`), "not that of batchId"},
		"too much of results":  {`{"sessionId":"s","batchId":"b1","answers":[{"toolCallId":"a","verdict":"allow"}],"results":[{"toolCallId":"a","content":"` + strings.Repeat("x", maxBatchBytes) + `"}]}`, "larger than"},
		"another side's":       {`{"sessionId":"s","agent":{"name":"helper"},"tools":[{"name":"mine"},{"name":"t"}],"batchId":"b1",` + turnOf("a mine 1", "b t 1", "c theirs 1", "d hers 1") + `}`, "not that of batchId"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newTurn(t)
			method := MethodAnswer
			if strings.Contains(c.params, `"turn"`) {
				method = MethodPermissions
			}
			d.Refused(t, method, c.params, c.says)
			// Nothing of it was taken.
			if len(d.answered) > 0 || len(d.got) != 4 {
				t.Errorf("noted %v, decided %d", d.answered, len(d.got))
			}
			r := d.must(t, MethodAnswer, answers(`{"toolCallId":"a","verdict":"deny"},{"toolCallId":"b","verdict":"allow"}`))
			if len(r.Messages) != 4 {
				t.Errorf("messages %v", posts(t, r))
			}
		})
	}
}

// TestProblems: an answer that cannot be accepted leaves its question open and does
// not affect others.
func TestProblems(t *testing.T) {
	d, _ := newTurn(t)
	r := d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1","answers":[{"toolCallId":"a","verdict":"allow","width":"w9"},
		{"toolCallId":"b","verdict":"allow"}],"results":[{"toolCallId":"a","content":"done"}]}`)
	if c := r.Calls[0]; c.Outcome != Ask || !strings.Contains(c.Problem, "cannot be remembered") || r.Calls[1].Outcome != Granted {
		t.Errorf("calls %+v", r.Calls)
	}
	sockettest.Diff(t, "needs", needs{Answers: []string{"a"}, Results: []string{}}, r.Needs)
	r = d.must(t, MethodAnswer, answers(`{"toolCallId":"a","verdict":"deny"}`))
	if c := r.Calls[0]; c.Outcome != Denied || c.Problem != "" {
		t.Errorf("call %+v", c)
	}
}

// TestChoose: a question of a batch can be answered with permd/choose as well, and counts
// when the client asks for the messages.
func TestChoose(t *testing.T) {
	for verdict, want := range map[string]string{"allow": "b server granted", "deny": "b server denied"} {
		t.Run(verdict, func(t *testing.T) {
			d, r := newTurn(t)
			choice := `{"decisionId":"` + r.Calls[1].Decision.ID + `","verdict":"` + verdict + `"}`
			d.Must(t, native.MethodChoose, choice)
			d.Refused(t, native.MethodChoose, choice, "no question of that decisionId")
			d.Refused(t, MethodAnswer, answers(`{"toolCallId":"b","verdict":"allow"}`), "does not wait for the person")
			r = d.must(t, MethodAnswer, answers(`{"toolCallId":"a","verdict":"deny"}`))
			sockettest.Diff(t, "outcomes", []string{"a client denied", want, "c server granted", "d server denied: not hers"}, outcomes(r))
			if len(r.Messages) != 4 {
				t.Errorf("messages %v", posts(t, r))
			}
		})
	}
}

// TestOneUse: a question that was dropped is asked again.
func TestOneUse(t *testing.T) {
	d, r := newTurn(t)
	id := r.Calls[1].Decision.ID
	native.StateOf(d.Conn).Questions.Remove(id)
	r = d.must(t, MethodAnswer, answers(`{"toolCallId":"b","verdict":"allow"}`))
	if c := r.Calls[1]; c.Outcome != Ask || !strings.Contains(c.Problem, "no question") {
		t.Errorf("call %+v", c)
	}
	d.must(t, MethodPermissions, theTurnParams(`,"batchId":"b1"`))
	r = d.must(t, MethodAnswer, answers(`{"toolCallId":"b","verdict":"allow"}`))
	if r.Calls[1].Outcome != Granted {
		t.Errorf("call %+v", r.Calls[1])
	}
}

// TestSessions: a batch belongs to the session in which it was asked, as it was
// declared then.
func TestSessions(t *testing.T) {
	d, _ := newTurn(t)
	d.Must(t, native.MethodSession, `{"sessionId":"s2","cwd":"/home/ana/shop"}`)
	d.Refused(t, MethodAnswer, `{"sessionId":"s2","batchId":"b1"}`, "no batch")
	d.Must(t, native.MethodSession, `{"sessionId":"s","cwd":"/home/ana/other"}`)
	d.Refused(t, MethodAnswer, `{"sessionId":"s","batchId":"b1"}`, "no batch")
	d.must(t, MethodPermissions, theTurnParams(""))
	d.Must(t, native.MethodClose, `{"sessionId":"s"}`)
	d.Must(t, native.MethodSession, `{"sessionId":"s","cwd":"/home/ana/shop"}`)
	d.Refused(t, MethodAnswer, `{"sessionId":"s","batchId":"b2"}`, "no batch")
	if s := batchesOf(d.Conn); len(s.list) != 0 || s.size != 0 {
		t.Errorf("%d batches, %d bytes are kept", len(s.list), s.size)
	}
}

// TestDecider: without a decision there is no answer.
func TestDecider(t *testing.T) {
	d := newDaemon(t)
	d.short = true
	if _, err := d.Call(t, MethodPermissions, theTurnParams("")); !errors.Is(err, native.ErrNoDecision) {
		t.Errorf("error %v", err)
	}
	var e *socket.Error
	if errors.As(native.ErrNoDecision, &e) {
		t.Error("it is told to the client as it is")
	}
}
