package programs

// Explains reports whether the table knows what an option of a program does:
// whether it is harmless, has effects of its own or is only a number. Such an
// option is not among those of Run.Harmful that a rule has to name after its *.
// words are the words between the program and the option. If one of them is more
// than a sub-command, the answer is no: the table need not explain what follows.
func (t *Table) Explains(program string, words []string, option string) bool {
	p := t.entryOf(program)
	if p == nil {
		return false
	}
	r := p.Read(literalWords(append(words[:len(words):len(words)], option)))
	for range words {
		a := r.Next()
		if a.Kind != ArgSub || a.Sub == nil {
			return false
		}
		p = a.Sub
	}
	if !p.hasComparableOptions() {
		return false
	}
	a := r.Next()
	if a.Kind != ArgOptions {
		return a.Kind == ArgNumber
	}
	for use, ok := r.Option(); ok; use, ok = r.Option() {
		switch {
		case use.Option == nil, use.Abbreviated, use.Role == RoleChanges, use.Form == ValueUnexpected, use.Form == ValueFalse:
			return false
		}
	}
	return true
}
