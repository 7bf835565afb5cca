package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// The variable of a loop over a pattern holds one of the names that the pattern matches, or
// the pattern itself where it matches none. A word that consists of the variable is decided
// like the pattern as an operand, which may become a single name too: with its links, its
// secrets, and names that begin like an option. Everything else that is made of such a
// variable is not known.

// nameOf returns the word for the variable of a loop over a pattern. The folder has to be
// the one in which the shell expanded the pattern: elsewhere, the name is that of another
// file.
func (s *walker) nameOf(w *syntax.Word, at *scope) (effects.Word, bool) {
	if at.vars == nil || s.anyAssigned || len(w.Parts) != 1 {
		return effects.Word{}, false
	}
	part, quoted := w.Parts[0], false
	if q, ok := part.(*syntax.DblQuoted); ok {
		if q.Dollar || len(q.Parts) != 1 {
			return effects.Word{}, false
		}
		part, quoted = q.Parts[0], true
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil || !plainParam(p) {
		return effects.Word{}, false
	}
	b := at.vars.find(p.Param.Value)
	if b == nil || b.glob == "" || b.glob != at.cwd() || !quoted && !s.unsplitNames(b) {
		return effects.Word{}, false
	}
	return effects.Word{Text: b.value, Shown: s.source(w), Glob: true, Dir: b.glob, One: quoted}, true
}

// unsplitNames reports whether no name that a pattern may match has a blank, at which
// shells split an unquoted variable, or a character of a pattern, which they expand again.
// The pattern itself, where it matches nothing, becomes what it matches by then.
func (s *walker) unsplitNames(b *binding) bool {
	dir, last := path.Split(b.value)
	if s.maySet("IFS") || strings.ContainsAny(dir, splitting) || strings.ContainsAny(last, " \t\n\\[") {
		return false
	}
	if dir == "" {
		dir = "."
	}
	e := s.b.Paths.Operand(effects.KindRead, dir, b.glob, s.from)
	if e.File == nil {
		return false
	}
	splits := func(name string) bool { return paths.GlobMatch(last, name) && strings.ContainsAny(name, splitting) }
	names, why := s.b.Paths.Match(e.File.Path)
	if why != "" || s.b.MayMake(e.File.Path, splits) {
		return false
	}
	for _, n := range names {
		if splits(n.Name()) {
			return false
		}
	}
	return true
}

// splitting are the characters for which shells split or expand an unquoted variable.
const splitting = " \t\n\\*?["
