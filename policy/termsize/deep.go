package termsize

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
)

// OPA unifies the members of two collections within the call for the members before, so the
// depth of the stack is the number of values in them, each as often as it occurs. Values
// that hold others twice, those others twice and so on have more than any stack has room
// for, and a stack that overflows ends the process: no recover catches that.
//
// What [check] and compare do at compile time cannot prevent all of it: two values also meet
// where a variable occurs twice in a pattern, as the key of a reference, as an argument or
// a result. So layers in which large values may be unified are evaluated with a tracer,
// which OPA tells of every unification, and which ends the evaluation when the stack has
// become too deep. It makes an evaluation about twice as expensive; most layers need none.

// maxDepth bounds the calls on the stack of an evaluation. A value takes three of them, and
// about a kilobyte: the stack has 64 MiB at most.
const maxDepth = 60_000

// checkEvery is after how many events the depth is looked at. Meanwhile the stack grows by
// a few calls for each.
const checkEvery = 4096

// errDeep ends an evaluation.
var errDeep = errors.New("values that are compared hold others too often")

// Depth says whether the evaluation of a layer needs a tracer.
type Depth bool

// Limit returns the query with a tracer, if it needs one. Its evaluation panics if the stack
// becomes too deep.
func (d Depth) Limit(q *topdown.Query) *topdown.Query {
	if d {
		return q.WithQueryTracer(&Tracer{})
	}
	return q
}

// Tracer ends evaluations whose stack becomes too deep: with a panic, or with the end of
// their goroutine if Exit is set. It is safe for concurrent use.
type Tracer struct {
	Exit     bool
	Exceeded atomic.Bool
	events   atomic.Int64
}

// Enabled implements topdown.QueryTracer.
func (*Tracer) Enabled() bool { return true }

// Config implements topdown.QueryTracer.
func (*Tracer) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent implements topdown.QueryTracer.
func (t *Tracer) TraceEvent(topdown.Event) {
	if t.events.Add(1)%checkEvery != 0 {
		return
	}
	var caller [1]uintptr
	if runtime.Callers(maxDepth, caller[:]) == 0 {
		return
	}
	t.Exceeded.Store(true)
	if t.Exit {
		runtime.Goexit()
	}
	panic(errDeep)
}

// DepthOf returns whether the rules of a compiler may unify two large values. It may say so
// of rules that never do, but not if they are known to build none.
func DepthOf(c *ast.Compiler, mayBuild bool) Depth {
	if !mayBuild {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
		for _, r := range c.Modules[name].Rules {
			for ; r != nil; r = r.Else {
				if !depthOfRule(c, r) {
					return true
				}
			}
		}
	}
	return false
}

// depthOfRule reports whether a rule surely unifies no two large values.
func depthOfRule(c *ast.Compiler, r *ast.Rule) bool {
	// Arguments and keys are unified with those of the caller before the body. Keys may be
	// unbound then.
	head := append(slices.Clone(r.Head.Args), r.Head.Reference...)
	if r.Head.Key != nil && !slices.ContainsFunc(head, func(t *ast.Term) bool { return t == r.Head.Key }) &&
		(len(r.Head.Reference) == 0 || !r.Head.Reference[len(r.Head.Reference)-1].Equal(r.Head.Key)) {
		head = append(head, r.Head.Key)
	}
	free := &unifying{compiler: c, bound: ast.NewVarSet(), scalars: map[ast.Var]bool{}}
	for i, t := range head {
		if i != len(r.Head.Args) && !free.small(t) { // the first of a reference is a name
			return false
		}
	}
	u := &unifying{compiler: c, body: r.Body, bound: ast.NewVarSet(), scalars: map[ast.Var]bool{}}
	for _, t := range head {
		bind(u.bound, t)
	}
	if !u.all() {
		return false
	}
	for _, t := range head {
		if !u.inside(t) {
			return false
		}
	}
	return r.Head.Value == nil || u.inside(r.Head.Value)
}

// unifying looks at the unifications of one body.
type unifying struct {
	compiler *ast.Compiler
	outer    ast.Body // what is evaluated before, of bodies around this one
	body     ast.Body
	bound    ast.VarSet // variables that have a value, or may have
	scalars  map[ast.Var]bool
}

// inner returns the same for a body within this one.
func (u *unifying) inner(b ast.Body) *unifying {
	return &unifying{
		compiler: u.compiler, outer: slices.Concat(u.outer, u.body), body: b,
		bound: maps.Clone(u.bound), scalars: map[ast.Var]bool{},
	}
}

// all reports whether no expression of the body unifies two large values.
func (u *unifying) all() bool {
	for _, e := range u.body {
		if !u.expression(e) {
			return false
		}
	}
	return true
}

func (u *unifying) expression(e *ast.Expr) bool {
	for _, w := range e.With {
		// The input may be larger then than one that was sent.
		if !w.Value.IsGround() && !u.scalar(w.Value) || !u.inside(w.Value) {
			return false
		}
	}
	switch terms := e.Terms.(type) {
	case *ast.Term:
		if !u.inside(terms) {
			return false
		}
		bind(u.bound, terms)
	case *ast.Every:
		b := u.inner(terms.Body)
		for _, t := range []*ast.Term{terms.Key, terms.Value} {
			bind(b.bound, t)
		}
		return u.inside(terms.Domain) && b.all()
	case *ast.Not:
		return u.inner(terms.Body).all()
	case *ast.SomeDecl:
	case []*ast.Term:
		for _, t := range terms {
			if !u.inside(t) {
				return false
			}
		}
		if !u.call(e, terms) {
			return false
		}
		for _, t := range terms[1:] {
			bind(u.bound, t)
		}
	default:
		return false
	}
	return true
}

// call reports whether a call does not unify two large values.
func (u *unifying) call(e *ast.Expr, terms []*ast.Term) bool {
	if e.IsEquality() || e.IsAssignment() {
		return u.equality(terms[1], terms[2])
	}
	ref, ok := terms[0].Value.(ast.Ref)
	if !ok {
		return false
	}
	declared := -1
	if b, ok := ast.BuiltinMap[ref.String()]; ok {
		declared = b.Decl.Arity()
	}
	for _, r := range u.compiler.GetRulesExact(ref) {
		declared = max(declared, len(r.Head.Args))
	}
	if declared < 0 {
		return false
	}
	for _, result := range terms[1+min(declared, len(terms)-1):] {
		if !u.small(result) {
			return false
		}
	}
	return true
}

// equality is call for an equality.
func (u *unifying) equality(a, b *ast.Term) bool {
	x, ok := a.Value.(*ast.Array)
	if y, both := b.Value.(*ast.Array); ok && both {
		if x.Len() != y.Len() {
			return true
		}
		for i := range x.Len() {
			if !u.equality(x.Elem(i), y.Elem(i)) {
				return false
			}
		}
		return true
	}
	before := u.bound
	for _, side := range []*ast.Term{a, b} {
		if u.bound = maps.Clone(before); u.small(side) {
			bind(u.bound, a)
			bind(u.bound, b)
			return true
		}
	}
	return false
}

// inside reports whether the references within a term, and the bodies of comprehensions,
// unify no two large values. Variables in keys have a value afterwards.
func (u *unifying) inside(t *ast.Term) bool {
	if t == nil {
		return true
	}
	ok := true
	comprehension := func(body ast.Body, heads ...*ast.Term) {
		in := u.inner(body)
		ok = ok && in.all()
		for _, h := range heads {
			ok = ok && in.inside(h)
		}
	}
	ast.WalkTerms(t, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Ref:
			for _, key := range v[1:] {
				ok = ok && u.small(key)
			}
		case *ast.ArrayComprehension:
			comprehension(v.Body, v.Term)
			return true
		case *ast.SetComprehension:
			comprehension(v.Body, v.Term)
			return true
		case *ast.ObjectComprehension:
			comprehension(v.Body, v.Key, v.Value)
			return true
		}
		return !ok
	})
	return ok
}

// small reports whether what a term is unified with can only be as large as the term is
// written: all its variables are scalars, or have no value yet, and then occur once. Those
// have a value afterwards.
func (u *unifying) small(t *ast.Term) bool {
	ok := true
	member := func(t *ast.Term) { ok = ok && u.small(t) }
	switch v := t.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String:
	case ast.Var:
		if u.bound.Contains(v) {
			return u.scalar(t)
		}
		u.bound.Add(v)
	case *ast.Array:
		v.Foreach(member)
	case ast.Set:
		v.Foreach(member)
	case ast.Object:
		v.Foreach(func(k, v *ast.Term) { member(k); member(v) })
	case ast.Ref:
		return u.scalar(t)
	default:
		return false
	}
	return ok
}

// scalar reports whether a variable or a reference surely is a scalar.
func (u *unifying) scalar(t *ast.Term) bool {
	if v, ok := t.Value.(ast.Var); ok {
		if known, ok := u.scalars[v]; ok {
			return known
		}
	}
	// The type of a comprehension is that of its head, with the body's variables.
	all := &ast.ArrayComprehension{Term: t, Body: slices.Concat(u.outer, u.body)}
	list, ok := u.compiler.TypeEnv.GetByValue(all).(*types.Array)
	known := ok && isScalar(list.Dynamic())
	if v, ok := t.Value.(ast.Var); ok {
		if u.scalars == nil {
			u.scalars = map[ast.Var]bool{}
		}
		u.scalars[v] = known
	}
	return known
}

func isScalar(t types.Type) bool {
	switch t := t.(type) {
	case types.Null, types.Boolean, types.Number, types.String:
		return true
	case types.Any:
		return len(t) > 0 && !slices.ContainsFunc(t, func(t types.Type) bool { return !isScalar(t) })
	}
	return false
}
