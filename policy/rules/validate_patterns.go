package rules

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/policy/diag"
)

// validatePatterns checks calls of the pattern builtins:
//
//   - the delimiters of glob.match must be exactly ["/"]: OPA's cache of
//     compiled globs confuses patterns with different delimiters, so that an
//     answer would depend on earlier queries;
//   - a pattern must not come from the input: an agent could write it,
//     and fill the caches.
func validatePatterns(c *ast.Compiler, ps *diag.List) {
	// patterns tells which operand of a function is a pattern. Functions of the
	// policy that pass a parameter on as a pattern are added until a fixed
	// point is reached.
	patterns := map[string]map[int]bool{
		"glob.match": {0: true}, "regex.match": {0: true}, "regex.split": {0: true}, "regex.find_n": {0: true},
		"regex.replace": {1: true}, "regex.is_valid": {0: true},
	}
	for grew := true; grew; {
		grew = false
		for _, m := range c.Modules {
			for _, r := range m.Rules {
				if len(r.Head.Args) > 0 && passesPattern(r, patterns) {
					grew = true
				}
			}
		}
	}
	rules := taintedRules(c)
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			tainted := taintOf(r, rules)
			eachCall(r, func(loc *ast.Location, op string, args []*ast.Term) {
				if op == "glob.match" && len(args) > 1 && !slashOnly(args[1]) {
					ps.Errorf(locationPlace(loc), `write: glob.match(pattern, ["/"], path)`, `the delimiters of glob.match must be ["/"]`)
				}
				for i := range args {
					if patterns[op][i] && tainted.readsInput(args[i]) {
						ps.Errorf(locationPlace(loc), "write the pattern in the policy and test the field against it",
							"the pattern of %s must not come from the input", op)
					}
				}
			})
		}
	}
}

// eachCall calls fn for each call in a rule, in expressions and in terms.
func eachCall(r *ast.Rule, fn func(loc *ast.Location, op string, args []*ast.Term)) {
	ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.Expr:
			if x.IsCall() {
				fn(x.Location, x.Operator().String(), x.Operands())
			}
		case *ast.Term:
			if call, ok := x.Value.(ast.Call); ok {
				fn(x.Location, call[0].String(), call[1:])
			}
		}
		return false
	}).Walk(r)
}

func slashOnly(t *ast.Term) bool {
	arr, ok := t.Value.(*ast.Array)
	return ok && arr.Len() == 1 && arr.Elem(0).Equal(ast.StringTerm("/"))
}

// passesPattern marks the parameters of a function that it uses as a pattern
// and reports whether there was a new one.
func passesPattern(r *ast.Rule, patterns map[string]map[int]bool) bool {
	params := map[ast.Var]int{}
	for i, a := range r.Head.Args {
		ast.WalkVars(a, func(v ast.Var) bool {
			params[v] = i
			return false
		})
	}
	name := r.Ref().String()
	grew := false
	eachCall(r, func(_ *ast.Location, op string, args []*ast.Term) {
		for i := range args {
			if !patterns[op][i] {
				continue
			}
			ast.WalkVars(args[i], func(v ast.Var) bool {
				if n, ok := params[v]; ok && !patterns[name][n] {
					if patterns[name] == nil {
						patterns[name] = map[int]bool{}
					}
					patterns[name][n] = true
					grew = true
				}
				return false
			})
		}
	})
	return grew
}

// taint is the set of variables and rules that may hold something read from the
// input.
type taint struct {
	rules map[string]bool // rules, by path
	vars  map[ast.Var]bool
}

// taintedRules returns the rules whose value may come from the input.
func taintedRules(c *ast.Compiler) map[string]bool {
	rules := map[string]bool{}
	for grew := true; grew; {
		grew = false
		for _, m := range c.Modules {
			for _, r := range m.Rules {
				path := r.Ref().GroundPrefix().String()
				if rules[path] {
					continue
				}
				t := taintOf(r, rules)
				if r.Head.Key != nil && t.readsInput(r.Head.Key) || r.Head.Value != nil && t.readsInput(r.Head.Value) {
					rules[path] = true
					grew = true
				}
			}
		}
	}
	return rules
}

// taintOf finds the variables of a rule that may hold something read from the
// input: those bound by an expression that contains such a value, transitively.
// It considers whole expressions, so it errs on the side of refusing.
func taintOf(r *ast.Rule, rules map[string]bool) *taint {
	t := &taint{rules: rules, vars: map[ast.Var]bool{}}
	for grew := true; grew; {
		grew = false
		ast.WalkExprs(r, func(e *ast.Expr) bool {
			if !e.IsCall() || !slices.ContainsFunc(e.Operands(), t.readsInput) {
				return false
			}
			for _, o := range boundTerms(e) {
				ast.WalkVars(o, func(v ast.Var) bool {
					grew = grew || !t.vars[v]
					t.vars[v] = true
					return false
				})
			}
			return false
		})
	}
	return t
}

// boundTerms returns the terms of a call that it may bind: both sides of an
// equality, or the captured result, which is the last operand.
func boundTerms(e *ast.Expr) []*ast.Term {
	ops := e.Operands()
	switch e.Operator().String() {
	case "eq", "assign", "equal":
		return ops
	}
	if len(ops) == 0 || ops[len(ops)-1].IsGround() {
		return nil
	}
	return ops[len(ops)-1:]
}

// readsInput reports whether a term contains a reference to the input.
func (t *taint) readsInput(term *ast.Term) bool {
	found := false
	ast.WalkTerms(term, func(x *ast.Term) bool {
		switch v := x.Value.(type) {
		case ast.Var:
			found = found || t.vars[v] || v.Equal(ast.InputRootDocument.Value)
		case ast.Ref:
			found = found || v[0].Equal(ast.InputRootDocument) || t.rules[v.GroundPrefix().String()]
		}
		return found
	})
	return found
}
