package preview

import (
	"context"
	"slices"

	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/remember/labels"
)

// looker finds lines that are narrower than an allow's, in the calls in which that decided.
type looker struct {
	id         string // of the allow
	wide       *remember.Trial
	line       *pattern.Pattern // of wide
	everywhere bool             // it is for the user
	past       past

	lines  []*candidate
	rec    *decisions.Record
	trying bool // the lines are compared with the call, not looked for
	known  bool // all uses in the call are
	uses   int  // in the call
}

// candidate is a line that may be the one.
type candidate struct {
	line   *pattern.Pattern
	trial  *remember.Trial
	failed bool
}

// look notes the lines that a question about a past use would have offered. It reports whether it
// is known what the use was.
func (l *looker) look(ctx context.Context, rec *decisions.Record, call *arguments.Call) bool {
	l.trying = false
	return l.decide(ctx, rec, call)
}

// try marks the lines that match not all that the allow decided in a call, or more than the allow
// does.
func (l *looker) try(ctx context.Context, rec *decisions.Record, call *arguments.Call) bool {
	l.trying = true
	return l.decide(ctx, rec, call)
}

func (l *looker) decide(ctx context.Context, rec *decisions.Record, call *arguments.Call) bool {
	l.rec, l.known, l.uses = rec, true, 0
	return l.past.again(ctx, rec, call) && l.known && l.uses == l.usesOf(rec)
}

// usesOf returns how many effects of a record the allow decided about.
func (l *looker) usesOf(rec *decisions.Record) (n int) {
	for i := range rec.Decision.Effects {
		if l.decided(rec, i) {
			n++
		}
	}
	return n
}

func (l *looker) decided(rec *decisions.Record, i int) bool {
	e := &rec.Decision.Effects[i]
	return e.ChoiceID == l.id && e.Verdict == decisions.Allow
}

// Match implements [decisions.Memory]: it looks at the effect, and answers nothing.
func (l *looker) Match(q *decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	i := 0
	for i < len(q.All) && &q.All[i] != q.Effect {
		i++
	}
	if i >= min(len(q.All), len(l.rec.Decision.Effects)) {
		return nil, nil, nil // an effect that is only possible, which no allow is asked about
	}
	decided, matched := l.decided(l.rec, i), l.wide.Matches(q)
	if decided {
		l.uses++
	}
	if q.Effect.Inherent() && l.decided(l.rec, q.Effect.Via.Effect) {
		decided = false // it is allowed with the run, which is what was matched
	}
	if decided {
		l.known = l.known && matched
	}
	switch {
	case l.trying:
		for _, c := range l.lines {
			// Beyond the uses a narrower line must not match what the allow does not.
			if is := c.trial.Matches(q); decided && !is || is && !matched {
				c.failed = true
			}
		}
	case decided && matched:
		l.offer(q)
	}
	return nil, nil, nil
}

// offer notes the lines for an effect.
func (l *looker) offer(q *decisions.MemoryQuery) {
	for _, p := range linesFor(q, l.line, l.everywhere) {
		text := p.String()
		if len(l.lines) < maxLines && !slices.ContainsFunc(l.lines, func(c *candidate) bool { return c.line.String() == text }) {
			l.lines = append(l.lines, &candidate{line: p})
		}
	}
}

// linesFor returns lines that a question about an effect offers, and that are narrower than
// another one. Of files these are folders: a line with the very path would hold for it even where
// it is guarded.
func linesFor(q *decisions.MemoryQuery, wide *pattern.Pattern, everywhere bool) (list []*pattern.Pattern) {
	add := func(p *pattern.Pattern) {
		again, err := pattern.Parse(p.Kind, p.String())
		if err == nil && narrower(wide, again) && display.Display(again.String()) == again.String() && display.ShowsWords(q.Effect, again.String()) {
			list = append(list, again)
		}
	}
	e := q.Effect
	if wide.Kind != e.Kind {
		return nil // the effect of a word of a run's line
	}
	switch e.Detail() {
	case effects.DetailRun, effects.DetailUse:
		if p, err := pattern.Parse(e.Kind, labels.Line(q, everywhere)); err == nil {
			add(p)
		}
	case effects.DetailConnect:
		if h := wide.Host; h != nil {
			add(&pattern.Pattern{Kind: e.Kind, Host: &pattern.Host{Name: e.Connect.Host, Port: h.Port, Scheme: h.Scheme}})
		}
	case effects.DetailFile, effects.NoDetail:
	}
	ctx := pattern.Context{Project: q.Project}
	if everywhere && e.File != nil {
		ctx.Project = "" // by where it is, not by where in a project
	}
	for _, w := range pattern.Widen(e, q.All, ctx) {
		add(w.Pattern)
	}
	return list
}

// narrower reports whether a line is narrower than another one, as far as their words say. Of
// runs it has the same words and more of them: what the other takes as harmless it spells out.
func narrower(wide, p *pattern.Pattern) bool {
	if wide.Kind != p.Kind || wide.String() == p.String() {
		return false
	}
	if wide.Run == nil || p.Run == nil {
		return wide.Covers(p, true) && !p.Covers(wide, true)
	}
	w, o := wide.Run, p.Run
	if w.Program != o.Program || len(w.Words) > len(o.Words) || o.Rest && !w.Rest || !w.Rest && len(w.Words) != len(o.Words) || !slices.Equal(w.Named, o.Named) {
		return false
	}
	for i, word := range w.Words {
		if is, ok := o.Words[i].Literal(); !word.Equal(o.Words[i]) && (!ok || !word.Match(is)) {
			return false
		}
	}
	return true
}

// narrowest returns the line of those that did not fail that none of the others is narrower than,
// "" if none is left.
func (l *looker) narrowest() string {
	left := slices.DeleteFunc(slices.Clone(l.lines), func(c *candidate) bool { return c.failed })
	for _, c := range left {
		if !slices.ContainsFunc(left, func(o *candidate) bool { return narrower(c.line, o.line) }) {
			return c.line.String()
		}
	}
	return ""
}
