package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/policy/input"
)

// Bounds of displayed text, in characters.
const (
	maxConditionText  = 160
	maxConditionValue = 100
)

// textOf returns a condition as written, on one line.
func textOf(r *rule, p conditionGroup) string {
	text := strings.Join(strings.Fields(string(p.at.Text)), " ")
	for _, e := range r.ast.Body {
		if e.Location == nil || e.Location.Row != p.at.Row || e.Location.Col != p.at.Col || !e.IsCall() || len(e.Operands()) != 2 {
			continue
		}
		// For some comparisons the parser keeps the text of the first operand
		// only.
		op := ast.BuiltinMap[e.Operator().String()]
		if op != nil && op.Infix != "" && !strings.Contains(text, op.Infix) {
			text = e.Operand(0).String() + " " + op.Infix + " " + e.Operand(1).String()
		}
	}
	if text == "" {
		text = p.exprs[0].String()
	}
	return cut(clean(text, maxReason), maxConditionText)
}

func placeOf(p conditionGroup) string {
	if p.at.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.at.File, p.at.Row)
}

// is describes the values that a condition tests: the fields that it reads and
// the variables bound before it.
func (t *nearSearch) is(l *Layer, p conditionGroup, bound topdown.QueryResult) string {
	var said []string
	add := func(name, value string) {
		if text := name + " is " + value; !slices.Contains(said, text) && len(said) < 3 {
			said = append(said, text)
		}
	}
	for _, e := range p.shown {
		ast.WalkRefs(e, func(ref ast.Ref) bool {
			if !ref[0].Equal(ast.InputRootDocument) {
				return false
			}
			ref = ref.GroundPrefix()
			if len(ref) < 3 {
				return false
			}
			if input.PartOf(ref).Overlaps(input.RawParts) {
				return false // it may be a whole file, or a secret
			}
			v, err := t.document().Value.Find(ref[1:])
			if err != nil {
				add(ref.String(), "not there")
			} else {
				add(ref.String(), valueText(v))
			}
			return false
		})
		if l.needs.Overlaps(input.RawParts) {
			continue // a variable may hold the same
		}
		ast.WalkVars(e, func(v ast.Var) bool {
			name, ok := l.compiler.RewrittenVars[v]
			if term := bound[v]; ok && term != nil && !name.IsGenerated() {
				add(string(name), valueText(term.Value))
			}
			return false
		})
	}
	if said == nil {
		for _, e := range p.shown {
			ast.WalkRefs(e, func(ref ast.Ref) bool {
				for _, helper := range l.helpers(ref) {
					if at := fmt.Sprintf("see %s:%d", helper.Location.File, helper.Location.Row); len(said) == 0 {
						said = append(said, at)
					}
				}
				return false
			})
		}
	}
	return strings.Join(said, ", ")
}

// valueText returns a value of the input as it may be displayed.
func valueText(v ast.Value) string { return cut(display.Display(v.String()), maxConditionValue) }

func cut(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
