package effects

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// call walks a simple command: assignments and words.
func (s *shell) call(cmd *syntax.CallExpr, at *scope, in input, certain bool) {
	for _, a := range cmd.Assigns {
		if s.enough() {
			return
		}
		s.assignment(a, at, in)
		alone := len(cmd.Args) == 0
		if alone {
			s.bind(a, at)
		}
		if alone && plainVariable(a.Name.Value) && a.Index == nil && a.Array == nil {
			continue // a value of the text's own, which no program sees
		}
		if alone || a.Index != nil || a.Array != nil || a.Append || !s.harmlessAssignment(a, at) {
			s.state("sets the variable "+a.Name.Value, s.source(a))
		}
	}
	if len(cmd.Args) == 0 {
		return
	}
	// What stands inside of the words finds no scratch, and makes its own.
	words := s.b.scratch
	if s.b.scratch = nil; cap(words) < len(cmd.Args) {
		words = make([]word, 0, max(8, len(cmd.Args)))
	}
	for _, arg := range cmd.Args {
		words = s.expand(words, arg, at, in, inCommand)
	}
	s.simple(words, at, in, certain)
	s.b.scratch = words[:0]
}

// simple adds the effects of a command's words.
func (s *shell) simple(words []word, at *scope, in input, certain bool) {
	name := &words[0]
	if name.dynamic() || name.glob || name.text == "" {
		s.unknown("a program whose name is not known before it runs: " + Display(name.show()))
		if likely := likelyName(name); likely != "" {
			guessed := slices.Clone(words)
			guessed[0] = literalWord(likely)
			s.b.command(guessed, setting{cwd: at.cwd, from: s.from, stdin: in.kind, text: in.text, printed: in.printed})
		}
		return
	}
	if s.allRedefined || s.redefined[name.text] {
		s.unknown("the name " + Display(name.text) + " is redefined in the command")
		if !s.allRedefined { // else the folder is lost already
			s.lose(at)
			s.anyAssigned = true
		}
		return
	}
	if s.builtin(words, at, in, certain) {
		return
	}
	s.b.command(words, setting{cwd: at.cwd, from: s.from, stdin: in.kind, text: in.text, printed: in.printed})
}
