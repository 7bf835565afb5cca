package effects

import "slices"

// operandEffects applies the table to the operands.
func (v *invocation) operandEffects() {
	if v.p.wrapper != nil || v.p.style == styleTest {
		return
	}
	if v.dead {
		v.operands = nil // a question is asked already
	}
	specs := v.operandSpecs()
	tree := v.p.recursive || v.has(v.p.recursiveWith)
	if v.p.interpreter == "shell" && v.has([]string{"-c"}) {
		specs = []operand{{act: actInline}, {act: actText, many: true}}
	}
	for n, i := range v.operands {
		if v.full() {
			return
		}
		does := actUnknown
		switch {
		case v.dashes >= 0 && n >= v.dashes && v.p.hasDashes:
			does = v.p.afterDashes
		default:
			if spec := operandAt(specs, n, len(v.operands)); spec != nil {
				does = spec.act
			}
		}
		behind := v.dashes >= 0 && n >= v.dashes && v.p.hasDashes
		if w := &v.args[i]; w.glob && !w.dynamic() && !behind && movesOthers(specs, n, len(v.operands)) {
			v.unknown(i, "a pattern that may become several words, of which each means something else: "+Display(showWord(&v.args[i])))
		}
		v.apply(does, i, v.args[i], false, tree)
		if (does == actReads || does == actWrites) && v.has(v.p.deletesWith) {
			v.apply(actDeletes, i, v.args[i], false, tree)
		}
		if does == actTarget || does == actTool || does == actModule {
			break // the words behind it are its own
		}
	}
	for _, l := range v.later {
		v.apply(l.act, l.arg, l.word, true, tree)
	}
}

// movesOthers reports whether the n-th operand, when several words stand in its
// place, has one among them that does something else than it.
func movesOthers(specs []operand, n, total int) bool {
	own := operandAt(specs, n, total)
	if own == nil || own.many {
		return false
	}
	// Those in front of the one that repeats move what stands behind them, those
	// behind it what repeats.
	from := slices.IndexFunc(specs, func(o operand) bool { return o.many })
	for i := range specs {
		if &specs[i] == own && (from < 0 || i < from) {
			from = i
		}
	}
	for _, o := range specs[from:] {
		if o.act != own.act {
			return true
		}
	}
	return own.act != actText && !slices.ContainsFunc(specs[from:], func(o operand) bool { return o.many })
}

// operandSpecs are the positions that exist with the options given.
func (v *invocation) operandSpecs() []operand {
	all := true
	for i := range v.p.operands {
		all = all && v.stands(&v.p.operands[i])
	}
	if all {
		return v.p.operands
	}
	var specs []operand
	for _, o := range v.p.operands {
		if v.stands(&o) {
			specs = append(specs, o)
		}
	}
	return specs
}

// stands reports whether a position exists with the options given.
func (v *invocation) stands(o *operand) bool {
	return !v.has(o.unless) && (len(o.only) == 0 || v.has(o.only))
}

// operandAt is what the n-th of total operands is: positions before the one
// that repeats are counted from the front, those after it from the back.
func operandAt(specs []operand, n, total int) *operand {
	many := slices.IndexFunc(specs, func(o operand) bool { return o.many })
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
