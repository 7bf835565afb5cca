package programs

import "slices"

// OperandAt returns the position of the n-th of total operands: positions before the
// repeated one are counted from the front, those after it from the back.
func OperandAt(specs []Operand, n, total int) *Operand {
	many := slices.IndexFunc(specs, func(o Operand) bool { return o.Many })
	switch {
	case many < 0 && n < len(specs):
		return &specs[n]
	case many < 0:
		return nil
	case n < many:
		return &specs[n]
	}
	if behind := len(specs) - many - 1; n >= total-behind && total > many+behind-1 {
		return &specs[len(specs)-(total-n)]
	}
	return &specs[many]
}

// MovesOthers reports whether the n-th operand, if it expands to several words, has one
// among them with another role.
func MovesOthers(specs []Operand, n, total int) bool {
	own := OperandAt(specs, n, total)
	if own == nil || own.Many {
		return false
	}
	// Operands before the repeated one shift those that follow; operands after it
	// shift the repeated one.
	from := slices.IndexFunc(specs, func(o Operand) bool { return o.Many })
	for i := range specs {
		if &specs[i] == own && (from < 0 || i < from) {
			from = i
		}
	}
	for _, o := range specs[from:] {
		if o.Role != own.Role {
			return true
		}
	}
	return own.Role != RoleText && !slices.ContainsFunc(specs[from:], func(o Operand) bool { return o.Many })
}
