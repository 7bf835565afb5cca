package remember

import (
	"cmp"
	"errors"
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
	if err := checkKnown(q, decisions.Allow); err != nil {
		return err
	}
	if textOfPermd(q.Effect) {
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

// textOfPermd reports whether a run is given text with a command of permd in
// it: many programs execute text in one of their arguments (vim -c '!permd …'),
// and answers about permd's own commands are never remembered.
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
	if q.Effect.Run != nil && scriptOf(q) != nil && q.Effect.Run.Script != nil {
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

// labelOf returns the rule line for exactly the effect, as displayed. In a
// scope wider than a project, files have absolute paths, since that is how they
// are matched.
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
			version := toolName(e.Use.Version)
			if strings.Trim(version, "0123456789") == "" {
				version = strconv.Quote(version) // in a line x stands for x.0.0
			}
			line += "@" + version
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

// withVariables returns the label of a run with the variables that are set for it, which no rule
// line can express.
func withVariables(r *effects.Run, label string) string {
	return display.Display(strings.Join(r.Variables, " ") + " " + label)
}

// toolName returns the name of a tool, a server or a version in a label. It is
// quoted if it contains separators or wildcards of labels, so that no two tools
// share a label. No rule line can express such a name.
func toolName(name string) string {
	if strings.ContainsAny(name, "@:*\" ()") {
		return strconv.Quote(name)
	}
	return name
}

func pathLine(f *effects.File, project string) string {
	p := pattern.Path{Base: pattern.Root}
	rest := f.Path
	if within(f.Path, project) && f.Path != project { // ./ alone is not a line
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

// runLabel returns the rule line of a run, with secrets masked. Facts that no
// line can express (text on standard input, the text of a make target) are in
// the effect's own words.
func runLabel(q *decisions.MemoryQuery, scope ScopeKind) string {
	e := q.Effect
	if line := lineFor(q, scope); e.Run.StdinText == "" && isPlainLine(e, line) {
		if p, err := pattern.Parse(e.Kind, line); err == nil && p.String() == line {
			return line
		}
	}
	return strings.TrimPrefix(e.Text, "run ")
}
