package rules

import (
	"context"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/source"
)

// nearSearch evaluates rules condition by condition, for one effect.
type nearSearch struct {
	snapshot *Snapshot
	in       *decisions.Input
	ctx      context.Context
	left     int // evaluations that may still be made

	input *ast.Term
}

// nearRules returns the rules of a layer that almost fire. Rules of lists are
// compared as lines, which is more informative (nearEntries).
func (t *nearSearch) nearRules(l *Layer, set decisions.Set, firedAt map[string]bool) []Near {
	if l.compiler == nil {
		return nil
	}
	var out []Near
	seen := map[int]bool{}
	for _, r := range l.compiler.GetRulesExact(firedRef(l.Name)) {
		n, ok := numberOf(r)
		if !ok || n >= len(l.rules) || seen[n] {
			continue
		}
		seen[n] = true // a deny also fires by its number
		rule := l.rules[n]
		if rule.set != set || firedAt[rule.ref.At] || strings.HasSuffix(rule.ast.Location.File, source.ListName) {
			continue
		}
		if t.left <= 0 || t.ctx.Err() != nil {
			break
		}
		if near, ok := t.rule(l, rule, r); ok {
			out = append(out, near)
		}
	}
	return out
}

// conditionGroup is one condition as a person wrote it: the expressions that
// the compiler made from it share a location.
type conditionGroup struct {
	exprs []*ast.Expr
	at    *ast.Location
	shown []*ast.Expr // with variables replaced by the fields that they equal
}

func partsOfBody(body ast.Body) []conditionGroup {
	var parts []conditionGroup
	for _, e := range body {
		loc := e.Location
		if loc == nil {
			loc = &ast.Location{}
		}
		if n := len(parts); n > 0 && parts[n-1].at.Row == loc.Row && parts[n-1].at.Col == loc.Col && parts[n-1].at.File == loc.File {
			parts[n-1].exprs = append(parts[n-1].exprs, e)
			continue
		}
		parts = append(parts, conditionGroup{exprs: []*ast.Expr{e}, at: loc})
	}
	return parts
}

// rule tries the conditions of a rule in order: each together with the earlier
// ones that hold, since it may use variables they bind. It stops when the cost
// is too high.
func (t *nearSearch) rule(l *Layer, rule *rule, fired *ast.Rule) (Near, bool) {
	near := Near{Rule: rule.ref, Set: rule.set}
	if rule.fixed != nil {
		near.Reason = rule.fixed.reason
	}
	held := ast.Body{}
	missing := map[ast.Var]bool{} // variables that a failed condition would have bound
	means := map[ast.Var]ast.Value{}
	for _, p := range partsOfBody(fired.Body) {
		p.shown = inlineIn(p.exprs, means)
		kinds := kindsOf(p)
		if kinds != nil && !slices.Contains(kinds, string(t.in.Effect.Kind)) {
			return near, false // it is about other effects
		}
		vars := varsOf(p)
		switch {
		case t.readsRaw(p):
			near.Failed = append(near.Failed, Condition{Text: textOf(rule, p), At: placeOf(p), Untried: true, Is: "the call's raw input is no longer known"})
			near.cost += costDetail
		case slices.ContainsFunc(vars, func(v ast.Var) bool { return missing[v] }):
			near.Failed = append(near.Failed, Condition{Text: textOf(rule, p), At: placeOf(p), Untried: true})
			// It may well hold: only the condition it depends on counts.
		default:
			together := append(slices.Clone(held), p.exprs...)
			holds, bound, err := t.evalConditions(l, together, held)
			if err != nil {
				return near, false
			}
			if holds {
				held = together
				if kinds == nil && !binds(p) {
					near.Held++
				}
				continue
			}
			near.Failed = append(near.Failed, Condition{Text: textOf(rule, p), At: placeOf(p), Is: t.is(l, p, bound)})
			near.cost += costOf(l, p)
		}
		if near.cost > maxCost {
			return near, false
		}
		for _, v := range vars {
			if !bodyHas(held, v) {
				missing[v] = true
			}
		}
	}
	return near, len(near.Failed) > 0
}

// evalConditions evaluates conditions that belong together. bound holds the variables
// that all but the last one bind, if they do not hold.
func (t *nearSearch) evalConditions(l *Layer, together, before ast.Body) (holds bool, bound topdown.QueryResult, err error) {
	if len(together) == 1 {
		if known, is := t.evalComparison(together[0]); known {
			return is, nil, nil
		}
	}
	one := func(body ast.Body) (bool, topdown.QueryResult, error) {
		t.left--
		limited := t.snapshot.limiter.Start(context.Background())
		defer t.snapshot.limiter.Stop(limited)
		fresh := make(ast.Body, len(body))
		for i, e := range body {
			fresh[i] = e.Copy()
			fresh[i].Index = i
		}
		var first topdown.QueryResult
		found := false
		q := &query{input: t.document(), now: t.in.Now, cancel: limited.Cancel}
		err := l.run(q, fresh, func(qr topdown.QueryResult) {
			if !found {
				found, first = true, qr
			}
		})
		return found, first, err
	}
	if holds, _, err = one(together); holds || err != nil || len(before) == 0 {
		return holds, nil, err
	}
	_, bound, err = one(before)
	return false, bound, err
}

// evalComparison evaluates a comparison of a field with a literal without the evaluator;
// most conditions are such.
func (t *nearSearch) evalComparison(e *ast.Expr) (known, holds bool) {
	if e.Negated || !e.IsCall() || len(e.With) > 0 || len(e.Operands()) != 2 {
		return false, false
	}
	if op := e.Operator().String(); op != "eq" && op != "equal" {
		return false, false
	}
	a, b := e.Operand(0), e.Operand(1)
	if _, ok := a.Value.(ast.Ref); !ok {
		a, b = b, a
	}
	ref, ok := a.Value.(ast.Ref)
	if !ok || !ref[0].Equal(ast.InputRootDocument) || !ref.IsGround() || !ast.IsConstant(b.Value) {
		return false, false
	}
	v, err := t.document().Value.Find(ref[1:])
	return true, err == nil && v.Compare(b.Value) == 0
}

func (t *nearSearch) document() *ast.Term {
	if t.input == nil {
		need := input.AllParts
		if t.in.Call.Input == nil {
			need = need.Without(input.PartRaw)
		}
		t.input = input.Build(t.in, need)
	}
	return t.input
}

// readsRaw reports whether a condition reads the raw input, which an
// explanation does not have.
func (t *nearSearch) readsRaw(p conditionGroup) bool {
	if t.in.Call.Input != nil {
		return false
	}
	reads := false
	for _, e := range p.exprs {
		reads = reads || input.PartsIn(e).Has(input.PartRaw)
	}
	return reads
}

func kindsOf(p conditionGroup) []string {
	for _, e := range p.shown {
		if kinds := testedKinds(e); kinds != nil {
			return kinds
		}
	}
	return nil
}

// binds reports whether a condition only assigns a value for later ones.
func binds(p conditionGroup) bool {
	return len(p.exprs) > 0 && !slices.ContainsFunc(p.exprs, func(e *ast.Expr) bool { return !e.IsAssignment() && !localEquality(e) })
}

// localEquality reports whether an expression is a compiled assignment: a
// variable of the compiler made equal to something.
func localEquality(e *ast.Expr) bool {
	if e.Negated || !e.IsCall() || e.Operator().String() != "eq" || len(e.Operands()) != 2 {
		return false
	}
	name, ok := e.Operand(0).Value.(ast.Var)
	return ok && name.IsGenerated()
}

// costOf returns the cost of a condition that does not hold, by the fields that
// it and the helpers it calls read.
func costOf(l *Layer, p conditionGroup) int {
	cost := costDetail
	for _, e := range p.shown {
		cost = max(cost, costIn(l, e, maxHelpers))
	}
	return cost
}

// maxHelpers is the depth to which helpers called by helpers are followed.
const maxHelpers = 4

func costIn(l *Layer, x any, depth int) int {
	cost := costDetail
	ast.WalkRefs(x, func(ref ast.Ref) bool {
		if field, ok := input.Field(ref); ok {
			switch field {
			case "program", "host", "server", "tool", "path", "project_path", "home_path", "executable":
				cost = costTopic
			case "subcommand", "args", "url", "given":
				cost = max(cost, costWord)
			}
		} else if depth > 0 {
			for _, helper := range l.helpers(ref) {
				cost = max(cost, costIn(l, helper.Body, depth-1))
			}
		}
		return cost == costTopic
	})
	return cost
}

func varsOf(p conditionGroup) []ast.Var {
	var vars []ast.Var
	for _, e := range p.exprs {
		ast.WalkVars(e, func(v ast.Var) bool {
			if !v.Equal(ast.InputRootDocument.Value) && !v.Equal(ast.DefaultRootDocument.Value) && !v.IsWildcard() && !slices.Contains(vars, v) {
				vars = append(vars, v)
			}
			return false
		})
	}
	// An operator is a reference whose head is a variable.
	return slices.DeleteFunc(vars, func(v ast.Var) bool { return isOperator(p, v) })
}

func isOperator(p conditionGroup, v ast.Var) bool {
	is := false
	for _, e := range p.exprs {
		eachOperator(e, func(ref ast.Ref) { is = is || ref[0].Value.Compare(v) == 0 })
	}
	return is
}

// eachOperator calls fn with the name of each function that is called.
func eachOperator(x any, fn func(ast.Ref)) {
	ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.Expr:
			if x.IsCall() {
				fn(x.Operator())
			}
		case *ast.Term:
			if call, ok := x.Value.(ast.Call); ok {
				if ref, ok := call[0].Value.(ast.Ref); ok {
					fn(ref)
				}
			}
		}
		return false
	}).Walk(x)
}

func bodyHas(body ast.Body, v ast.Var) bool {
	found := false
	ast.WalkVars(body, func(o ast.Var) bool {
		found = found || o == v
		return found
	})
	return found
}
