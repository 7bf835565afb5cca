package programs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/permd/permd/internal/chars"
)

// maxDoes is the maximum length of a description of what a program does, in bytes.
const maxDoes = 100

// Description says in words what a program or sub-command does.
type Description struct {
	// Words are shown to people. {operand} and {operands} in them are the first operand
	// of the run, and all of them.
	Words string
	// names and options are the conditions: the program or sub-command has one of the
	// names, and one of the options is given; empty if it does not matter.
	names, options []string
}

// The parts of Description.Words that words of the run replace.
const (
	DoesOperand  = "{operand}"
	DoesOperands = "{operands}"
)

// Describe returns the first description of what the program does under that name, its
// own or that of a sub-command, with those options, for which usable is true; nil if
// there is none.
func (p *Program) Describe(name string, flags []string, usable func(*Description) bool) *Description {
	name = cmp.Or(p.Aliases[name], name)
	for i := range p.Does {
		d := &p.Does[i]
		if len(d.names) > 0 && !slices.Contains(d.names, name) {
			continue
		}
		if len(d.options) > 0 && !slices.ContainsFunc(d.options, func(o string) bool { return slices.Contains(flags, o) }) {
			continue
		}
		if usable(d) {
			return d
		}
	}
	return nil
}

// lesser are options with which programs do less than without them.
var lesser = []string{
	"--check", "--diff", "--dry-run", "--ignore-scripts", "--just-print", "--list", "--no-act", "--no-run", "--simulate", "--stat", "--summary", "--what-if",
}

// Limits reports whether an option may keep a run from something that the program does
// without it: the run is described in other words because of it, or it is known to.
func (p *Program) Limits(o *Option) bool {
	return slices.Contains(lesser, o.Canonical) || slices.ContainsFunc(p.Does, func(d Description) bool { return slices.Contains(d.options, o.Canonical) })
}

// descriptions parses the lines of the key does: "commits what is staged", or with
// conditions before a colon, "--amend: replaces the last commit".
func descriptions(lines []textNode) ([]Description, error) {
	var all []Description
	for _, line := range lines {
		var d Description
		conditions, words, ok := strings.Cut(line.text, ": ")
		if !ok {
			conditions, words = "", line.text
		}
		if err := checkDoes(words); err != nil {
			return nil, line.errorf("does %q: %w", line.text, err)
		}
		d.Words = words
		for _, c := range strings.Fields(conditions) {
			if strings.HasPrefix(c, "-") {
				d.options = append(d.options, c)
			} else {
				d.names = append(d.names, c)
			}
		}
		if ok && len(d.names)+len(d.options) == 0 {
			return nil, line.errorf("does %q: no condition before the colon", line.text)
		}
		all = append(all, d)
	}
	return all, nil
}

// checkDoes refuses words that do not fit a sentence on one line.
func checkDoes(words string) error {
	rest := ""
	if strings.ContainsAny(words, "{}") {
		rest = strings.NewReplacer(DoesOperand, "", DoesOperands, "").Replace(words)
	}
	switch {
	case strings.TrimSpace(words) != words || words == "":
		return errors.New("no words, or blanks around them")
	case len(words) > maxDoes:
		return fmt.Errorf("more than %d bytes", maxDoes)
	case strings.ContainsFunc(words, func(c rune) bool { return !unicode.IsPrint(c) || chars.Invisible(c) }):
		return errors.New("a character that is not shown as it is")
	case strings.Contains(words, ": ") || strings.ContainsAny(rest, "{}"):
		return fmt.Errorf("a colon, or braces other than %s and %s", DoesOperand, DoesOperands)
	}
	return nil
}

// brokenDoes returns the conditions of descriptions that can never hold.
func (p *Program) brokenDoes() []string {
	var wrong []string
	for _, d := range p.Does {
		for _, name := range d.names {
			if !slices.Contains(p.Names, name) {
				wrong = append(wrong, fmt.Sprintf("does %q: %s is not one of its names", d.Words, name))
			}
		}
		for _, f := range d.options {
			if o := p.Options[f]; o == nil || o.Canonical != f {
				wrong = append(wrong, fmt.Sprintf("does %q: %s is not the canonical name of one of its options", d.Words, f))
			}
		}
	}
	return wrong
}
