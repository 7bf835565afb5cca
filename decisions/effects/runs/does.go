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
	shown := ""
	d := v.p.Describe(name, v.flags, func(d *programs.Description) bool {
		if shown == "" && strings.Contains(d.Words, "{") {
			shown = v.shownOperands(strings.Contains(d.Words, programs.DoesOperands))
		}
		return shown != "" || !strings.Contains(d.Words, "{")
	})
	switch {
	case d == nil:
		return ""
	case !strings.Contains(d.Words, "{"):
		return d.Words
	}
	return strings.NewReplacer(programs.DoesOperand, shown, programs.DoesOperands, shown).Replace(d.Words)
}

// shownOperands returns the first operand of the run, or all, as people see them; "" if
// there is none or it is not certain which words these are. NAME=VALUE sets a variable.
func (v *invocation) shownOperands(all bool) string {
	if v.run.Operands == nil && (all || v.run.Script == nil || v.unclear || len(v.operands) == 0) {
		return "" // of a script's own options and operands nothing is certain but the script
	}
	var b strings.Builder
	for _, i := range v.operands {
		if strings.Contains(v.args[i].Text, "=") {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" ")
		}
		b.WriteString(display.ShowWord(&v.args[i]))
		if !all || b.Len() > maxDoesOperands {
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
