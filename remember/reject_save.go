package remember

import (
	"fmt"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// rejection is the subject of a draft reject.
func (d *Draft) rejection() (*decisions.Rejection, error) {
	switch {
	case d.rejects != nil:
		return d.rejects, nil
	case d.Query == nil || d.Query.Effect == nil:
		return nil, fmt.Errorf("%w: there is no effect", ErrNotRemembered)
	}
	r := &decisions.Rejection{Query: *d.Query, Asked: []int{0}}
	r.Query.All = []effects.Effect{*d.Query.Effect}
	return r, nil
}

// rejectOf makes an entry from the draft of a reject, without an id.
func (s *Store) rejectOf(d *Draft, now time.Time) (*entry, error) {
	r, err := d.rejection()
	if err != nil {
		return nil, err
	}
	if !d.Expires.IsZero() && !d.Expires.After(now) {
		return nil, fmt.Errorf("%w: it would have expired already", ErrNotRemembered)
	}
	scope, err := scopeOf(d, &r.Query)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRemembered, err)
	}
	parts, _ := s.key.partsOf(r, scope.Kind, d.Level, s.options.Understand)
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w: nothing is known of it that it could be told by", ErrNotRemembered)
	}
	if narrow, _ := s.key.partsOf(r, scope.Kind, 0, s.options.Understand); d.Level > 0 && scope.Kind != rejectScope(r) && partsLabel(narrow) == partsLabel(parts) {
		return nil, fmt.Errorf("%w: that width is about files of the project, and only for it", ErrNotRemembered)
	}
	e := &entry{stored: factsParts, parts: parts, choice: Choice{
		Verdict: d.Verdict, Kind: parts[0].Kind, Label: partsLabel(parts), Scope: scope, UID: r.Query.UID,
		DecisionID: d.DecisionID, Created: now.UTC(),
	}}
	if !d.Expires.IsZero() {
		e.choice.Expires, e.expire = d.Expires.UTC(), d.Expires.UnixNano()
	}
	if d.DecisionID == "" {
		e.confirmed.Store(now.UnixNano())
	}
	e.finish()
	return e, nil
}

// checkRejects checks that a reject alone denies each effect that one of its parts
// came from.
func (s *Store) checkRejects(e *entry, d *Draft, now int64) error {
	r, err := d.rejection()
	if err != nil {
		return err
	}
	_, from := s.key.partsOf(r, e.choice.Scope.Kind, d.Level, nil)
	alone := (&index{}).with(e)
	for _, i := range from {
		q := r.Query
		q.Effect = &q.All[i]
		if found := alone.match(&s.key, &q, now, now); found.reject != e || found.unsure {
			// Text is looked up for the first effect that was read from it.
			if q.Effect = &q.All[0]; alone.match(&s.key, &q, now, now).reject != e {
				return ErrSelfCheck
			}
		}
	}
	return nil
}

// Rejectable reports whether a reject of the call can be remembered.
func (s *Store) Rejectable(r *decisions.Rejection) bool {
	parts, _ := s.key.partsOf(r, ForUser, 0, nil)
	return len(parts) > 0
}

// maxRejectLevel is the widest level of a reject, as of an allow.
const maxRejectLevel = 2

// RejectWidths returns how a reject of the call can be remembered, the narrowest first: their
// ids are r1, r2 and so on, the first of which is what was asked about alone. A width's label is
// that of the choice which it stores in the width's scope.
func (s *Store) RejectWidths(r *decisions.Rejection) (widths []decisions.Width) {
	s.eachRejectWidth(r, func(_ int, w *decisions.Width) bool {
		widths = append(widths, *w)
		return true
	})
	return widths
}

// eachRejectWidth calls f with each width and its level until f returns false.
func (s *Store) eachRejectWidth(r *decisions.Rejection, f func(level int, w *decisions.Width) bool) {
	scope, former, n := rejectScope(r), "", 0
	for level := range maxRejectLevel + 1 {
		parts, _ := s.key.partsOf(r, scope, level, nil)
		if len(parts) == 0 {
			return
		}
		c := Choice{Verdict: decisions.Deny, Kind: parts[0].Kind, Label: partsLabel(parts)}
		for _, p := range parts {
			c.Parts = append(c.Parts, p.Part)
		}
		label := c.fullLabel()
		if label == former {
			continue
		}
		former, n = label, n+1
		if !f(level, &decisions.Width{ID: fmt.Sprintf("r%d", n), Label: label, Rule: c.labelWithKind(), Scope: string(scope)}) {
			return
		}
	}
}

// rejectScope returns the scope of a reject for which the person names none.
func rejectScope(r *decisions.Rejection) ScopeKind {
	if r.Query.Project == "" {
		return ForSession
	}
	return ForProject
}

// moreOptions is in the label of a reject of a run that may have further options.
const moreOptions = " (also with more options)"

// fullLabel returns the label with the kind of effect, of each part if there are
// several, and what it leaves open.
func (c *Choice) fullLabel() string {
	if c.MoreOptions() {
		return c.labelWithKind() + moreOptions
	}
	return c.labelWithKind()
}

func (c *Choice) labelWithKind() string {
	if len(c.Parts) <= 1 {
		return string(c.Kind) + " " + c.Label
	}
	return c.Label
}

// MoreOptions reports whether the choice also denies runs with options that its
// line does not show.
func (c *Choice) MoreOptions() bool {
	return c.Verdict == decisions.Deny && slices.ContainsFunc(c.Parts, func(p Part) bool {
		if p.Kind != effects.KindRun || !p.ByLine() {
			return false
		}
		line, err := pattern.Parse(p.Kind, p.Rule)
		return err == nil && !line.Run.Rest
	})
}
