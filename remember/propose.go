package remember

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

var _ decisions.Proposer = (*Store)(nil)

// Propose returns the ways to remember an allow of an effect, the narrowest
// first; none when such an effect is not remembered. Each is tried: it matches
// the effect.
func (s *Store) Propose(q *decisions.MemoryQuery) []decisions.Proposal {
	if known(q, decisions.Allow) != nil || s.allowable(q) != nil {
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
		case q.Session.ID != "":
			d.Scope = ForSession
		}
		e, err := s.entryOf(&d, now)
		if err != nil || !s.speaks(e, q, now.UnixNano()) {
			continue
		}
		ways = append(ways, decisions.Proposal{
			Level: l.Level, Rule: string(e.choice.Kind) + " " + e.choice.Label,
			Choice: decisions.Choice{Label: e.choice.Label, Exact: e.answer.Exact},
		})
	}
	return ways
}

// speaks reports whether an allow matches an effect, once it holds. Saving it
// checks the same by looking it up, which costs more than a question should.
func (s *Store) speaks(e *entry, q *decisions.MemoryQuery, now int64) bool {
	if e.over(now) || !e.covers(q) {
		return false
	}
	if e.line != nil {
		return e.line.Match(q.Effect, q.All, pattern.Context{Project: q.Project}) && e.matches(q)
	}
	sum, ok := s.key.digestOf(q, e.form())
	return ok && sum == e.digest
}

// Rejectable reports whether a reject of the call can be bound to the effect.
func (s *Store) Rejectable(q *decisions.MemoryQuery) bool { return known(q, decisions.Deny) == nil }

// wider returns the lines that say more than the effect. Those that would have
// to be shown masked are none: what is matched must be what a person reads.
func wider(q *decisions.MemoryQuery, scope ScopeKind) []pattern.Wider {
	if q.Effect.Run != nil && scriptOf(q) != nil && q.Effect.Run.Script != nil {
		return nil
	}
	ctx := pattern.Context{Project: q.Project}
	if scope == ForUser && q.Effect.File != nil {
		ctx.Project = "" // by where it is, not by where in a project
	}
	var list []pattern.Wider
	for _, w := range pattern.Widen(q.Effect, q.All, ctx) {
		if line := w.Pattern.String(); effects.Display(line) == line {
			list = append(list, w)
		}
	}
	return list
}

// lineOf returns the line for an effect of a level, nil if there is none. In
// another scope there may be fewer lines; the widest that is not wider is it.
func lineOf(q *decisions.MemoryQuery, scope ScopeKind, level int) *pattern.Pattern {
	var found *pattern.Pattern
	for _, w := range wider(q, scope) {
		if w.Level <= level {
			found = w.Pattern
		}
	}
	return found
}

// labelOf is the rule line that names just the effect, as a person reads it.
func labelOf(q *decisions.MemoryQuery, anyArguments bool) string {
	e := q.Effect
	var line string
	switch {
	case e.Run != nil:
		// As it was typed, with what is secret masked.
		return strings.TrimPrefix(e.Text, "run ")
	case e.File != nil:
		line = pathLine(e.File, q.Project)
	case e.Connect != nil:
		line = e.Connect.Host
		if _, err := netip.ParseAddr(line); err == nil && strings.Contains(line, ":") {
			line = "[" + line + "]"
		}
		if e.Connect.Port != 0 {
			line += ":" + strconv.Itoa(e.Connect.Port)
		}
	case e.Use != nil:
		line = e.Use.Tool
		if e.Use.Server != "" || strings.Contains(line, ":") {
			// A tool's own colon must not make a server of what is before it.
			line = e.Use.Server + ":" + line
		}
		if e.Use.Version != "" {
			line += "@" + e.Use.Version
		}
		with := !anyArguments && len(e.Use.Arguments) > 0
		switch {
		case with && !e.Use.Given.Empty():
			line += " (with these arguments and credentials)"
		case with:
			line += " (with these arguments)"
		case !e.Use.Given.Empty():
			line += " (with these credentials)"
		}
	default:
		line = e.Text
	}
	return effects.Display(line)
}

func pathLine(f *effects.File, project string) string {
	p := pattern.Path{Base: pattern.Root}
	rest := f.Path
	if within(f.Path, project) {
		p.Base, rest = pattern.Project, f.Path[len(project):]
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part != "" {
			p.Parts = append(p.Parts, pattern.Glob{part})
		}
	}
	line := p.String()
	if f.Recursive {
		return strings.TrimSuffix(line, "/") + " and all below"
	}
	return line
}
