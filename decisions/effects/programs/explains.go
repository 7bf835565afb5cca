package programs

import "strings"

// Explains reports whether the table says of an option that it is harmless, or
// has effects of its own, or counts by its place: it is not among those of
// Run.Harmful that a rule line names behind its *. words are those between the
// program and the option; where one of them is more than a sub-command the
// table need not explain what follows, and the answer is no.
func (t *Table) Explains(program string, words []string, option string) bool {
	p := t.find(program)
	for _, w := range words {
		if p == nil {
			return false
		}
		p = p.Sub(w)
	}
	if p == nil || p.Dashless || p.Style != StyleGNU && p.Style != StyleWords {
		return false
	}
	name, _, _ := strings.Cut(option, "=")
	if p.Style == StyleWords {
		name = "-" + strings.TrimLeft(name, "-")
	}
	if o := p.Options[name]; o != nil {
		return o.Act != ActChanges
	}
	if strings.HasPrefix(option, "--") || p.Style == StyleWords {
		return false
	}
	for j := 1; j < len(option); j++ {
		o := p.Options["-"+option[j:j+1]]
		if o == nil || o.Act == ActChanges {
			return false
		}
		if o.Arity != ArityNone {
			break // what follows is its value
		}
	}
	return true
}
