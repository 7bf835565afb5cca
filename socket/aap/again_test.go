package aap

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// TestAgain: a repeated batch can only become stricter.
func TestAgain(t *testing.T) {
	const retry = `{"sessionId":"s","batchId":"b1"}`
	done := func(t *testing.T, width string) *daemon {
		d, _ := newTurn(t)
		d.must(t, MethodAnswer, answers(`{"toolCallId":"a","verdict":"deny"},{"toolCallId":"b","verdict":"allow"`+width+`}`))
		return d
	}
	for name, c := range map[string]struct {
		width  string
		change func(d *daemon)
		want   string
	}{
		"nothing has changed":                  {"", func(*daemon) {}, "a denied b granted c granted d denied"},
		"a rule forbids what rules allowed":    {"", func(d *daemon) { d.verdicts["theirs"] = decisions.Deny }, "a denied b granted c denied d denied"},
		"a rule asks what rules allowed":       {"", func(d *daemon) { d.verdicts["theirs"] = decisions.Ask }, "a denied b granted c ask d denied"},
		"a rule forbids what a person allowed": {"", func(d *daemon) { d.verdicts["t"] = decisions.Deny }, "a denied b denied c granted d denied"},
		"a choice was revoked":                 {`,"width":"w1"`, func(d *daemon) { delete(d.verdicts, "t") }, "a denied b ask c granted d denied"},
		"deciding fails":                       {"", func(d *daemon) { d.by = decisions.ByFailure }, "a denied b ask c granted d denied"},
		"rules allow what was denied":          {"", func(d *daemon) { d.verdicts["hers"], d.verdicts["mine"] = decisions.Allow, decisions.Allow }, "a denied b granted c granted d denied"},
	} {
		for _, way := range []string{"answer", "permissions"} {
			t.Run(name+" "+way, func(t *testing.T) {
				d := done(t, c.width)
				c.change(d)
				var r *Result
				if way == "answer" {
					r = d.must(t, MethodAnswer, retry)
				} else {
					r = d.must(t, MethodPermissions, theTurnParams(`,"batchId":"b1"`))
				}
				var got []string
				for _, call := range r.Calls {
					got = append(got, call.ToolCallID+" "+string(call.Outcome))
				}
				if strings.Join(got, " ") != c.want {
					t.Errorf("%v, want %s", got, c.want)
				}
				if (r.Messages == nil) != strings.Contains(c.want, "ask") {
					t.Errorf("messages %v", r.Messages)
				}
			})
		}
	}
}

// TestMeanwhile: an allowed call is not returned if it has been forbidden while a
// question of the same batch waited.
func TestMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		now  decisions.Verdict
		want string
	}{
		"revoked":   {decisions.Ask, "c server ask"},
		"forbidden": {decisions.Deny, "c server denied: not hers"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newTurn(t)
			d.verdicts["theirs"] = c.now
			r := d.must(t, MethodAnswer, answers(`{"toolCallId":"a","verdict":"deny"},{"toolCallId":"b","verdict":"allow"}`))
			sockettest.Diff(t, "outcomes", []string{"a client denied", "b server granted", c.want, "d server denied: not hers"}, outcomes(r))
		})
	}
}

// TestForbiddenMeanwhile: a call that a person allowed is not returned if it has
// been forbidden since the question, whether other questions waited or not.
func TestForbiddenMeanwhile(t *testing.T) {
	for name, steps := range map[string][]string{
		"between two answers": {`{"toolCallId":"a","verdict":"deny"},{"toolCallId":"b","verdict":"allow"}`, `{"toolCallId":"c","verdict":"allow"}`},
		"before the answers":  {``, `{"toolCallId":"a","verdict":"deny"},{"toolCallId":"b","verdict":"allow"},{"toolCallId":"c","verdict":"allow"}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.must(t, MethodPermissions, theTurn+`,`+turnOf("a mine 1", "b t 1", "c theirs 1")+`}`)
			d.must(t, MethodAnswer, answers(steps[0]))
			d.verdicts["t"], d.message = decisions.Deny, "no more"
			r := d.must(t, MethodAnswer, answers(steps[1]))
			want := []string{"a client denied", "b server denied: no more", "c server granted"}
			sockettest.Diff(t, "outcomes", want, outcomes(r))
			sockettest.Diff(t, "again", posts(t, r), posts(t, d.must(t, MethodAnswer, answers(``))))
		})
	}
}

// TestAnotherQuestion: an approval does not count if the same call now asks another
// question. asked has what was true when it was asked.
func TestAnotherQuestion(t *testing.T) {
	asked := decisions.EffectDecision{
		Kind: "write", Text: "write ./out/x", Tags: []string{"in_project"}, Verdict: decisions.Ask, Row: 10, Reason: "changes a file",
	}
	change := func(f func(e *decisions.EffectDecision)) []decisions.EffectDecision {
		e := asked
		f(&e)
		return []decisions.EffectDecision{e}
	}
	for name, c := range map[string]struct {
		now  []decisions.EffectDecision
		want Outcome
	}{
		"the same":            {[]decisions.EffectDecision{asked}, Granted},
		"less":                {change(func(e *decisions.EffectDecision) { e.Verdict = decisions.Allow }), Granted},
		"more that may be":    {append(change(func(e *decisions.EffectDecision) { e.Text, e.Verdict = "read ./y", decisions.Allow }), asked), Granted},
		"another line":        {change(func(e *decisions.EffectDecision) { e.Rules = []decisions.RuleRef{{At: "rules.yaml:9"}} }), Granted},
		"more":                {append(change(func(e *decisions.EffectDecision) { e.Text = "write ./y" }), asked), Ask},
		"another place":       {change(func(e *decisions.EffectDecision) { e.Text = "write ~/.bashrc (given as out/x)" }), Ask},
		"another kind":        {change(func(e *decisions.EffectDecision) { e.Kind = "delete" }), Ask},
		"another reason":      {change(func(e *decisions.EffectDecision) { e.Reason = "ask the person on call" }), Ask},
		"another row":         {change(func(e *decisions.EffectDecision) { e.Row = 5 }), Ask},
		"other tags":          {change(func(e *decisions.EffectDecision) { e.Tags = []string{"in_project", "startup"} }), Ask},
		"only what it claims": {change(func(e *decisions.EffectDecision) { e.Claimed = true }), Ask},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.effects = []decisions.EffectDecision{asked}
			d.must(t, MethodPermissions, theTurn+`,`+turnOf("b t 1")+`}`)
			d.effects = c.now
			r := d.must(t, MethodAnswer, answers(`{"toolCallId":"b","verdict":"allow"}`))
			if got := r.Calls[0].Outcome; got != c.want {
				t.Errorf("%s", got)
			}
			if got := d.must(t, MethodAnswer, answers(``)).Calls[0].Outcome; got != c.want {
				t.Errorf("again: %s", got)
			}
			if c.want == Ask {
				// The question as it is now is answered like any other.
				r = d.must(t, MethodAnswer, answers(`{"toolCallId":"b","verdict":"allow"}`))
				if got := r.Calls[0].Outcome; got != Granted {
					t.Errorf("answered: %s", got)
				}
			}
		})
	}
}

// TestAnsweredFailure: while permd cannot decide, a person's approval still counts;
// it does not for another failure.
func TestAnsweredFailure(t *testing.T) {
	d := newDaemon(t)
	d.by = decisions.ByFailure
	d.must(t, MethodPermissions, theTurn+`,`+turnOf("b t 1")+`}`)
	if got := d.must(t, MethodAnswer, answers(`{"toolCallId":"b","verdict":"allow"}`)).Calls[0].Outcome; got != Granted {
		t.Errorf("answered: %s", got)
	}
	d.reason = "something else broke"
	if got := d.must(t, MethodAnswer, answers(``)).Calls[0].Outcome; got != Ask {
		t.Errorf("again: %s", got)
	}
}

// TestCancelled: a request that ends before its calls are decided has no outcome,
// and the person's approval still counts when the client asks again.
func TestCancelled(t *testing.T) {
	late, cancel := context.WithCancel(t.Context())
	cancel()
	withdrawn, withdraw := context.WithCancelCause(t.Context())
	withdraw(socket.ErrWithdrawn)

	d, _ := newTurn(t)
	d.by = decisions.ByFailure
	answered := answers(`{"toolCallId":"a","verdict":"deny"},{"toolCallId":"b","verdict":"allow"}`)
	if _, err := d.CallWith(late, t, MethodAnswer, answered); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	d.by = ""
	want := []string{"a client denied", "b server granted", "c server granted", "d server denied: not hers"}
	sockettest.Diff(t, "then", want, outcomes(d.must(t, MethodAnswer, answers(``))))
	if _, err := d.CallWith(late, t, MethodPermissions, theTurnParams(`,"batchId":"b1"`)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}

	// The first time, what is not decided is for the person, if they are there.
	if _, err := d.CallWith(late, t, MethodPermissions, theTurnParams("")); err != nil {
		t.Errorf("error %v", err)
	}
	if _, err := d.CallWith(withdrawn, t, MethodPermissions, theTurnParams("")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestAskedAgain: a repeated question is answered by its new id.
func TestAskedAgain(t *testing.T) {
	d, r := newTurn(t)
	old := r.Calls[1].Decision.ID
	d.must(t, MethodPermissions, theTurnParams(`,"batchId":"b1"`))
	// What is denied is not decided again.
	if n := len(d.got); n != 4+3 {
		t.Errorf("%d calls were decided", n)
	}
	r = d.must(t, MethodAnswer, answers(`{"toolCallId":"b","verdict":"allow"}`))
	if r.Calls[1].Outcome != Granted || r.Calls[1].Decision.ID == old {
		t.Errorf("call %+v", r.Calls[1])
	}
	sockettest.Diff(t, "noted", []string{"d6 allow 0"}, d.answered)
	if _, err := native.AnswerQuestion(t.Context(), native.Deps{}, &native.StateOf(d.Conn).Questions, native.Answer{DecisionID: "d1", Verdict: decisions.Allow}); err == nil {
		t.Error("the question of before is still open")
	}
}

// TestResultsStay: a call that the client has run does not run again, and its
// result stays if the call is forbidden now.
func TestResultsStay(t *testing.T) {
	d, _ := newTurn(t)
	d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1","answers":[{"toolCallId":"a","verdict":"allow"},
		{"toolCallId":"b","verdict":"deny"}],"results":[{"toolCallId":"a","content":"done"}]}`)
	d.verdicts["mine"] = decisions.Deny
	r := d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1"}`)
	if got := outcomes(r)[0]; got != "a client skip: the client's own result is there" {
		t.Error(got)
	}
	if got := posts(t, r)[0]; got != `{"role":"tool","toolCallId":"a","content":"done"}` {
		t.Error(got)
	}
}

// TestResultsCount: a client that ran an allowed tool can report its result, even
// if the call is denied or asks by now.
func TestResultsCount(t *testing.T) {
	for _, now := range []decisions.Verdict{decisions.Ask, decisions.Deny} {
		t.Run(string(now), func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["mine"] = decisions.Allow
			d.must(t, MethodPermissions, theTurn+`,`+turnOf("a mine 1", "b mine 2")+`}`)
			d.verdicts["mine"] = now
			d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1","results":[{"toolCallId":"a","content":"one"}]}`)
			r := d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1","results":[{"toolCallId":"b","content":"two"}]}`)
			sockettest.Diff(t, "messages", []string{`{"role":"tool","toolCallId":"a","content":"one"}`, `{"role":"tool","toolCallId":"b","content":"two"}`}, posts(t, r))
			if _, err := native.AnswerQuestion(t.Context(), native.Deps{}, &native.StateOf(d.Conn).Questions, native.Answer{DecisionID: "d3", Verdict: decisions.Allow}); err == nil {
				t.Error("the question is still open")
			}
		})
	}
}

// TestLaterCallOfAnID: an approval names only the id of a call, so it must not
// count for another call with that id in a later turn.
func TestLaterCallOfAnID(t *testing.T) {
	const first, other = `"a t 1"`, `"a t 2"`
	turn := func(call string) string { return theTurn + `,` + turnOf(strings.Trim(call, `"`)) + `}` }
	yes := func(batch string) string {
		return `{"sessionId":"s","batchId":"` + batch + `","answers":[{"toolCallId":"a","verdict":"allow"}]}`
	}
	t.Run("while it waits", func(t *testing.T) {
		d := newDaemon(t)
		d.must(t, MethodPermissions, turn(first))
		r := d.must(t, MethodPermissions, turn(other))
		sockettest.Diff(t, "the later call", []string{"a server denied: " + whyOther}, outcomes(r))
		d.Refused(t, MethodAnswer, yes("b1"), "does not wait")
		r = d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1"}`)
		sockettest.Diff(t, "the earlier call", []string{"a server denied: " + whyOther}, outcomes(r))
	})
	t.Run("after a yes", func(t *testing.T) {
		d := newDaemon(t)
		d.must(t, MethodPermissions, turn(first))
		r := d.must(t, MethodAnswer, yes("b1"))
		sockettest.Diff(t, "the earlier call", []string{"a server granted"}, outcomes(r))
		r = d.must(t, MethodPermissions, turn(other))
		sockettest.Diff(t, "the later call", []string{"a server denied: " + whyOther}, outcomes(r))
		for _, method := range []string{MethodAnswer, MethodPermissions} {
			params := `{"sessionId":"s","batchId":"b1"}`
			if method == MethodPermissions {
				params = theTurn + `,"batchId":"b1",` + turnOf("a t 1") + `}`
			}
			r = d.must(t, method, params)
			sockettest.Diff(t, "the earlier call, said again", []string{"a server denied: " + whyOther}, outcomes(r))
		}
		d.Refused(t, MethodAnswer, yes("b2"), "does not wait")
	})
	const result = `{"role":"tool","toolCallId":"a","content":"done"}`
	for name, shows := range map[string]func(d *daemon) string{
		"after a turn with the result": func(d *daemon) string {
			d.must(t, MethodRan, theTurn+`,"turn":{"stopReason":"end_turn","messages":[`+result+`]}}`)
			return turn(other)
		},
		"after a no": func(*daemon) string { return turn(other) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.must(t, MethodPermissions, turn(first))
			said := yes("b1")
			if name == "after a no" {
				said = strings.Replace(said, "allow", "deny", 1)
			}
			d.must(t, MethodAnswer, said)
			r := d.must(t, MethodPermissions, shows(d))
			sockettest.Diff(t, "the later call", []string{"a server ask"}, outcomes(r))
			r = d.must(t, MethodAnswer, yes("b2"))
			sockettest.Diff(t, "the later call with its own yes", []string{"a server granted"}, outcomes(r))
		})
	}
	t.Run("allowed by a rule", func(t *testing.T) {
		// In one turn, a result may be that of the call that follows it.
		for _, next := range []string{turn(other), strings.Replace(turn(other), `"messages":[`, `"messages":[`+result+`,`, 1)} {
			d := newDaemon(t)
			d.verdicts["t"] = decisions.Allow
			d.must(t, MethodPermissions, turn(first))
			r := d.must(t, MethodPermissions, next)
			sockettest.Diff(t, "the later call", []string{"a server denied: " + whyOther}, outcomes(r))
		}
	})
	t.Run("under another tool", func(t *testing.T) {
		d := newDaemon(t)
		d.must(t, MethodPermissions, turn(first))
		d.must(t, MethodPermissions, turn(`"a u 1"`))
		d.Refused(t, MethodAnswer, yes("b1"), "does not wait")
	})
	t.Run("the same call", func(t *testing.T) {
		d := newDaemon(t)
		d.must(t, MethodPermissions, turn(first))
		d.must(t, MethodPermissions, turn(first))
		sockettest.Diff(t, "the first yes", []string{"a server granted"}, outcomes(d.must(t, MethodAnswer, yes("b1"))))
		sockettest.Diff(t, "the second yes", []string{"a server granted"}, outcomes(d.must(t, MethodAnswer, yes("b2"))))
	})
	t.Run("another session", func(t *testing.T) {
		d := newDaemon(t)
		d.must(t, MethodPermissions, turn(first))
		d.Must(t, native.MethodSession, `{"sessionId":"s2","cwd":"/home/ana/shop","client":{"name":"playground"}}`)
		d.must(t, MethodPermissions, strings.Replace(turn(other), `"sessionId":"s"`, `"sessionId":"s2"`, 1))
		sockettest.Diff(t, "the yes", []string{"a server granted"}, outcomes(d.must(t, MethodAnswer, yes("b1"))))
	})
}
