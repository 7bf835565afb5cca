package decisions

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/recent"
)

// otherRules is the same policy with another digest.
type otherRules struct{ *fakePolicy }

func (p otherRules) Snapshot(uint32, string) (Snapshot, error) { return p, p.snapErr }
func (otherRules) Digest() string                              { return "other" }

// TestStillHolds: an earlier answer still holds only as long as deciding again would
// give the same one.
func TestStillHolds(t *testing.T) {
	request := func() *Request {
		return &Request{Call: effects.Call{
			ID: "c", Protocol: "otc", Tool: effects.Tool{Name: "Send", Server: "Sms", Version: "1.2.0"}, Input: []byte(`{"to":"a"}`), InputFrom: "input",
			Credentials: effects.Credentials{Secrets: []string{"KEY"}},
			User:        effects.User{UID: 1000, Home: "/home/canary"},
		}}
	}
	tests := map[string]func(p *fakePolicy, m *fakeMemory, e *Engine, r *Request){
		"":                              func(*fakePolicy, *fakeMemory, *Engine, *Request) {},
		"the rules have gone":           func(p *fakePolicy, _ *fakeMemory, _ *Engine, _ *Request) { p.snapErr = errors.New("gone") },
		"other rules that say the same": func(p *fakePolicy, _ *fakeMemory, e *Engine, _ *Request) { e.policy = otherRules{p} },
		"a rule fails":                  func(p *fakePolicy, _ *fakeMemory, _ *Engine, _ *Request) { p.err = errors.New("broken") },
		"a rule panics":                 func(p *fakePolicy, _ *fakeMemory, _ *Engine, _ *Request) { p.panics = true },
		"another rule":                  func(p *fakePolicy, _ *fakeMemory, _ *Engine, _ *Request) { p.fired = []Finding{finding(Org, SetAllow)} },
		"a deny":                        func(p *fakePolicy, _ *fakeMemory, _ *Engine, _ *Request) { p.fired = []Finding{finding(Org, SetDeny)} },
		"a remembered reject":           func(_ *fakePolicy, m *fakeMemory, _ *Engine, _ *Request) { m.reject = &Choice{ID: "n"} },
		"a remembered allow":            func(_ *fakePolicy, m *fakeMemory, _ *Engine, _ *Request) { m.allow = &Choice{ID: "y"} },
		"other arguments":               func(_ *fakePolicy, _ *fakeMemory, _ *Engine, r *Request) { r.Call.Input = []byte(`{"to":"b"}`) },
		"another version":               func(_ *fakePolicy, _ *fakeMemory, _ *Engine, r *Request) { r.Call.Tool.Version = "1.3.0" },
		"another secret": func(_ *fakePolicy, _ *fakeMemory, _ *Engine, r *Request) {
			r.Call.Credentials.Secrets = []string{"ROOT"}
		},
		"a defect": func(_ *fakePolicy, _ *fakeMemory, _ *Engine, r *Request) {
			r.Call.Defects = []effects.Defect{{Code: "x"}}
		},
		"the harness asks": func(_ *fakePolicy, _ *fakeMemory, _ *Engine, r *Request) { r.HarnessAsks = "plan" },
		"another person's file": func(_ *fakePolicy, _ *fakeMemory, _ *Engine, r *Request) {
			r.Call.Input = []byte(`{"path":"/etc/shadow"}`)
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			p, m, j, e := newFakes(t)
			shown := 0
			e.observe = func(*Deliberation) { shown++ }
			d := e.Decide(t.Context(), request())[0]
			if d.Verdict != Allow {
				t.Fatalf("%+v", d)
			}
			r := request()
			change(p, m, e, r)
			if got := e.StillHolds(t.Context(), r, d); got != (name == "") {
				t.Errorf("Again = %v", got)
			}
			if len(j.recs) != 1 || shown != 1 {
				t.Errorf("%d records, %d shown", len(j.recs), shown)
			}
		})
	}
}

func TestAgainAsks(t *testing.T) {
	p, _, _, e := newFakes(t)
	p.fired = nil
	alone := false
	e.unattended = func() bool { return alone }
	r := &Request{Call: effects.Call{ID: "c", Tool: effects.Tool{Name: "Send", Server: "Sms"}, User: effects.User{Home: "/home/canary"}}}
	d := e.Decide(t.Context(), r)[0]
	if d.Verdict != Ask || !e.StillHolds(t.Context(), r, d) {
		t.Errorf("%+v is not the same again", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e.StillHolds(ctx, r, d) {
		t.Error("again, although nobody waits")
	}
	alone = true
	if e.StillHolds(t.Context(), r, d) {
		t.Error("asked again, although nobody is there")
	}
	if denied := e.Decide(t.Context(), r)[0]; denied.Verdict != Deny || !e.StillHolds(t.Context(), r, denied) {
		t.Error("not denied again")
	}
	alone = false
	// The same is true with a cache.
	e.cache = new(Cache)
	e.now = func() time.Time { return time.Unix(1_700_000_100, 0) }
	for range 2 {
		d := e.Decide(t.Context(), r)[0]
		if !e.StillHolds(t.Context(), r, d) {
			t.Error("not the same with a cache")
		}
	}
	// Another choice with the same content is another answer, and a failure never
	// holds.
	p, m, _, e := newFakes(t)
	p.fired, m.allow = nil, &Choice{ID: "one", Label: "use it"}
	d = e.Decide(t.Context(), r)[0]
	if d.By != ByMemory || !e.StillHolds(t.Context(), r, d) {
		t.Errorf("remembered: %+v", d)
	}
	if m.allow = (&Choice{ID: "two", Label: "use it"}); e.StillHolds(t.Context(), r, d) {
		t.Error("again, by another choice")
	}
	p.err = errors.New("broken")
	if d = e.Decide(t.Context(), r)[0]; d.By != ByFailure || e.StillHolds(t.Context(), r, d) {
		t.Errorf("a failure again: %+v", d)
	}
	p.err = nil
	// An allow that could not be logged is an answer by failure.
	p.fired = []Finding{finding(User, SetAllow)}
	e.journal = &fakeJournal{err: errors.New("full")}
	if d := e.Decide(t.Context(), r)[0]; d.Verdict != Ask || e.StillHolds(t.Context(), r, d) {
		t.Errorf("a failure again: %+v", d)
	}
}

// TestHoldsNotInTime: an approval that could not be checked in time is refused for that, and
// not because the call has changed.
func TestHoldsNotInTime(t *testing.T) {
	fakes, _, j, _ := newFakes(t)
	fakes.fired = nil
	clock := time.Unix(1_700_000_000, 0)
	p := &slowPolicy{fakePolicy: fakes, clock: &clock}
	e, err := NewEngine(Config{
		Policy: p, Memory: &fakeMemory{}, Journal: j, FS: paths.OSFS{}, Log: slog.New(slog.DiscardHandler), NewID: func() string { return "d" },
		Now: func() time.Time { return clock },
	})
	if err != nil {
		t.Fatal(err)
	}
	req := bash(t, "cat f; cat g")
	asked := e.Decide(t.Context(), req)[0]
	if err := e.Holds(t.Context(), req, asked); asked.Verdict != Ask || err != nil {
		t.Fatalf("%s, %v", asked.Verdict, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Holds(ctx, req, asked); !errors.Is(err, errNotInTime) {
		t.Errorf("nobody waits: %v", err)
	}
	p.takes = time.Hour
	if err := e.Holds(t.Context(), req, asked); !errors.Is(err, errNotInTime) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("it takes too long: %v", err)
	}
	p.takes = 0
	other := *asked
	other.Fingerprints = other.Fingerprints[1:]
	if err := e.Holds(t.Context(), req, &other); !errors.Is(err, ErrChanged) {
		t.Errorf("another call: %v", err)
	}
	other.Policy.Digest = "other"
	if err := e.Holds(t.Context(), req, &other); !errors.Is(err, ErrChanged) {
		t.Errorf("other rules: %v", err)
	}
}

// otherLabels proposes the same widths in other words.
type otherLabels struct{ fakeProposer }

func (o *otherLabels) Propose(q *MemoryQuery) []Proposal {
	list := o.fakeProposer.Propose(q)
	for i := range list {
		list[i].Rule += " and more"
	}
	return list
}

// TestReconsider: a call is decided again only if the person would be shown something else, or nobody
// needs to be asked. Only then a yes counts that they give by other rules.
func TestReconsider(t *testing.T) {
	remember := func(f Finding, is bool) Finding { f.Remember = &is; return f }
	because := func(f Finding, why string) Finding { f.Reason = why; return f }
	for name, tt := range map[string]struct {
		change func(p *fakePolicy, m *fakeMemory, r *Request)
		want   Verdict // "" for the same question
		fails  bool
		holds  bool
	}{
		"nothing":        {func(*fakePolicy, *fakeMemory, *Request) {}, "", false, true},
		"another place":  {func(p *fakePolicy, _ *fakeMemory, _ *Request) { p.fired[0].Rule.At = "y.rego:7" }, "", false, true},
		"another reason": {func(p *fakePolicy, _ *fakeMemory, _ *Request) { p.fired[0] = because(p.fired[0], "x") }, Ask, false, false},
		"another layer": {func(p *fakePolicy, _ *fakeMemory, _ *Request) {
			p.fired[0] = because(finding(Org, SetAsk), p.fired[0].Reason)
		}, Ask, false, false},
		"other widths":        {func(*fakePolicy, *fakeMemory, *Request) {}, Ask, false, false},
		"no widths":           {func(p *fakePolicy, _ *fakeMemory, _ *Request) { p.fired[0] = remember(p.fired[0], false) }, Ask, false, false},
		"an allow":            {func(p *fakePolicy, _ *fakeMemory, _ *Request) { p.fired[0] = finding(User, SetAllow) }, Allow, false, true},
		"a deny":              {func(p *fakePolicy, _ *fakeMemory, _ *Request) { p.fired[0] = finding(Org, SetDeny) }, Deny, false, false},
		"a remembered reject": {func(_ *fakePolicy, m *fakeMemory, _ *Request) { m.reject = &Choice{ID: "n"} }, Deny, false, false},
		"another call":        {func(_ *fakePolicy, _ *fakeMemory, r *Request) { r.Call.Input = []byte(`{"command":"frob y"}`) }, Ask, false, false},
		"rules fail":          {func(p *fakePolicy, _ *fakeMemory, _ *Request) { p.err = errors.New("broken") }, "", true, false},
		"rules have gone":     {func(p *fakePolicy, _ *fakeMemory, _ *Request) { p.snapErr = errors.New("gone") }, "", true, false},
		"rules panic":         {func(p *fakePolicy, _ *fakeMemory, _ *Request) { p.panics = true }, "", true, false},
	} {
		for _, other := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				p, m, j, e := newFakes(t)
				e.proposer = &fakeProposer{}
				e.takeApproval = func(*Request, *Decision) bool { return false }
				p.fired = []Finding{finding(User, SetAsk)}
				r := bash(t, "frob x")
				asked := e.Decide(t.Context(), r)[0]
				if asked.Verdict != Ask || len(asked.Widths) == 0 {
					t.Fatalf("%+v", asked)
				}
				e.takeApproval = func(*Request, *Decision) bool { t.Error("an approval is consumed"); return true }
				tt.change(p, m, r)
				if name == "other widths" {
					e.proposer = &otherLabels{}
				}
				if other {
					e.policy = otherRules{p}
				}
				d, err := e.Reconsider(t.Context(), r, asked)
				got := Verdict("")
				if d != nil {
					got = d.Verdict
				}
				if got != tt.want || (err != nil) != tt.fails {
					t.Errorf("decided again: %q, %v, want %q", got, err, tt.want)
				}
				if len(j.recs) != 1 {
					t.Errorf("%d records", len(j.recs))
				}
				if err := e.Holds(t.Context(), r, asked); other && (err == nil) != tt.holds {
					t.Errorf("a yes: %v, want %v", err, tt.holds)
				}
				d = e.DecideAgain(t.Context(), r, asked)
				if len(j.recs) != 2 || tt.want != "" && d.Verdict != tt.want {
					t.Errorf("for the record: %s, %d records", d.Verdict, len(j.recs))
				}
				if j.recs[0].Reconsiders != "" || j.recs[1].Reconsiders != asked.ID {
					t.Errorf("the records are about %q and %q", j.recs[0].Reconsiders, j.recs[1].Reconsiders)
				}
			})
		}
	}
}

// untimely is a policy that looks at the time or the number of calls.
type untimely struct{ *fakePolicy }

func (p untimely) Snapshot(uint32, string) (Snapshot, error) { return p, nil }
func (untimely) Timeless() bool                              { return false }

// TestStillHoldsCounts: each answer that lets a call run is counted once, and where rules look
// at the time or the number of calls none is repeated.
func TestStillHoldsCounts(t *testing.T) {
	for name, timeless := range map[string]bool{"rules without time": true, "rules with time": false} {
		t.Run(name, func(t *testing.T) {
			p, _, _, e := newFakes(t)
			if !timeless {
				e.policy = untimely{p}
			}
			e.config.Recent = recent.New(e.now(), 0)
			request := func() *Request {
				return &Request{Call: effects.Call{ID: "c", Tool: effects.Tool{Name: "Send", Server: "Sms"}, Claims: effects.Claims{User: "u"}, User: effects.User{UID: 1000, Home: "/home/canary"}}}
			}
			d := e.Decide(t.Context(), request())[0]
			if d.Verdict != Allow {
				t.Fatalf("%+v", d)
			}
			const times = 12
			for range times - 1 {
				r := request()
				if got := e.StillHolds(t.Context(), r, d); got != timeless {
					t.Fatalf("the answer holds: %v", got)
				}
				if !timeless {
					e.Decide(t.Context(), r)
				}
			}
			if n := e.config.Recent.Add(0, "u", e.now()); n != times+1 {
				t.Errorf("%d calls before this one, want %d", n-1, times)
			}
			// A question that is shown again is no call.
			p.fired = nil
			asked := e.Decide(t.Context(), request())[0]
			if !e.StillHolds(t.Context(), request(), asked) {
				t.Error("a question is not the same again")
			}
			if n := e.config.Recent.Add(0, "u", e.now()); n != times+3 {
				t.Errorf("%d calls before this one, want %d", n-1, times+2)
			}
		})
	}
}
