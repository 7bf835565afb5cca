package restrictions

import (
	"strconv"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
)

// Revocation names remembered allows that do not apply while it stands: those to which all of
// its members apply that are set.
type Revocation struct {
	ID   string // of one choice
	User string // name or uid of the person whose it is
	// Kind is a kind of effects, and Pattern a line of that kind: no allow answers an effect
	// that it matches.
	Kind    effects.Kind
	Pattern string
	// Before is the time before which the choice was made, in UTC; zero for any.
	Before time.Time
}

// Choices are the restrictions of what people have remembered, ready to be asked.
type Choices struct {
	of    *Restrictions
	lines []*pattern.Pattern // of the revocations, nil for none
	name  func(uid uint32) string
}

// Choice is a remembered allow, as far as a restriction depends on it.
type Choice struct {
	ID        string
	UID       uint32
	Kind      effects.Kind
	Made      time.Time
	Confirmed time.Time // zero if it is not
}

// Compile returns the restrictions of remembered allows, nil if there are none. Options in
// the lines of revocations mean what the table says of them. name returns a user's name, "" if
// it is not known: then a revocation by name is about that user, too.
func (r *Restrictions) Compile(table *programs.Table, name func(uid uint32) string) *Choices {
	if r.None() || !r.NoRemember && r.RememberAtMost == 0 && len(r.Revoked) == 0 {
		return nil
	}
	c := &Choices{of: r, lines: make([]*pattern.Pattern, len(r.Revoked)), name: name}
	for i := range r.Revoked {
		v := &r.Revoked[i]
		if v.Pattern == "" {
			continue
		}
		if p, err := pattern.Parse(v.Kind, v.Pattern); err == nil { // the settings were checked
			c.lines[i] = p.Resolved(table)
		}
	}
	return c
}

// maxAhead is how far the time of an allow may lie ahead of the clock if its age or date counts: more means
// that the clock was wrong then or is wrong now.
const maxAhead = time.Minute

// The reasons for people, which name the settings.
const (
	lockedBy   = "has locked permd, so everything asks: "
	noRemember = "lets nothing be remembered"
	revoked    = "revoked by the organisation (revoke)"
	ahead      = "made or confirmed later than now by this machine's clock, so that its end is not known (remember_at_most)"
	tooOld     = "older than the organisation lets it apply (remember_at_most)"
)

// Refuses returns why a remembered allow does not apply to the effect of q now, "" if it does.
// Without q it is why it applies to nothing at all.
func (c *Choices) Refuses(m *Choice, q *decisions.MemoryQuery, now time.Time) string {
	switch {
	case c == nil:
		return ""
	case c.of.NoRemember:
		return "the organisation " + noRemember + " (remember)"
	case c.of.RememberAtMost > 0 && !now.Before(c.Ends(m)):
		return tooOld
	case c.of.RememberAtMost > 0 && from(m).After(now.Add(maxAhead)):
		return ahead
	}
	for i := range c.of.Revoked {
		if c.about(i, m, now) && (c.of.Revoked[i].Pattern == "" || q != nil && c.touches(i, q)) {
			return revoked
		}
	}
	return ""
}

// Ends returns when the restrictions end an allow at the latest, zero if they do not.
func (c *Choices) Ends(m *Choice) time.Time {
	if c == nil || c.of.RememberAtMost == 0 {
		return time.Time{}
	}
	return from(m).Add(c.of.RememberAtMost)
}

// from returns when an allow was made or confirmed last.
func from(m *Choice) time.Time {
	if m.Confirmed.After(m.Made) {
		return m.Confirmed
	}
	return m.Made
}

// RefusesNew returns why an allow of the effect of q must not be stored, "" if it may be. q may
// lack everything but the effect.
func (c *Choices) RefusesNew(q *decisions.MemoryQuery, now time.Time) string {
	if c == nil {
		return ""
	}
	return c.Refuses(&Choice{UID: q.UID, Kind: q.Effect.Kind, Made: now}, q, now)
}

// RefusesWhole returns why an allow that is matched by a line, nil if it is not, applies to
// nothing at all, "" if it may apply to something.
func (c *Choices) RefusesWhole(m *Choice, line *pattern.Pattern, now time.Time) string {
	if why := c.Refuses(m, nil, now); why != "" || c == nil || line == nil {
		return why
	}
	for i, covers := range c.lines {
		if covers != nil && c.about(i, m, now) && covers.Covers(line, false) {
			return revoked
		}
	}
	return ""
}

// about reports whether a revocation is about an allow, whatever effects it names. An allow that
// is dated in the future may have been made at any time.
func (c *Choices) about(i int, m *Choice, now time.Time) bool {
	v := &c.of.Revoked[i]
	return (v.ID == "" || v.ID == m.ID) && (v.User == "" || c.is(v.User, m.UID)) && (v.Kind == "" || v.Kind == m.Kind) &&
		(v.Before.IsZero() || m.Made.Before(v.Before) || m.Made.After(now.Add(maxAhead)))
}

// touches reports whether the line of a revocation may match any part of the effect of q.
func (c *Choices) touches(i int, q *decisions.MemoryQuery) bool {
	if c.lines[i] == nil {
		return true // never, as the settings were checked
	}
	ctx := pattern.Context{Project: q.Project}
	if q.Call != nil {
		ctx.Home, ctx.Cwd = q.Call.User.Home, q.Call.Cwd
	}
	return c.lines[i].Touches(q.Effect, ctx)
}

// is reports whether a user is the one that is named.
func (c *Choices) is(user string, uid uint32) bool {
	if user == strconv.FormatUint(uint64(uid), 10) {
		return true
	}
	if _, err := strconv.ParseUint(user, 10, 32); err == nil {
		return false
	}
	name := c.name(uid)
	return name == "" || name == user
}
