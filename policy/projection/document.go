package projection

import "github.com/open-policy-agent/opa/v1/ast"

// document returns the document that a reference names, nil if its value may be
// other than true, false or undefined.
func (t *translator) document(ref ast.Ref) *document {
	key := ref.String()
	if d, ok := t.docs[key]; ok {
		return d
	}
	d := t.newDocument(ref)
	t.docs[key] = d
	return d
}

func (t *translator) newDocument(ref ast.Ref) *document {
	if !ref.IsGround() {
		return nil
	}
	rules := t.compiler.GetRulesExact(ref)
	if len(rules) == 0 || len(rules) != len(t.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true})) {
		return nil
	}
	d := new(document)
	for _, r := range rules {
		h := r.Head
		if h.RuleKind() != ast.SingleValue || len(h.Args) > 0 || h.Key != nil || h.Value == nil || !h.Reference.IsGround() {
			return nil
		}
		value, ok := h.Value.Value.(ast.Boolean)
		if !ok || bool(value) == r.Default {
			return nil
		}
		if !r.Default {
			d.rules = append(d.rules, t.rule(r))
		}
	}
	return d
}

// constant returns the value of a rule that is a collection without variables,
// nil if it is another rule.
func (t *translator) constant(r *ast.Rule) ast.Value {
	h := r.Head
	if r.Default || r.Else != nil || h.RuleKind() != ast.SingleValue || h.Key != nil || len(h.Args) > 0 || h.Value == nil ||
		!r.Body.Equal(ast.NewBody(ast.NewExpr(ast.BooleanTerm(true)))) || !ast.IsConstant(h.Value.Value) {
		return nil
	}
	if len(t.compiler.GetRulesExact(r.Ref())) != 1 {
		return nil
	}
	switch h.Value.Value.(type) {
	case ast.Set, *ast.Array:
		return h.Value.Value
	}
	return nil
}
