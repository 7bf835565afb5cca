package otc

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket/sockettest"
)

// TestAnswered: an answer is for one call, and its id stands for it afterwards.
func TestAnswered(t *testing.T) {
	const params = `{"sessionId":"s","$schema":"urn:oxp:1.0","request":{"tool_id":"A.B","call_id":"c"}}`
	for verdict, want := range map[string]string{
		"allow": `{"stored":[],"result":{"outcome":"run"}}`,
		"deny": `{"stored":[],"result":{"outcome":"denied",` +
			`"response":{"status":400,"body":{"$schema":"urn:oxp:1.0","message":"This tool call is not permitted: denied by the user","developer_message":"permd decision_id=d1"}},` +
			`"result":{"call_id":"c","success":false,"error":{"message":"This tool call is not permitted: denied by the user","developer_message":"permd decision_id=d1","can_retry":false}}}}`,
	} {
		d := newDaemon(t)
		sockettest.Diff(t, "asked", Ask, d.call(t, params).Outcome)
		if _, err := d.Call(t, "permd/choose", `{"decisionId":"d1","optionId":"x"}`); err == nil {
			t.Error("an option was picked")
		}
		choose := `{"decisionId":"d1","verdict":"` + verdict + `"}`
		sockettest.Diff(t, verdict, want, d.Must(t, "permd/choose", choose))
		if v, err := d.Call(t, "permd/choose", choose); err == nil {
			t.Errorf("twice: %s", v)
		}
		a := d.call(t, params)
		sockettest.Diff(t, "again", Denied, a.Outcome)
		sockettest.Diff(t, "why", map[string]string{
			"allow": sayDenied + whyTaken, "deny": sayDenied + "denied by the user",
		}[verdict], a.Result.Error.Message)
	}
	// A late approval is refused if the rules have changed.
	d := newDaemon(t)
	d.call(t, params)
	d.digest = "new"
	if v, err := d.Call(t, "permd/choose", `{"decisionId":"d1","verdict":"allow"}`); err == nil {
		t.Errorf("a yes under other rules: %s", v)
	}
}

// TestApproved: where a person answers at an address, a yes lets exactly the call that
// they were asked about run once, when it is repeated.
func TestApproved(t *testing.T) {
	const approval = `"approval":{"url":"https://approve.example/{decisionId}"}`
	call := func(d *daemon, id, input string) Answer {
		t.Helper()
		return d.call(t, `{"sessionId":"s",`+approval+`,"tool_id":"A.B","call_id":"`+id+`","input":`+input+`}`)
	}
	asked := func(t *testing.T) *daemon {
		d := newDaemon(t)
		sockettest.Diff(t, "asked", Ask, call(d, "c", `{"n":1}`).Outcome)
		sockettest.Diff(t, "a yes", `{"stored":[],"result":{"outcome":"approved"}}`, d.Must(t, "permd/choose", `{"decisionId":"d1","verdict":"allow"}`))
		return d
	}
	t.Run("once", func(t *testing.T) {
		d := asked(t)
		sockettest.Diff(t, "another call", Denied, call(d, "c", `{"n":2}`).Outcome)
		sockettest.Diff(t, "another id", Ask, call(d, "e", `{"n":1}`).Outcome)
		a := call(d, "c", `{"n":1}`)
		sockettest.Diff(t, "the call", []any{Run, "d1"}, []any{a.Outcome, a.Decision.ID})
		a = call(d, "c", `{"n":1}`)
		sockettest.Diff(t, "a second time", []any{Denied, sayDenied + whyTaken}, []any{a.Outcome, a.Result.Error.Message})
		sockettest.Diff(t, "in the record", decisions.Refused, d.got[len(d.got)-1].Refused)
		sockettest.Diff(t, "marked", []effects.Defect{{Code: effects.DefectContradiction, At: "call_id", Text: whyTaken}}, d.got[len(d.got)-1].Call.Defects)
	})
	t.Run("not on another connection", func(t *testing.T) {
		d := asked(t)
		d.connect(t, 2)
		d.Must(t, "permd/session", `{"sessionId":"s","cwd":"/home/ana/shop"}`)
		sockettest.Diff(t, "asked", Ask, call(d, "c", `{"n":1}`).Outcome)
	})
	t.Run("not after the session", func(t *testing.T) {
		d := asked(t)
		d.Must(t, "permd/close", `{"sessionId":"s"}`)
		d.Must(t, "permd/session", `{"sessionId":"s","cwd":"/home/ana/shop"}`)
		sockettest.Diff(t, "asked", Ask, call(d, "c", `{"n":1}`).Outcome)
	})
	t.Run("not in another mode", func(t *testing.T) {
		d := asked(t)
		d.Must(t, "permd/session", `{"sessionId":"s","cwd":"/home/ana/shop","mode":"auto"}`)
		sockettest.Diff(t, "asked", Ask, call(d, "c", `{"n":1}`).Outcome)
		d.Must(t, "permd/session", `{"sessionId":"s","cwd":"/home/ana/shop"}`)
		sockettest.Diff(t, "the yes is gone", Ask, call(d, "c", `{"n":1}`).Outcome)
	})
	t.Run("not if it would do something else", func(t *testing.T) {
		d := asked(t)
		d.gone, d.changed = true, true
		sockettest.Diff(t, "asked", Ask, call(d, "c", `{"n":1}`).Outcome)
		d.gone = false
		sockettest.Diff(t, "the yes is gone", Ask, call(d, "c", `{"n":1}`).Outcome)
	})
	t.Run("denied by now", func(t *testing.T) {
		d := asked(t)
		d.gone, d.changed, d.verdicts["B"] = true, true, decisions.Deny
		sockettest.Diff(t, "denied", Denied, call(d, "c", `{"n":1}`).Outcome)
	})
	t.Run("without what the tool needs", func(t *testing.T) {
		d := asked(t)
		a := d.call(t, `{"sessionId":"s",`+approval+`,"tool_id":"A.B","call_id":"c","input":{"n":1},"tool":{"id":"A.B","requirements":{"user_id":true}}}`)
		sockettest.Diff(t, "unmet", outcomeUnmet, a.Outcome)
	})
	t.Run("a call without an id", func(t *testing.T) {
		d := newDaemon(t)
		d.call(t, `{"tool_id":"A.B",`+approval+`}`)
		sockettest.Diff(t, "runs now", `{"stored":[],"result":{"outcome":"run"}}`, d.Must(t, "permd/choose", `{"decisionId":"d1","verdict":"allow"}`))
	})
}
