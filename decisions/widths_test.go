package decisions

import (
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// fakeProposer proposes the effect itself and, for runs and writes, something
// wider that is not exact.
type fakeProposer struct{ never effects.Kind }

func (p *fakeProposer) Propose(q *MemoryQuery) []Proposal {
	e := q.Effect
	switch e.Kind {
	case p.never, effects.KindState, effects.KindUnknown, effects.KindQuestion, effects.KindMode:
		return nil
	case effects.KindRun, effects.KindWrite:
		return []Proposal{
			{Level: 0, Rule: e.Text, Choice: Choice{Exact: e.File != nil}},
			{Level: 1, Rule: e.Text + " *"},
		}
	}
	return []Proposal{{Level: 0, Rule: e.Text, Choice: Choice{Exact: true}}}
}

func (p *fakeProposer) Rejectable(r *Rejection) bool { return len(r.Asked) > 0 }

// TestOffer goes through the rows that ask: a width is offered only if it allows
// the whole call.
func TestOffer(t *testing.T) {
	remember := func(f Finding, is bool) Finding { f.Remember = &is; return f }
	tests := []struct {
		name    string
		command string
		fired   []Finding
		change  func(p *fakePolicy, pr *fakeProposer, r *Request)
		want    []string // the rules of each width
	}{
		{name: "nothing spoke", command: "touch x", want: []string{"run touch x|write ./x", "run touch x *|write ./x *"}},
		{name: "base asks", command: "mkdir x", fired: []Finding{finding(Base, SetAsk)}, want: []string{"run mkdir x|write ./x", "run mkdir x *|write ./x *"}},
		{name: "user asks", command: "ls", fired: []Finding{finding(User, SetAsk)}, want: []string{"run ls|read ./", "run ls *|read ./"}},
		{name: "user asks and forbids memory", command: "ls", fired: []Finding{remember(finding(User, SetAsk), false)}},
		{name: "org asks", command: "ls", fired: []Finding{finding(Org, SetAsk)}},
		{name: "org asks and forbids memory", command: "ls", fired: []Finding{remember(finding(Org, SetAsk), false)}},
		{name: "org asks and permits memory", command: "ls", fired: []Finding{remember(finding(Org, SetAsk), true)}, want: []string{"run ls|read ./", "run ls *|read ./"}},
		{name: "one of two org asks forbids", command: "ls", fired: []Finding{remember(finding(Org, SetAsk), true), finding(Org, SetAsk)}},
		{name: "guarded: only the exact path", command: "echo x > .envrc", want: []string{"write ./.envrc|run echo x", "write ./.envrc|run echo x *"}},
		{name: "an unknown part", command: "ls; $(cat x)"},
		{name: "a state", command: "export A=b; touch x"},
		{name: "a defect", command: "ls", change: func(_ *fakePolicy, _ *fakeProposer, r *Request) {
			r.Call.Defects = []effects.Defect{{Code: effects.DefectDropped, Text: "left out"}}
		}},
		{name: "incomplete", command: "ls", change: func(_ *fakePolicy, _ *fakeProposer, r *Request) { r.Call.Incomplete = "half" }},
		{name: "the harness asks", command: "ls", change: func(_ *fakePolicy, _ *fakeProposer, r *Request) { r.HarnessAsks = "plan" }},
		{name: "one effect is not remembered", command: "touch x", change: func(_ *fakePolicy, p *fakeProposer, _ *Request) { p.never = effects.KindWrite }},
		{name: "policy fails", command: "ls", change: func(p *fakePolicy, _ *fakeProposer, _ *Request) { p.err = errors.New("conflict") }},
		{name: "too large", command: "echo " + strings.Repeat("a ", 16_000)},
		{name: "denied", command: "ls", fired: []Finding{finding(Org, SetDeny)}},
		{name: "allowed", command: "ls", fired: []Finding{finding(User, SetAllow)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, _, e := newFakes(t)
			proposer := &fakeProposer{}
			e.proposer, p.fired = proposer, tt.fired
			req := bash(t, tt.command)
			if tt.change != nil {
				tt.change(p, proposer, req)
			}
			d := e.Decide(t.Context(), req)[0]
			var got []string
			for _, w := range d.Widths {
				got = append(got, strings.ReplaceAll(w.Rule, "\n", "|"))
				if w.Scope != "project" || w.ID == "" || w.Label == "" {
					t.Errorf("width %+v", w)
				}
			}
			if strings.Join(got, " ; ") != strings.Join(tt.want, " ; ") {
				t.Fatalf("%s (%s): have %q, want %q", d.Verdict, d.Reason, got, tt.want)
			}
			if tt.want != nil && (d.Offer == nil || len(d.Offer.Sets) != len(tt.want) || d.Offer.Size <= 0) {
				t.Errorf("the offer is %+v", d.Offer)
			}
		})
	}
}
