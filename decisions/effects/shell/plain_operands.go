package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/runs"
)

// Shells evaluate operands of some of their own commands: bash runs the command of "jobs
// -x" and the subscript of "wait -p", zsh evaluates the numbers of exit, return, break
// and printf as arithmetic, and a subscript in arithmetic runs the commands in it.

// plainOperands reports whether all operands of exit, wait, jobs and the like are
// numbers, or options that only choose what is printed.
func plainOperands(args []effects.Word) bool {
	for i := range args {
		w := &args[i]
		switch {
		case w.Dynamic():
			if !runs.NumericParameter(w.Shown) {
				return false
			}
		case w.Glob:
			return false
		case len(w.Text) == 2 && w.Text[0] == '-' && strings.IndexByte("lnprsf-", w.Text[1]) >= 0:
		case !plainNumber(strings.TrimPrefix(w.Text, "%")):
			return false
		}
	}
	return true
}

// plainNumber reports whether text consists of digits.
func plainNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// plainPrintf reports whether printf only prints its operands: a number must be one that
// no shell evaluates.
func plainPrintf(args []effects.Word) bool {
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) < 2 || !args[0].Dynamic() && !numericFormat(args[0].Text) {
		return true
	}
	for i := range args[1:] {
		w := &args[1+i]
		if w.Glob || w.Dynamic() && !runs.NumericParameter(w.Shown) || !w.Dynamic() && strings.Contains(w.Text, "[") {
			return false
		}
	}
	return true
}

// storesCount reports whether a format of printf may contain %n, with which bash stores a
// number in the variable that an operand names.
func storesCount(format string) bool {
	for {
		_, rest, ok := strings.Cut(format, "%")
		if !ok {
			return false
		}
		rest = strings.TrimLeft(rest, "-+ #0123456789.'*hlLqjzt")
		if rest == "" {
			return false
		}
		if rest[0] == 'n' {
			return true
		}
		format = rest[1:]
	}
}

// numericFormat reports whether a format of printf takes a number, a width or a time from
// the operands.
func numericFormat(format string) bool {
	for {
		_, rest, ok := strings.Cut(format, "%")
		if !ok {
			return false
		}
		rest = strings.TrimLeft(rest, "-+ #0123456789.'")
		if rest == "" {
			return false
		}
		if strings.IndexByte("%sbqQc", rest[0]) < 0 {
			return true
		}
		format = rest[1:]
	}
}

// plainSet reports whether the words of set only make the shell exit earlier or print
// more.
func plainSet(args []effects.Word) bool {
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		if args[i].Dynamic() || len(text) < 2 || text[0] != '-' && text[0] != '+' {
			return false
		}
		letters, named := strings.CutSuffix(text[1:], "o")
		if strings.Trim(letters, "euxv") != "" {
			return false
		}
		if !named {
			continue
		}
		if i++; i >= len(args) {
			return false
		}
		switch args[i].Text {
		case "errexit", "nounset", "pipefail", "xtrace", "verbose":
		default:
			return false
		}
	}
	return len(args) > 0
}

// hasZshSubscript reports whether an expansion is followed by what zsh takes for its
// subscript, and evaluates: $x[y].
func hasZshSubscript(parts []syntax.WordPart) bool {
	for i := range parts[:max(len(parts)-1, 0)] {
		p, ok := parts[i].(*syntax.ParamExp)
		if !ok || !p.Short {
			continue
		}
		lit, ok := parts[i+1].(*syntax.Lit)
		if !ok || !strings.HasPrefix(lit.Value, "[") || strings.HasPrefix(lit.Value, "[[:") {
			continue
		}
		inside, _, closed := strings.Cut(lit.Value[1:], "]")
		if !closed || strings.ContainsFunc(inside, func(c rune) bool { return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }) {
			return true
		}
	}
	return false
}
