package daemon

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
)

// TestClockJumps sets the clock of a whole daemon forward and back: rules, memory, journal
// and approvals together. Nothing that was allowed for an hour is allowed for longer, a
// reject stays, and no decision is lost or out of order.
func TestClockJumps(t *testing.T) {
	var offset atomic.Int64
	w := newWorldAt(t, true, func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
	session := decisions.SessionRef{Conn: 7, ID: "s"}
	decide := func(command string) *decisions.Decision {
		t.Helper()
		return w.engine.Decisions.Decide(t.Context(), &decisions.Request{
			Session: session,
			Call: effects.Call{
				Protocol: "acp", Agent: effects.Party{Name: "claude-agent-acp", Version: "0.100.0"}, Tool: effects.Tool{Name: "Bash"},
				Input: []byte(`{"command":"` + command + `"}`), Cwd: w.project, User: effects.User{Home: w.project},
			},
		})[0]
	}
	keep := func(command string, v decisions.Verdict) {
		t.Helper()
		d := decide(command)
		if d.Verdict != decisions.Ask || d.Offer == nil {
			t.Fatalf("%s: %s, %s", command, d.Verdict, d.Reason)
		}
		kept, err := w.engine.Keeper().Keep(t.Context(), decisions.Answer{DecisionID: d.ID, Verdict: v, Offer: d.Offer, Scope: "user", For: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		for i := range kept {
			if err := w.memory.Confirm(t.Context(), kept[i].ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.recordAnswer(t.Context(), d.ID, v, author.Identity{}, kept); err != nil {
			t.Fatal(err)
		}
	}
	keep("frob good", decisions.Allow)
	keep("frob bad", decisions.Deny)
	for _, step := range []struct {
		name      string
		at        time.Duration
		good, bad decisions.Verdict
	}{
		{"at once", 0, decisions.Allow, decisions.Deny},
		{"almost an hour later", 59 * time.Minute, decisions.Allow, decisions.Deny},
		{"set back by a day", -24 * time.Hour, decisions.Allow, decisions.Deny},
		{"set forward by ten years", 10 * 365 * 24 * time.Hour, decisions.Ask, decisions.Ask},
		{"set right again", time.Minute, decisions.Ask, decisions.Deny},
		{"set back by ten years", -10 * 365 * 24 * time.Hour, decisions.Ask, decisions.Deny},
	} {
		offset.Store(int64(step.at))
		if d := decide("frob good"); d.Verdict != step.good {
			t.Errorf("%s: what was allowed for an hour: %s by %s", step.name, d.Verdict, d.By)
		}
		if d := decide("frob bad"); d.Verdict == decisions.Allow || d.Verdict != step.bad {
			t.Errorf("%s: what was rejected for an hour: %s by %s", step.name, d.Verdict, d.By)
		}
		if d := decide("rm -rf /"); d.Verdict != decisions.Deny {
			t.Errorf("%s: what base denies: %s", step.name, d.Verdict)
		}
		if d := decide("git status"); d.By == decisions.ByFailure {
			t.Errorf("%s: another call: %s, %s", step.name, d.Verdict, d.Reason)
		}
		if st := w.status(); st.SelfCheck != "" || len(st.Stuck) > 0 {
			t.Errorf("%s: the status says %q, %v", step.name, st.SelfCheck, st.Stuck)
		}
	}
	recs, err := w.journal.List(t.Context(), decisions.RecordFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for i, r := range recs {
		if r.Seq != int64(i+1) {
			t.Errorf("record %d has the number %d", i+1, r.Seq)
		}
		if r.Answer != nil {
			answered++
		}
	}
	if len(recs) != 2+6*4 || answered != 2 {
		t.Errorf("%d decisions, %d of them answered", len(recs), answered)
	}
}
