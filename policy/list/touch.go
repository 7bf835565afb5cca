package list

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// touchRun writes the rules of a denying or asking run entry, in every
// spelling.
func (g *generator) touchRun(r *pattern.Run) {
	ways := programIs("input.effect", r, true)
	if !strings.Contains(r.Program, "/") {
		ways = append(ways, body{fmt.Sprintf("endswith(input.effect.program, %s)", strconv.Quote("/"+r.Program))})
	}
	for _, program := range ways {
		b := body{kindIs(effects.KindRun)}.with(program...)
		g.touchWords(b, r)
		for _, same := range r.Same {
			g.touchWords(b, same)
		}
	}
}

// touchWords writes the rules for what follows the program.
func (g *generator) touchWords(b body, r *pattern.Run) {
	words := b
	for i, w := range r.Words {
		words = words.with(wordIs(fmt.Sprintf("input.effect.args[%d]", i), w)...)
	}
	g.rule(words.with(wordCount("input.effect.args", r)...).with(namedTest("input.effect.args", r)...))

	if r.Meaning != nil {
		g.touchMeaning(b, r.Meaning)
	}
	subcommand, options, ok := r.Parts()
	if !ok {
		return
	}
	var has body
	for _, o := range options {
		has = append(has, strconv.Quote(o)+" in input.effect.flags")
	}
	if subcommand == "" {
		g.rule(b.with(has...))
		return
	}
	g.rule(b.with(is("input.effect.subcommand", subcommand)).with(has...))
	g.rule(b.with(begins("input.effect.subcommand", subcommand+" ")).with(has...))
}

// wordIs tests a word against one of the line, in which a * matches anything.
func wordIs(ref string, w pattern.Glob) body {
	if lit, ok := w.Literal(); ok {
		return body{is(ref, lit)}
	}
	return globIs(ref, w, ".*")
}

// touchMeaning writes the rules that compare words by meaning.
func (g *generator) touchMeaning(b body, s *pattern.Meaning) {
	for _, f := range s.Flags {
		b = b.with(strconv.Quote(f) + " in input.effect.flags")
	}
	// The same as pattern.JoinWords.
	joined := `words := concat("", [w | some a in input.effect.args; w := concat("", ["\u0000", replace(a, "\u0000", "\u0001")])])`
	texts := body{joined}
	for _, text := range s.Texts {
		texts = texts.with(fmt.Sprintf("regex.match(%s, words)", strconv.Quote(text)))
	}
	rest := texts
	if len(s.Texts) == 0 {
		rest = nil
	}
	if s.Order == "" {
		g.below(b.with(rest...), s.Subcommand)
		return
	}
	ordered := texts.with(fmt.Sprintf("regex.match(%s, words)", strconv.Quote(s.Order)))
	if !s.Certain {
		g.below(b.with(ordered...), s.Subcommand)
		return
	}
	var operands body
	for i, w := range s.Operands {
		operands = operands.with(wordIs(fmt.Sprintf("input.effect.operands[%d]", i), w)...)
	}
	if s.Rest {
		g.below(b.with(operands...).with(rest...), s.Subcommand)
		g.below(b.with(ordered...), s.Subcommand)
		return
	}
	g.rule(body{is("input.effect.subcommand", s.Subcommand)}.with(b...).with(operands...).
		with(fmt.Sprintf("count(input.effect.operands) == %d", len(s.Operands))).with(rest...))
	g.below(b.with(fmt.Sprintf("count(input.effect.flags) == %d", len(s.Flags))).with(ordered...), s.Subcommand)
	g.below(b.with("not input.effect.operands").with(ordered...), s.Subcommand)
}

// below writes a rule for a sub-command and one for those below it.
func (g *generator) below(b body, subcommand string) {
	if subcommand == "" {
		g.rule(b)
		return
	}
	g.rule(body{is("input.effect.subcommand", subcommand)}.with(b...))
	g.rule(body{begins("input.effect.subcommand", subcommand+" ")}.with(b...))
}
