package engine

import (
	"context"
	"errors"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/policy/restrictions"
	"github.com/permd/permd/remember"
)

// compiled are the restrictions of remembered allows, with what they were made of.
type compiled struct {
	of      *restrictions.Restrictions
	table   *programs.Table
	choices *restrictions.Choices
}

// restricted returns the restrictions of remembered allows in force, nil if there are none.
func (r *Rules) restricted() *restrictions.Choices {
	of, table := r.Restrictions()
	if of == nil {
		return nil
	}
	now := r.compiled.Load()
	if now == nil || now.of != of || now.table != table {
		now = &compiled{of, table, of.Compile(table, func(uid uint32) string { return r.users.Lookup(uid).Name })}
		r.compiled.Store(now)
	}
	return now.choices
}

// Refuses returns why the organisation does not let a remembered allow apply to the effect of
// q now, "" if it does; see remember.Options.
func (r *Rules) Refuses(c *remember.Choice, confirmed, now int64, q *decisions.MemoryQuery) string {
	of := r.restricted()
	if of == nil || c.Verdict != decisions.Allow {
		return ""
	}
	m := standingOf(c)
	if confirmed != 0 {
		m.Confirmed = time.Unix(0, confirmed)
	}
	return of.Refuses(&m, q, time.Unix(0, now))
}

// Standing returns when a choice ends and why the organisation does not let it apply to
// anything, "" if it does.
func (r *Rules) Standing(c *remember.Choice, now time.Time) (ends time.Time, refused string) {
	of := r.restricted()
	if of == nil || c.Verdict != decisions.Allow {
		return c.Expires, ""
	}
	m := standingOf(c)
	var line *pattern.Pattern
	if c.Label != "" {
		line, _ = pattern.Parse(c.Kind, c.Label) // nil for one that is not matched by a line
	}
	ends = of.Ends(&m)
	if ends.IsZero() || !c.Expires.IsZero() && c.Expires.Before(ends) {
		ends = c.Expires
	}
	return ends, of.RefusesWhole(&m, line, now)
}

func standingOf(c *remember.Choice) restrictions.Choice {
	return restrictions.Choice{ID: c.ID, UID: c.UID, Kind: c.Kind, Made: c.Created, Confirmed: c.Confirmed}
}

// Remembered is a memory that says of what it stores how long the organisation lets it apply.
type Remembered struct {
	*remember.Store
	Rules *Rules
}

// Keep stores what an answer asks for.
func (m Remembered) Keep(ctx context.Context, a decisions.Answer) ([]decisions.StoredChoice, error) {
	kept, err := m.Store.Keep(ctx, a)
	for i := range kept {
		if c, err := m.Get(kept[i].ID); err == nil {
			kept[i].Expires, _ = m.Rules.Standing(&c, c.Created)
		}
	}
	return kept, err
}

// refusesNew returns an error if the organisation does not let an allow of the effect of q be
// stored.
func (r *Rules) refusesNew(q *decisions.MemoryQuery) error {
	now := q.Now
	if now.IsZero() {
		now = time.Now()
	}
	if why := r.restricted().RefusesNew(q, now); why != "" {
		return errors.New(why)
	}
	return nil
}

// pauseOf returns the pause or lock that is in force for a user, nil if none is. The
// organisation's lock comes before any.
func (e *Engine) pauseOf(uid uint32) *decisions.Pause {
	if why := e.rules.Lock(); why != "" {
		return &decisions.Pause{Locked: true, Org: why}
	}
	if e.config.Pause == nil {
		return nil
	}
	return e.config.Pause(uid)
}
