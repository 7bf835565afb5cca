package decisions

import (
	"context"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// claimRules has rules about paths that only claims name.
type claimRules struct {
	*fakePolicy
	set      Set
	layer    Layer
	remember *bool
}

func (p *claimRules) Snapshot(uint32, string) (Snapshot, error) { return p, nil }

func (p *claimRules) Evaluate(_ context.Context, in *Input) (Findings, error) {
	fired := []Finding{finding(User, SetAllow)}
	if f := in.Effect.File; f != nil && strings.Contains(f.Path, "/migrations/") {
		r := finding(p.layer, p.set)
		r.Remember = p.remember
		fired = append(fired, r)
	}
	return Findings{Fired: fired}, nil
}

// TestHints: a path that only a claim names stops a call if a rule denies it or
// asks, and changes nothing otherwise.
func TestHints(t *testing.T) {
	call := func(path, kind string) *Request {
		r := bash(t, "ls")
		r.Call.Claims.Kind = kind
		r.Call.Claims.Locations = []effects.Location{{Path: r.Call.Cwd + "/" + path, From: "locations[0].path"}}
		return r
	}
	tests := []struct {
		name  string
		layer Layer
		set   Set
		req   *Request
		want  Verdict
		row   int
	}{
		{"org denies", Org, SetDeny, call("migrations/1.sql", "read"), Deny, RowDeny},
		{"base denies", Base, SetDeny, call("migrations/1.sql", "read"), Deny, RowDeny},
		{"org denies what may be meant", Org, SetDeny, call("migrations/1.sql", "move"), Deny, RowDeny},
		{"base denies what may be meant", Base, SetDeny, call("migrations/1.sql", "move"), Allow, 0},
		{"org asks", Org, SetAsk, call("migrations/1.sql", "read"), Ask, RowOrgAsk},
		{"project asks", Project, SetAsk, call("migrations/1.sql", "read"), Ask, RowAsk},
		{"base asks", Base, SetAsk, call("migrations/1.sql", "read"), Allow, 0},
		{"user allows", User, SetAllow, call("migrations/1.sql", "read"), Allow, 0},
		{"another path", Org, SetDeny, call("src/1.sql", "read"), Allow, 0},
		{"a secret", Org, SetDeny, call(".env", "read"), Ask, RowGuarded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, j, e := newFakes(t)
			e.policy = &claimRules{fakePolicy: p, layer: tt.layer, set: tt.set}
			d := e.Decide(t.Context(), tt.req)[0]
			if d.Verdict != tt.want || len(d.Fingerprints) != len(d.Effects) {
				t.Fatalf("got %s (%s) with %d effects and %d traces, want %s", d.Verdict, d.Reason, len(d.Effects), len(d.Fingerprints), tt.want)
			}
			last := d.Effects[len(d.Effects)-1]
			if tt.row == 0 {
				if last.Claimed {
					t.Errorf("what did not count is shown: %+v", last)
				}
				return
			}
			if !last.Claimed || last.Row != tt.row || last.From != "locations[0].path" {
				t.Errorf("the last effect is %+v, want a claimed one with row %d", last, tt.row)
			}
			if d.Widths != nil {
				t.Errorf("offered: %+v", d.Widths)
			}
			if got := j.recs[0].Decision.Effects; len(got) != len(d.Effects) {
				t.Errorf("the journal has %d effects of %d", len(got), len(d.Effects))
			}
		})
	}
}

// TestHintsAndMemory: a remembered reject of a path denies what only a claim
// names, and a remembered allow answers a rule that asks about it.
func TestHintsAndMemory(t *testing.T) {
	for name, tt := range map[string]struct {
		memory fakeMemory
		want   Verdict
	}{
		"reject": {fakeMemory{reject: &Choice{ID: "r"}}, Deny},
		"allow":  {fakeMemory{allow: &Choice{ID: "a"}}, Allow},
		"none":   {fakeMemory{}, Ask},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, _, e := newFakes(t)
			e.policy = &claimRules{fakePolicy: p, layer: User, set: SetAsk}
			e.memory = hintMemory{&tt.memory}
			req := bash(t, "ls")
			req.Call.Claims.Kind = "read"
			req.Call.Claims.Locations = []effects.Location{{Path: req.Call.Cwd + "/migrations/1.sql", From: "locations[0].path"}}
			if d := e.Decide(t.Context(), req)[0]; d.Verdict != tt.want {
				t.Errorf("got %s (%s), want %s", d.Verdict, d.Reason, tt.want)
			}
		})
	}
}

// hintMemory has remembered choices about hints only.
type hintMemory struct{ of *fakeMemory }

func (m hintMemory) Match(q *MemoryQuery) (*Choice, *Choice, error) {
	if q.Effect.Hint {
		return m.of.Match(q)
	}
	return nil, nil, nil
}

// TestHintsOpenNothing: a path that only a claim of an agent with a profile names never makes
// an answer milder, whatever allows the path.
func TestHintsOpenNothing(t *testing.T) {
	p, m, _, e := newFakes(t)
	allow := finding(Org, SetAllow)
	allow.Covers, allow.CoversUnknown = ^effects.Tags(0), true
	p.fired = []Finding{allow}
	m.allow = &Choice{ID: "a", Exact: true}
	req := bash(t, "ls")
	req.Call.Agent, req.Call.Tool, req.Call.Input = effects.Party{Name: "cline"}, effects.Tool{}, nil
	req.Call.Claims.Kind = "edit"
	req.Call.Claims.Diffs = []effects.Diff{{Path: req.Call.Cwd + "/a", From: "content[0]"}}
	if d := e.Decide(t.Context(), req)[0]; d.Verdict != Ask {
		t.Errorf("a call without input that claims an allowed path: %s (%s)", d.Verdict, d.Reason)
	}
}
