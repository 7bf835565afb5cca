package remember

import (
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember/facts"
)

var _ decisions.Proposer = (*Store)(nil)

// Propose returns the ways to remember an allow of an effect, narrowest first;
// none if such an effect is not remembered. Each is checked to match the
// effect.
func (s *Store) Propose(q *decisions.MemoryQuery) []decisions.Proposal {
	if s.WhyNot(q) != nil {
		return nil
	}
	levels := []pattern.Wider{{Level: 0}}
	if q.Effect.Kind == effects.KindUse {
		levels = append(levels, pattern.Wider{Level: 1})
	}
	levels = append(levels, wider(q, ForProject)...)
	now := s.now()
	var ways []decisions.Proposal
	for _, l := range levels {
		d := Draft{Verdict: decisions.Allow, Query: q, Scope: ForUser, Level: l.Level, line: l.Pattern}
		switch {
		case q.Project != "":
			d.Scope = ForProject
		case q.Session.ID != "" && !q.Session.OneRequest:
			d.Scope = ForSession
		}
		e, err := s.entryOf(&d, now)
		if err != nil || !s.matches(e, q, now.UnixNano()) {
			continue
		}
		ways = append(ways, decisions.Proposal{
			Level: l.Level, Rule: string(e.choice.Kind) + " " + e.choice.Label,
			Label:  widthLabel(&l, e),
			Choice: decisions.Choice{Label: e.choice.Label, Exact: e.answer.Exact},
		})
	}
	return ways
}

// widthLabel says in words what a level covers, "" for the effect alone.
func widthLabel(l *pattern.Wider, e *entry) string {
	switch {
	case l.Pattern != nil:
		return display.Display(l.Pattern.Label())
	case l.Level > 0:
		return "use " + e.choice.Label + " with any arguments"
	}
	return ""
}

var _ decisions.Refuser = (*Store)(nil)

// WhyNot returns why no allow of an effect can be remembered.
func (s *Store) WhyNot(q *decisions.MemoryQuery) error {
	if err := facts.CheckKnown(q, decisions.Allow); err != nil {
		return err
	}
	if facts.TextOfPermd(q.Effect) {
		return errors.New("it is given text that may use permd")
	}
	if off := s.state.Load().off; off != nil {
		return ErrOff // the status says why
	}
	if s.options.Allowable != nil {
		return s.options.Allowable(q)
	}
	return nil
}

// matches reports whether an allow would match an effect once it is in force.
// Saving checks the same by a lookup, which is too expensive for a question.
func (s *Store) matches(e *entry, q *decisions.MemoryQuery, now int64) bool {
	if e.expiredAt(now) || !e.covers(q) {
		return false
	}
	if e.line != nil {
		return e.line.Match(q.Effect, q.All, pattern.Context{Project: q.Project}) && e.matches(q)
	}
	sum, ok := s.key.digestOf(q, e.form(q))
	return ok && sum == e.digest
}

// wider returns the lines that cover more than the effect. Lines with masked
// parts are excluded: a person must be able to read what is matched.
func wider(q *decisions.MemoryQuery, scope ScopeKind) []pattern.Wider {
	if q.Effect.Run != nil && facts.ScriptOf(q) != nil && q.Effect.Run.Script != nil {
		return nil
	}
	ctx := pattern.Context{Project: q.Project}
	if scope == ForUser && q.Effect.File != nil {
		ctx.Project = "" // by where it is, not by where in a project
	}
	var list []pattern.Wider
	for _, w := range pattern.Widen(q.Effect, q.All, ctx) {
		if line := w.Pattern.String(); display.Display(line) == line && display.ShowsWords(q.Effect, line) {
			list = append(list, w)
		}
	}
	return list
}

// lineOf returns the line for an effect at a level, nil if there is none. In
// another scope there may be fewer lines; then it is the widest one that is not
// wider.
func lineOf(q *decisions.MemoryQuery, scope ScopeKind, level int) *pattern.Pattern {
	var found *pattern.Pattern
	for _, w := range wider(q, scope) {
		if w.Level <= level {
			found = w.Pattern
		}
	}
	return found
}
