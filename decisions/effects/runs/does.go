package runs

import (
	"strings"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/programs"
)

// maxDoesOperands is the maximum length of operands in what a run does in words, in bytes.
const maxDoesOperands = 60

// does returns what the run does in words, "" if the table does not say it. Only words
// that the table has are shown, and operands if these are certain.
func (v *invocation) does() string {
	if len(v.p.Does) == 0 || v.unknownSub {
		return ""
	}
	name := v.run.Program
	if n := len(v.subs); n > 0 {
		name = v.subs[n-1]
	}
	operands := v.run.Operands
	d := v.p.Describe(name, v.flags, func(d *programs.Description) bool {
		return len(operands) > 0 || !strings.Contains(d.Words, "{")
	})
	switch {
	case d == nil:
		return ""
	case !strings.Contains(d.Words, "{"):
		return d.Words
	}
	return strings.NewReplacer(
		programs.DoesOperand, v.shownOperands(1), programs.DoesOperands, v.shownOperands(len(operands)),
	).Replace(d.Words)
}

// shownOperands returns the first n operands as people see them.
func (v *invocation) shownOperands(n int) string {
	var b strings.Builder
	for k, i := range v.operands[:min(n, len(v.operands))] {
		if k > 0 {
			b.WriteString(" ")
		}
		b.WriteString(display.ShowWord(&v.args[i]))
		if b.Len() > maxDoesOperands {
			break
		}
	}
	s := display.Display(b.String())
	if len(s) <= maxDoesOperands {
		return s
	}
	cut := maxDoesOperands
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
