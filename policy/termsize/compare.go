package termsize

import (
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
)

// compare makes comparisons of what two expressions compare and do not bind.
//
// OPA makes x == y the unification x = y, which goes on to the next members of two arrays
// within the call for those before. So two arrays of a million members, or small ones that
// hold others often enough, overflow the stack of the goroutine, which ends the process. A
// comparison only goes as deep as the values are. Unifications with a scalar, or with a part
// of the input, remain as they are, since OPA's index of rules uses them, and ends at the
// shorter of both.
func compare(c *ast.Compiler) *ast.Error {
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			for ; r != nil; r = r.Else {
				bound := ast.NewVarSet()
				for _, a := range r.Head.Args {
					bind(bound, a)
				}
				compareBody(r.Body, bound)
				for _, t := range append([]*ast.Term{r.Head.Key, r.Head.Value}, r.Head.Reference...) {
					compareTerm(t, bound)
				}
			}
		}
	}
	return nil
}

// compareBody changes the expressions of a body, in the order in which they are evaluated;
// bound are the variables that are bound before. It adds those that the body binds.
func compareBody(b ast.Body, bound ast.VarSet) {
	for _, e := range b {
		switch terms := e.Terms.(type) {
		case *ast.Term:
			compareTerm(terms, bound)
		case *ast.Every:
			inner := maps.Clone(bound)
			for _, t := range []*ast.Term{terms.Key, terms.Value} {
				bind(inner, t)
			}
			compareTerm(terms.Domain, bound)
			compareBody(terms.Body, inner)
		case *ast.Not:
			compareBody(terms.Body, maps.Clone(bound))
		case *ast.LogicalAnd:
			compareBody(terms.Lhs, bound)
			compareBody(terms.Rhs, bound)
		case *ast.LogicalOr:
			compareBody(terms.Lhs, maps.Clone(bound))
			compareBody(terms.Rhs, maps.Clone(bound))
		case []*ast.Term:
			for _, t := range terms {
				compareTerm(t, bound)
			}
			if e.IsEquality() && mayBeLarge(terms[1], bound) && mayBeLarge(terms[2], bound) {
				e.SetOperator(ast.NewTerm(ast.Equal.Ref()).SetLocation(e.Location))
			}
		}
		if !e.Negated {
			for _, t := range operands(e) {
				bind(bound, t)
			}
		}
	}
}

// operands returns the terms of an expression that it may bind variables of.
func operands(e *ast.Expr) []*ast.Term {
	switch terms := e.Terms.(type) {
	case *ast.Term:
		return []*ast.Term{terms}
	case []*ast.Term:
		return terms[1:]
	}
	return nil
}

// mayBeLarge reports whether all variables of a term are bound, and it is neither a scalar
// nor a part of the input.
func mayBeLarge(t *ast.Term, bound ast.VarSet) bool {
	switch v := t.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String:
		return false
	case ast.Ref:
		if v[0].Equal(ast.InputRootDocument) {
			return false
		}
	case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
		return false
	}
	vars := ast.NewVarSet()
	bind(vars, t)
	for v := range vars {
		if !bound.Contains(v) {
			return false
		}
	}
	return true
}

// bind adds the variables of a term, without those in comprehensions.
func bind(bound ast.VarSet, t *ast.Term) {
	if t == nil {
		return
	}
	ast.WalkTerms(t, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Var:
			if !ast.RootDocumentNames.Contains(t) {
				bound.Add(v)
			}
		case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
			return true
		}
		return false
	})
}

// compareTerm changes the bodies of the comprehensions in a term.
func compareTerm(t *ast.Term, bound ast.VarSet) {
	if t == nil {
		return
	}
	ast.WalkTerms(t, func(t *ast.Term) bool {
		inner := func(b ast.Body) ast.VarSet {
			vars := maps.Clone(bound)
			compareBody(b, vars)
			return vars
		}
		switch v := t.Value.(type) {
		case *ast.ArrayComprehension:
			compareTerm(v.Term, inner(v.Body))
			return true
		case *ast.SetComprehension:
			compareTerm(v.Term, inner(v.Body))
			return true
		case *ast.ObjectComprehension:
			vars := inner(v.Body)
			compareTerm(v.Key, vars)
			compareTerm(v.Value, vars)
			return true
		}
		return false
	})
}
