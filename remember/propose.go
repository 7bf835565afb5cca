package remember

import (
	"cmp"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
)

var _ decisions.Proposer = (*Store)(nil)

// Propose returns the ways to remember an allow of an effect, the narrowest
// first; none when such an effect is not remembered. Each is tried: it matches
// the effect.
func (s *Store) Propose(q *decisions.MemoryQuery) []decisions.Proposal {
	if checkKnown(q, decisions.Allow) != nil || s.allowable(q) != nil || textOfPermd(q.Effect) {
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
		if err != nil || !s.matches(e, q, now.UnixNano()) {
			continue
		}
		ways = append(ways, decisions.Proposal{
			Level: l.Level, Rule: string(e.choice.Kind) + " " + e.choice.Label,
			Choice: decisions.Choice{Label: e.choice.Label, Exact: e.answer.Exact},
		})
	}
	return ways
}

// textOfPermd reports whether a run is given text with a command of permd in it:
// many programs run what is in a word of theirs (vim -c '!permd …'), and no
// answer about permd's own commands is to be had for more than once.
func textOfPermd(e *effects.Effect) bool {
	if e.Run == nil {
		return false
	}
	return slices.ContainsFunc(e.Run.Args, func(word string) bool {
		words := strings.FieldsFunc(word, func(r rune) bool { return r <= ' ' || strings.ContainsRune("!;|&()`\"'=:,", r) })
		i := slices.IndexFunc(words, func(w string) bool { return path.Base(w) == "permd" })
		return i >= 0 && i < len(words)-1
	})
}

// matches reports whether an allow matches an effect, once it holds. Saving it
// checks the same by looking it up, which costs more than a question should.
func (s *Store) matches(e *entry, q *decisions.MemoryQuery, now int64) bool {
	if e.expiredAt(now) || !e.covers(q) {
		return false
	}
	if e.line != nil {
		return e.line.Match(q.Effect, q.All, pattern.Context{Project: q.Project}) && e.matches(q)
	}
	sum, ok := s.key.digestOf(q, e.form())
	return ok && sum == e.digest
}

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
		if line := w.Pattern.String(); display.Display(line) == line {
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

// labelOf is the rule line that names just the effect, as a person reads it. In a
// scope that is wider than a project, files are named by where they are, since
// that is how they are matched.
func labelOf(q *decisions.MemoryQuery, anyArguments bool, scope ScopeKind) string {
	e := q.Effect
	var line string
	switch e.Detail() {
	case effects.DetailRun:
		return runLabel(q, scope)
	case effects.DetailFile:
		project := q.Project
		if scope == ForUser {
			project = ""
		}
		line = pathLine(e.File, project)
	case effects.DetailConnect:
		line = e.Connect.Host
		if _, err := netip.ParseAddr(line); err == nil && strings.Contains(line, ":") {
			line = "[" + line + "]"
		}
		if e.Connect.Port != 0 {
			line += ":" + strconv.Itoa(e.Connect.Port)
		}
	case effects.DetailUse:
		line = toolName(e.Use.Tool)
		if e.Use.Server != "" {
			line = toolName(e.Use.Server) + ":" + line
		}
		if e.Use.Version != "" {
			line += "@" + toolName(e.Use.Version)
		}
		with := !anyArguments && len(e.Use.Arguments) > 0
		switch {
		case with && !e.Use.Credentials.Empty():
			line += " (with these arguments and credentials)"
		case with:
			line += " (with these arguments)"
		case !e.Use.Credentials.Empty():
			line += " (with these credentials)"
		}
	case effects.NoDetail:
		line = e.Text
	}
	return display.Display(line)
}

// toolName is the name of a tool or a server, or a version, in a label: in quotes
// where it holds what divides the parts of a label or stands for other names, so
// that no two tools have one label. No line of the list language says such a name.
func toolName(name string) string {
	if strings.ContainsAny(name, "@:*\" ()") {
		return strconv.Quote(name)
	}
	return name
}

func pathLine(f *effects.File, project string) string {
	p := pattern.Path{Base: pattern.Root}
	rest := f.Path
	if within(f.Path, project) && f.Path != project { // no line is ./ alone
		p.Base, rest = pattern.Project, f.Path[len(project):]
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part != "" {
			p.Parts = append(p.Parts, pattern.Glob{part})
		}
	}
	line := p.String()
	if f.Recursive {
		return cmp.Or(strings.TrimSuffix(line, "/"), "/") + " and all below"
	}
	return line
}

// runLabel is the rule line of a run, with what is secret masked. What no line
// can say (text on standard input, what a target of make runs by now) stands in
// the effect's own words.
func runLabel(q *decisions.MemoryQuery, scope ScopeKind) string {
	e := q.Effect
	if line := lineFor(q, scope); e.Run.StdinText == "" && plain(e, line) {
		if p, err := pattern.Parse(e.Kind, line); err == nil && p.String() == line {
			return line
		}
	}
	return strings.TrimPrefix(e.Text, "run ")
}
