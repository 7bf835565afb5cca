package rules

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/input"
)

// validateResolved runs the checks that need the rules as written, with all
// references resolved.
func validateResolved(c *ast.Compiler, schema *input.Schema, ps *diag.List) {
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			if schema != nil && r.Location.File != stubsFile {
				validateValues(r, schema, ps)
				validateFields(r, schema, ps)
			}
		}
	}
}

// validateValues refuses comparisons of a field with a value that it never has,
// such as a kind of effect that does not exist: they are silently never true.
func validateValues(r *ast.Rule, schema *input.Schema, ps *diag.List) {
	each := func(at *ast.Location, field, value *ast.Term) {
		ref, ok := field.Value.(ast.Ref)
		if !ok {
			return
		}
		node := schema.At(ref)
		if node == nil {
			return
		}
		for _, word := range literals(value) {
			if len(node.Enum) > 0 && word != "" && !slices.Contains(node.Enum, word) {
				ps.Errorf(locationPlace(at), "it is one of "+words(node.Enum), "%s is never %q", ref, word)
			}
		}
	}
	visit := func(at *ast.Location, op string, args []*ast.Term) {
		if len(args) < 2 {
			return
		}
		a, b := args[0], args[1]
		switch op {
		case "eq", "equal", "neq", "assign":
			each(at, a, b)
			each(at, b, a)
		case "internal.member_2":
			each(at, a, b) // input.effect.kind in {"run", "read"}
			// "secret" in input.effect.tags
			if ref, ok := b.Value.(ast.Ref); ok {
				each(at, ast.NewTerm(ref.Append(ast.VarTerm("_"))), a)
			}
		}
	}
	ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.Expr:
			if x.IsCall() {
				visit(x.Location, x.Operator().String(), x.Operands())
			}
		case *ast.Term:
			if call, ok := x.Value.(ast.Call); ok {
				visit(x.Location, call[0].String(), call[1:])
			}
		}
		return false
	}).Walk(r)
}

// literals returns the string literals in a term: itself, or its members.
func literals(t *ast.Term) []string {
	var out []string
	add := func(t *ast.Term) {
		if s, ok := t.Value.(ast.String); ok {
			out = append(out, string(s))
		}
	}
	switch v := t.Value.(type) {
	case ast.String:
		add(t)
	case ast.Set:
		v.Foreach(add)
	case *ast.Array:
		v.Foreach(add)
	}
	return out
}

// validateFields refuses rules that test the kind and then read a field that no
// effect of this kind has.
func validateFields(r *ast.Rule, schema *input.Schema, ps *diag.List) {
	var kinds []string
	for _, e := range r.Body {
		if k := testedKinds(e); k != nil {
			kinds = k
			break
		}
	}
	if kinds == nil {
		return
	}
	seen := map[string]bool{}
	ast.WalkTerms(r, func(t *ast.Term) bool {
		ref, ok := t.Value.(ast.Ref)
		if !ok {
			return false
		}
		field, ok := input.Field(ref)
		node := schema.Effect[field]
		if !ok || node == nil || seen[field] {
			return false
		}
		if !slices.ContainsFunc(kinds, func(k string) bool { return schema.Has(effects.Kind(k), field) }) {
			seen[field] = true
			ps.Errorf(locationPlace(t.Location), "effects that have it: "+words(node.Kinds),
				"an effect of kind %s has no field %s", strings.Join(kinds, " or "), field)
		}
		return false
	})
}

// testedKinds returns the kinds for which an expression of a body can be true,
// nil if it does not test the kind.
func testedKinds(e *ast.Expr) []string {
	if e.Negated || !e.IsCall() || len(e.Operands()) < 2 || len(e.With) > 0 {
		return nil
	}
	isKind := func(t *ast.Term) bool {
		ref, ok := t.Value.(ast.Ref)
		if !ok || len(ref) != 3 {
			return false
		}
		field, _ := input.Field(ref)
		return field == "kind"
	}
	a, b := e.Operand(0), e.Operand(1)
	switch e.Operator().String() {
	case "eq", "equal":
		if isKind(b) {
			a, b = b, a
		}
		if isKind(a) {
			return literals(b)
		}
	case "internal.member_2":
		if isKind(a) {
			return literals(b)
		}
	}
	return nil
}

// validateCompiled runs the checks that need compiled rules.
func validateCompiled(c *ast.Compiler, ps *diag.List) {
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			if r.Location.File != stubsFile {
				validateData(r, c, ps)
			}
		}
	}
	validatePatterns(c, ps)
}

// validateData refuses references to data that nothing defines: permd gives
// policies no data document, so they would always be undefined, and a deny that
// depends on one would never fire.
func validateData(r *ast.Rule, c *ast.Compiler, ps *diag.List) {
	ast.WalkTerms(r, func(t *ast.Term) bool {
		ref, ok := t.Value.(ast.Ref)
		if !ok || !ref[0].Equal(ast.DefaultRootDocument) {
			return false
		}
		node := c.RuleTree
		for i, t := range ref {
			if i > 0 && !ast.IsConstant(t.Value) {
				return false // only known at run time
			}
			next := node.Child(t.Value)
			if next == nil {
				ps.Errorf(locationPlace(r.Location), "rules can refer to input and to rules of their own layer",
					"%s is defined nowhere", ref[:i+1])
				return true
			}
			if len(next.Values) > 0 {
				return false // a rule; OPA checks references into its value
			}
			node = next
		}
		return false
	})
}

// words joins a list for a message.
func words(list []string) string { return strings.Join(list, ", ") }

// adviseNegation warns of negation without import rego.v2: there a negated call with
// an undefined argument makes the whole rule fail instead of holding.
func adviseNegation(m *ast.Module, ps *diag.List) {
	for _, imp := range m.Imports {
		if imp.Path.String() == "rego.v2" {
			return
		}
	}
	ast.WalkExprs(m, func(e *ast.Expr) bool {
		if e.Negated {
			ps.Add(locationPlace(e.Location), diag.SeverityWarning, "write: import rego.v2",
				"not fails instead of holding when an argument of what it negates is undefined")
		}
		return false
	})
}
