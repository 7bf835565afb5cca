// Package constants puts the value of a rule in the place of its name.
//
// Lists of names that several rules share are mostly rules of their own:
//
//	shells := {"bash", "dash", "sh"}
//	deny contains "…" if input.effect.program in shells
//
// OPA's index leaves a rule out when it tests for membership in a literal, but
// not in another rule's value, so each such rule would be evaluated for every
// program. In the copy of a rule that is evaluated such a name is therefore
// replaced by its value, which changes no answer.
package constants

import "github.com/open-policy-agent/opa/v1/ast"

// Values maps names to the rules of a package whose value is a collection
// without variables.
type Values map[ast.Var]*ast.Term

// Of finds the constants of a layer's own package.
func Of(pkg ast.Ref, modules map[string]*ast.Module) Values {
	found, seen := Values{}, map[ast.Var]int{}
	for _, m := range modules {
		if !m.Package.Path.Equal(pkg) {
			continue
		}
		for _, r := range m.Rules {
			name, ok := r.Head.Ref()[0].Value.(ast.Var)
			if !ok {
				continue
			}
			seen[name]++
			if v := constantOf(r); v != nil {
				found[name] = v
			}
		}
	}
	for name, n := range seen {
		if n > 1 {
			delete(found, name) // other rules may add to it, or contradict it
		}
	}
	return found
}

// constantOf returns the collection that a rule defines, nil if it is another
// kind of rule.
func constantOf(r *ast.Rule) *ast.Term {
	h := r.Head
	if r.Default || r.Else != nil || len(h.Ref()) != 1 || h.Key != nil || len(h.Args) > 0 || h.Value == nil {
		return nil
	}
	if !r.Body.Equal(ast.NewBody(ast.NewExpr(ast.BooleanTerm(true)))) {
		return nil
	}
	switch h.Value.Value.(type) {
	case ast.Set, *ast.Array:
		if ast.IsConstant(h.Value.Value) {
			return h.Value
		}
	}
	return nil
}

// Inline replaces the constants that a rule of the package tests for membership
// in. A name that the rule uses in any other way, or that its module imports,
// is left alone: it may mean something else there.
func (c Values) Inline(r *ast.Rule, imports []*ast.Import) {
	if len(c) == 0 {
		return
	}
	used := map[ast.Var]int{}
	for _, i := range imports {
		used[i.Name()]++
	}
	ast.WalkVars(r, func(v ast.Var) bool {
		used[v]++
		return false
	})
	tests := map[ast.Var][]*ast.Expr{}
	for _, e := range r.Body {
		if name, ok := testedIn(e); ok && c[name] != nil {
			tests[name] = append(tests[name], e)
		}
	}
	for name, exprs := range tests {
		if used[name] != len(exprs) {
			continue
		}
		for _, e := range exprs {
			e.Operands()[1].Value = c[name].Value
		}
	}
}

// testedIn returns the name that an expression tests for membership in.
func testedIn(e *ast.Expr) (ast.Var, bool) {
	if e.Negated || len(e.With) > 0 || !e.IsCall() || !e.Operator().Equal(ast.Member.Ref()) || len(e.Operands()) != 2 {
		return "", false
	}
	name, ok := e.Operand(1).Value.(ast.Var)
	return name, ok
}
