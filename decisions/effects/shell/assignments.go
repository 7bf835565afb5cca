package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/runs"
)

// harmlessAssignment reports whether a variable set for one run only changes the format
// of its output.
func (s *walker) harmlessAssignment(a *syntax.Assign, at *scope) bool {
	value := effects.Word{}
	if a.Value != nil {
		value = s.value(a.Value, s.source(a.Value), at)
	}
	return !value.Dynamic() && s.b.Table.HarmlessAssignment(a.Name.Value, value.Text)
}

// namesProgram marks the effect of setting a variable that says which program others run, if the
// table does not describe that one.
func (s *walker) namesProgram(a *syntax.Assign, at *scope) {
	value := effects.Word{}
	switch {
	case a.Name == nil:
		return
	case a.Value != nil:
		value = s.value(a.Value, "", at)
	}
	text := value.Text
	if value.Dynamic() || value.Glob || a.Append || a.Index != nil || a.Array != nil {
		text = effects.DynamicWord
	}
	if e := &s.b.Effects[len(s.b.Effects)-1]; s.b.Table.RunsUndescribed(a.Name.Value, text) {
		e.Undescribed = true
	}
}

// declare walks export, declare, local, readonly and typeset. The shell evaluates values
// of integers, of references to other variables and of quoted arrays.
func (s *walker) declare(cmd *syntax.DeclClause, at *scope, in runs.Input) {
	evaluates, arrays := false, false
	lists := true // without a name, it prints the variables
	for _, a := range cmd.Args {
		if s.assignment(a, at, in); a.Name != nil {
			s.declareName(a.Name.Value, at)
		}
		lists = lists && a.Name == nil
		if a.Value == nil {
			continue
		}
		if a.Name != nil {
			value := s.value(a.Value, "", at)
			evaluates = evaluates || strings.HasPrefix(value.Text, "(") || arrays && value.Dynamic()
			continue
		}
		words := s.expand(nil, a.Value, at, in, inAssignment)
		if len(words) != 1 || words[0].Dynamic() || words[0].Glob {
			s.unknown("a declaration that is not known before it runs")
			s.setAny()
			continue
		}
		text := words[0].Text
		lists = lists && strings.HasPrefix(text, "-") && !strings.ContainsAny(text, "fF")
		arrays = arrays || strings.HasPrefix(text, "-") && strings.ContainsAny(text, "aA")
		evaluates = evaluates || !plainDeclaration(text)
		name, _, _ := strings.Cut(text, "=")
		s.declareName(name, at)
	}
	if evaluates {
		s.setAny()
		s.unknown("a declaration that can run code")
	}
	s.state("declares variables", s.source(cmd))
	for _, a := range cmd.Args {
		if a.Value != nil || a.Array != nil {
			s.namesProgram(a, at)
		}
	}
	if lists {
		e := &s.b.Effects[len(s.b.Effects)-1]
		e.Tags = e.Tags.With(effects.Secret)
	}
}

// plainDeclaration reports whether a word of a declaration is a name, or an option that
// does not make the shell evaluate values.
func plainDeclaration(text string) bool {
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		return strings.Trim(text[1:], "xrpgaA-") == ""
	}
	name, value, _ := strings.Cut(text, "=")
	return !strings.Contains(name, "[") && !strings.HasPrefix(value, "(")
}

// assignment walks an assignment's value, which may hold that of the same variable before,
// and records its name.
func (s *walker) assignment(a *syntax.Assign, at *scope, in runs.Input) {
	if a.Name != nil {
		defer s.assign(a.Name.Value, at)
	}
	if a.Index != nil {
		s.substitutions(a.Index, at, in)
		if !plainArithmetic(a.Index) {
			s.unknown("a subscript can run code")
			s.setAny()
		}
	}
	if a.Value != nil {
		s.ignoredWord(a.Value, at, in)
	}
	if a.Array != nil {
		s.substitutions(a.Array, at, in)
		for _, elem := range a.Array.Elems {
			if elem.Index != nil && !plainArithmetic(elem.Index) {
				s.unknown("a subscript can run code")
			}
			if elem.Value != nil && s.unsafeExpansion(elem.Value, at) {
				s.unknown("an expansion that can run code or set a variable")
			}
		}
	}
}
