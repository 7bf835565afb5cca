package decisions

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/permd/permd/decisions/effects"
)

// Shadow tries other rules on calls that were decided. What it finds has no effect on any
// decision.
type Shadow interface {
	// Trying reports whether there are other rules. It must return at once.
	Trying() bool
	// Note is called after a decision was logged. It must return at once.
	Note(d Decided)
}

// Decided is a decision with what it was made of: the effects of the call as they were then,
// and what memory said of each. All of it belongs to the decision, and must not be changed.
type Decided struct {
	ID       string
	Time     time.Time
	Snapshot Snapshot // of the rules that decided
	Verdict  Verdict
	By       DecidedBy
	Reason   string
	Effects  []EffectDecision
	Tool     string // of the call
	// Paused is set if a pause or a lock was in force.
	Paused bool

	of        *evaluation // nil if there is none
	found     []memoryMatch
	forbidden string // see Request.Forbidden
	// nobody is set if a question is denied, since nobody is there to answer it.
	nobody bool
}

// decidedFrom returns a decision with what it was made of.
func decidedFrom(m *intake, snap Snapshot, req *Request, d *Decision, nobody bool) Decided {
	c := Decided{
		ID: d.ID, Snapshot: snap, Verdict: d.Verdict, By: d.By, Reason: d.Reason, Effects: d.Effects, Tool: req.Call.Tool.Name,
		forbidden: req.Forbidden, nobody: nobody && (req.Gate == nil || !req.Gate.Own),
	}
	if m != nil {
		c.Time, c.Paused, c.of, c.found = m.at, m.paused, m.evaluated, m.found
	}
	return c
}

// Known reports whether it is known what the decision was made of, so that Under can decide
// the call again.
func (d *Decided) Known() bool { return d.of != nil }

// Size estimates how much memory is kept for the decision, in bytes.
func (d *Decided) Size() int {
	if d.of == nil {
		return 256
	}
	return 1024 + d.of.call.Size() + effects.SizeOf(d.of.res.Effects) + effects.SizeOf(d.of.res.Rest) + effects.SizeOfClaims(d.of.res.Claimed)
}

// Under decides the call by other rules: of the same effects, with the same answers of memory.
// It looks at no file. The decision is not recorded, and has neither id nor digest. It is nil if
// memory was not asked about all that counts, as the rules in use denied the call before that.
func (e *Engine) Under(ctx context.Context, d *Decided, snap Snapshot) *Decision {
	was := d.of
	m := &evaluation{
		snapshot: snap, call: was.call, res: was.res, session: was.session, recent: was.recent, projectKey: was.projectKey,
		person: was.person, fingerprints: was.fingerprints, effects: slices.Clone(was.effects), hints: slices.Clone(was.hints),
	}
	e.askRules(ctx, m, new(Input), d.Time, slog.New(slog.DiscardHandler))
	if len(m.rest) > len(was.rest) {
		return nil
	}
	c := e.conclude(ctx, m, d.found)
	now := c.decision
	if d.forbidden != "" && now.Verdict != Deny {
		now.fail(Deny, d.forbidden)
	}
	now.denyUnattended(d.nobody)
	return &now
}
