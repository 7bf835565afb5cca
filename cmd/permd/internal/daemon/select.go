package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/permd/permd/cmd/permd/internal/preview"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
)

// Find returns choices by their ids.
func (m choices) Find(uid *uint32, ids []string) (found []admin.Choice, missing string) {
	list, missing := m.d.memory.Find(uid, ids)
	return m.wireAll(list), missing
}

// Select returns a part of the choices of a person, or of everybody.
func (m choices) Select(ctx context.Context, uid *uint32, q admin.ChoiceQuery) (admin.Choices, error) {
	limit := cmp.Or(q.Limit, admin.MaxList)
	if q.Empty() {
		part, total, more := m.d.memory.Page(uid, remember.Page{After: q.After, Limit: limit, Newest: q.Newest})
		page := admin.Choices{Choices: m.wireAll(part), Total: total, All: total}
		k := m.marker(uid)
		for i := range page.Choices {
			k.set(&page.Choices[i])
		}
		m.markUses(ctx, page.Choices, waitFor(q.After))
		if more {
			page.Next = part[len(part)-1].ID
		}
		return page, nil
	}
	mark, answers := m.marker(uid), map[string]*decisions.Record{}
	fits := func(c *admin.Choice) (bool, error) {
		if !q.FitsUnmarked(c) || q.ExpiringIn > 0 && !expiresIn(c, mark.now, q.ExpiringIn) {
			return false, nil
		}
		if mark.set(c); !q.FitsMarked(c) {
			return false, nil
		}
		return m.isOf(ctx, answers, c, q.Agent, q.Tool)
	}
	if q.Wider {
		mark.wider = m.usedFor(ctx, uid)
	}
	page := admin.Choices{Choices: []admin.Choice{}}
	after, _ := m.d.memory.Find(uid, []string{q.After})
	begun := len(after) == 0
	var c admin.Choice
	for of := range m.d.memory.All(uid, q.Newest) {
		page.All++
		c = m.wire(of)
		fit, err := fits(&c)
		if err != nil {
			return admin.Choices{}, err
		}
		if fit {
			page.Total++
		}
		switch {
		case !begun:
			begun = c.ID == q.After
		case !fit:
		case len(page.Choices) < limit:
			page.Choices = append(page.Choices, c)
		default:
			page.Next = page.Choices[limit-1].ID
		}
	}
	if !q.Wider {
		m.markUses(ctx, page.Choices, waitFor(q.After))
	}
	return page, nil
}

// How long is waited for what is not known yet of what choices were used for: for the first part
// of a list, and where it is asked for.
const (
	waitFirst = 50 * time.Millisecond
	waitAsked = 2 * time.Second
)

// waitFor is how long a part of a list waits that follows a choice.
func waitFor(after string) time.Duration {
	if after == "" {
		return waitFirst
	}
	return 0
}

// askFor adds a choice to those that are to be looked at, if there may be something to say of it.
func askFor(asked map[string]preview.Asked, c *admin.Choice) {
	if c.Verdict == decisions.Allow && c.Line && c.Changed == "" && !c.Unconfirmed && c.Matches >= preview.LeastUses {
		asked[c.ID] = preview.Asked{Matches: c.Matches, Last: c.LastMatched}
	}
}

// markUses sets which choices are wider than what they were used for.
func (m choices) markUses(ctx context.Context, list []admin.Choice, wait time.Duration) {
	asked := map[string]preview.Asked{}
	for i := range list {
		askFor(asked, &list[i])
	}
	found := m.d.uses.Narrower(ctx, asked, wait)
	for i := range list {
		setUses(found, &list[i])
	}
}

func setUses(found map[string]preview.Narrower, c *admin.Choice) {
	if n, ok := found[c.ID]; ok {
		c.UsedFor = &admin.UsedFor{Line: n.Line, Seen: n.Uses}
	}
}

// usedFor returns which choices of a person are wider than what they were used for.
func (m choices) usedFor(ctx context.Context, uid *uint32) map[string]preview.Narrower {
	asked := map[string]preview.Asked{}
	for of := range m.d.memory.All(uid, false) {
		if of.Matches >= preview.LeastUses {
			c := m.wire(of)
			askFor(asked, &c)
		}
	}
	return m.d.uses.Narrower(ctx, asked, waitAsked)
}

// expiresIn reports whether a choice expires within some seconds.
func expiresIn(c *admin.Choice, now time.Time, seconds int64) bool {
	limit := time.Duration(min(seconds, int64(math.MaxInt64/time.Second))) * time.Second
	return !c.Expires.IsZero() && c.Expires.Sub(now) <= limit
}

// isOf reports whether a choice answered a question of an agent, about a tool; "" is any. The
// records of questions are read once: one answer may have stored many choices.
func (m choices) isOf(ctx context.Context, read map[string]*decisions.Record, c *admin.Choice, agent, tool string) (bool, error) {
	if agent == "" && tool == "" {
		return true, nil
	}
	if c.DecisionID == "" {
		return false, nil
	}
	r, ok := read[c.DecisionID]
	if !ok {
		var err error
		if r, err = m.d.journal.Get(ctx, c.DecisionID); err != nil && !errors.Is(err, journal.ErrNotFound) {
			return false, fmt.Errorf("reading the journal: %w", err)
		}
		if r != nil {
			r = &decisions.Record{Peer: r.Peer, Agent: r.Agent, Tool: r.Tool, Unreadable: r.Unreadable} // without its effects
		}
		read[c.DecisionID] = r
	}
	// The client reported the id.
	return r != nil && r.Unreadable == "" && r.Peer.UID == c.UID && (agent == "" || r.Agent.Name == agent) && (tool == "" || r.Tool == tool), nil
}

// dormantAfter is for how long a choice that is called dormant has matched nothing.
const dormantAfter = 90 * 24 * time.Hour

// marker sets marks of choices.
type marker struct {
	now     time.Time
	covered map[string]string
	covers  map[string][]string
	denied  func(*pattern.Pattern) (line, at string) // nil if org denies nothing
	wider   map[string]preview.Narrower              // nil if that is not asked for
}

// marker returns one for the choices of a person.
func (m choices) marker(uid *uint32) *marker {
	k := &marker{now: m.d.now(), covered: m.d.memory.Covered(uid), covers: map[string][]string{}, denied: m.d.rules.DenialsOfOrg()}
	for _, id := range slices.Sorted(maps.Keys(k.covered)) {
		if by := k.covered[id]; len(k.covers[by]) < admin.MaxCovers {
			k.covers[by] = append(k.covers[by], id)
		}
	}
	return k
}

// Mark sets which choices are dormant, covered, denied by org or wider than what they were used
// for, and which ones they cover.
func (m choices) Mark(ctx context.Context, uid *uint32, list []admin.Choice) {
	k := m.marker(uid)
	for i := range list {
		k.set(&list[i])
	}
	m.markUses(ctx, list, waitAsked)
}

func (k *marker) set(c *admin.Choice) {
	setUses(k.wider, c)
	c.Covers = k.covers[c.ID]
	last := c.Created
	if c.LastMatched.After(last) {
		last = c.LastMatched
	}
	c.Dormant = k.now.Sub(last) > dormantAfter
	c.CoveredBy = k.covered[c.ID]
	if k.denied == nil || c.Verdict != decisions.Allow || !c.Line || c.Changed != "" {
		return
	}
	if p, err := pattern.Parse(effects.Kind(c.Kind), c.Rule); err == nil {
		if line, at := k.denied(p); line != "" {
			c.DeniedBy = fmt.Sprintf("%s %s (%s)", c.Kind, line, at)
		}
	}
}
