package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/runs"
)

// call walks a simple command: assignments and words. These are expanded before its
// redirections are opened, with outer as standard input. exec is set if the redirections
// remain open.
func (s *walker) call(cmd *syntax.CallExpr, at scope, in, outer runs.Input) (out exitScopes, exec bool) {
	if len(cmd.Assigns) > 0 && len(cmd.Args) > 0 {
		defer func(before []string) { s.b.Variables = before }(s.b.Variables)
	}
	for _, a := range cmd.Assigns {
		if s.boundReached() {
			return bothExits(at), false
		}
		alone := len(cmd.Args) == 0
		value, known := "", false
		if alone {
			value, known = s.newValue(a, &at)
		}
		s.assignment(a, &at, outer)
		if in.Kind != outer.Kind && substitutes(a.Value) {
			// dash, zsh and busybox open the redirections before they expand this.
			s.assignment(a, &at, in)
		}
		if alone {
			s.abortOn(a.Value, &at)
			if known {
				s.set(a.Name.Value, value, &at)
			}
		}
		if alone && plainVariable(a.Name.Value) && a.Index == nil && a.Array == nil {
			continue // a variable of the text, which no program sees
		}
		if alone || a.Index != nil || a.Array != nil || a.Append || !s.harmlessAssignment(a, &at) {
			s.state("sets the variable "+a.Name.Value, s.source(a))
			s.namesProgram(a, &at)
			if a.Value != nil && len(at.places) > 0 {
				s.b.MayUse(s.value(a.Value, "", &at), runs.Setting{Cwd: at.places[0].cwd, From: s.from})
			}
		}
	}
	if len(cmd.Args) == 0 {
		return bothExits(at), false
	}
	for _, a := range cmd.Assigns {
		s.b.Variables = append(slices.Clip(s.b.Variables), s.source(a))
	}
	// Nested commands find no scratch buffer, and allocate their own.
	words := s.b.Scratch
	if s.b.Scratch = nil; cap(words) < len(cmd.Args) {
		words = make([]effects.Word, 0, max(8, len(cmd.Args)))
	}
	for _, arg := range cmd.Args {
		words = s.expand(words, arg, &at, outer, inCommand)
	}
	s.abort(&at, words)
	out = s.simple(words, at, in)
	switch exec = words[0].Text == "exec"; words[0].Text {
	case "exec", "command", "builtin":
		s.rebound = s.rebound || outer.Redirected && !in.Redirected // what follows may write there, too
	}
	s.b.Scratch = words[:0]
	return out, exec
}

// substitutes reports whether a word contains a command substitution.
func substitutes(w *syntax.Word) (found bool) {
	if w == nil {
		return false
	}
	syntax.Walk(w, func(n syntax.Node) bool {
		_, ok := n.(*syntax.CmdSubst)
		found = found || ok
		return !found
	})
	return found
}

// abort records that the shell may abandon the line here: a pattern without a match does
// that in zsh, a failed expansion in all shells.
func (s *walker) abort(at *scope, words []effects.Word) {
	if at.subprocess || at.unreachable {
		return
	}
	for i := range words {
		if words[i].Dynamic() || words[i].Glob {
			s.aborts = join(s.aborts, *at)
			return
		}
	}
}

// abortOn is abort for the value of an assignment.
func (s *walker) abortOn(w *syntax.Word, at *scope) {
	if w == nil || at.subprocess || at.unreachable {
		return
	}
	if _, ok := plainLiteral(w); !ok {
		s.aborts = join(s.aborts, *at)
	}
}

// simple adds the effects of a command's words.
func (s *walker) simple(words []effects.Word, at scope, in runs.Input) exitScopes {
	name := &words[0]
	if name.Dynamic() || name.Glob || name.Text == "" {
		s.unknown("a program whose name is not known before it runs: " + display.Display(display.ShowWord(name)))
		if likely := likelyName(name); likely != "" {
			guessed := slices.Clone(words)
			guessed[0] = effects.LiteralWord(likely)
			s.command(guessed, &at, in)
		}
		s.assumeAnything(&at) // it may be a cd
		return bothExits(at)
	}
	if s.allRedefined || s.redefined[name.Text] {
		s.unknown("the name " + display.Display(name.Text) + " is redefined in the command")
		s.assumeAnything(&at)
		return bothExits(at)
	}
	if out, ok := s.builtin(words, at, in); ok {
		return out
	}
	s.command(words, &at, in)
	return bothExits(at)
}

// command adds the effects of a program in each folder that the shell may be in.
func (s *walker) command(words []effects.Word, at *scope, in runs.Input) {
	set := runs.Setting{From: s.from, Stdin: in.Kind, Text: in.Text, Printed: in.Printed, Words: in.Words, Redirected: in.Redirected && !s.rebound}
	if set.Cwd = at.cwd(); set.Cwd != "" {
		s.b.Command(words, set)
		return
	}
	s.each(at, func(cwd string) {
		set.Cwd = cwd
		s.b.Command(words, set)
	})
}
