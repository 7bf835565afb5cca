package programs

// Explains reports whether the table says of an option that it is harmless, or
// has effects of its own, or counts by its place: it is not among those of
// Run.Harmful that a rule line names after its *. words are those between the
// program and the option; where one of them is more than a sub-command the
// table need not explain what follows, and the answer is no.
func (t *Table) Explains(program string, words []string, option string) bool {
	p := t.find(program)
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
	if !p.comparable() {
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
