// Package termsize bounds how large the values are that the expressions of a rule write out.
//
// OPA binds a variable to a value as it is written, with the variables in it, and copies all
// of it when the value is used. So the expressions
//
//	s1 := [s0, s0]
//	s2 := [s1, s1]
//
// and so on to s34 copy s0 some 17 thousand million times, in one step, which nothing can end.
// The size of what is written out this way can be told from the rules alone, before they are
// used: a call of a builtin, a rule and a comprehension return finished values, which are not
// copied. A function does not.
package termsize

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxSize is the maximum size of a value that an expression writes out: the value and all in it,
// each as often as it occurs. What is written in the expression itself does not count.
const maxSize = 4096

// maxWork bounds the expressions of functions that are looked at again for each call with
// operands of other sizes.
const maxWork = 200_000

// Checked returns the compiler with what this package does with rules.
func Checked(c *ast.Compiler) *ast.Compiler {
	return c.
		WithStageAfterID(ast.StageRewriteEquals, ast.CompilerStageDefinition{
			Name: "PermdCompare", MetricName: "permd_compare", Stage: compare,
		}).
		// Here bodies are in the order in which they are evaluated, and nothing is recursive.
		WithStageAfterID(ast.StageCheckRecursion, ast.CompilerStageDefinition{
			Name: "PermdTermSize", MetricName: "permd_term_size", Stage: check,
		})
}

// check returns an error for the first rule that writes out too large a value.
func check(c *ast.Compiler) *ast.Error {
	k := &checker{compiler: c, returned: map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
		for _, r := range c.Modules[name].Rules {
			args := make([]int, len(r.Head.Args))
			for i := range args {
				args[i] = 1
			}
			if k.rule(r, args); k.err != nil {
				return k.err
			}
		}
	}
	return nil
}

type checker struct {
	compiler *ast.Compiler
	returned map[string]int // what functions return, by name and the sizes of the operands
	calls    int            // of functions around what is looked at
	work     int
	err      *ast.Error
}

// scope has the sizes of the variables that are bound so far.
type scope map[ast.Var]int

// rule checks a rule, and returns the size of its value; args are the sizes of its arguments.
func (k *checker) rule(r *ast.Rule, args []int) int {
	largest := 1
	for ; r != nil && k.err == nil; r = r.Else {
		s := scope{}
		for i, a := range r.Head.Args {
			s.bind(a, args[i])
		}
		k.body(r.Body, s)
		for _, t := range append([]*ast.Term{r.Head.Key, r.Head.Value}, r.Head.Reference...) {
			if t != nil {
				largest = max(largest, k.term(t, s, r.Location))
			}
		}
	}
	return largest
}

// function returns the size of what a function returns.
func (k *checker) function(ref ast.Ref, args []int) int {
	key := fmt.Sprint(ref, args)
	if n, ok := k.returned[key]; ok {
		return n
	}
	largest := 1
	k.calls++
	defer func() { k.calls-- }()
	for _, r := range k.compiler.GetRulesExact(ref) {
		if len(r.Head.Args) > 0 && len(r.Head.Args) <= len(args) {
			largest = max(largest, k.rule(r, args))
		}
	}
	k.returned[key] = largest
	return largest
}

// body checks the expressions of a body in the order in which they are evaluated.
func (k *checker) body(b ast.Body, s scope) {
	for _, e := range b {
		if k.calls > 0 {
			k.work++
		}
		if k.work > maxWork && k.err == nil {
			k.fail(e.Location, "too many calls of functions with operands of different sizes")
		}
		if k.err != nil {
			return
		}
		for _, w := range e.With {
			k.term(w.Value, s, e.Location)
		}
		switch terms := e.Terms.(type) {
		case *ast.Term:
			k.term(terms, s, e.Location)
		case *ast.Every:
			inner := s.copy()
			size := k.term(terms.Domain, s, e.Location)
			for _, t := range []*ast.Term{terms.Key, terms.Value} {
				if t != nil {
					inner.bind(t, size)
				}
			}
			k.body(terms.Body, inner)
		case *ast.Not:
			k.body(terms.Body, s.copy())
		case *ast.LogicalAnd:
			k.body(terms.Lhs, s)
			k.body(terms.Rhs, s)
		case *ast.LogicalOr:
			k.body(terms.Lhs, s.copy())
			k.body(terms.Rhs, s.copy())
		case *ast.SomeDecl:
		case []*ast.Term:
			k.call(terms, s, e.Location)
		}
	}
}

// call checks a call, and binds what it binds: the variables of an equality, or the result.
func (k *checker) call(terms []*ast.Term, s scope, at *ast.Location) {
	sizes := make([]int, 0, len(terms)-1)
	for _, t := range terms[1:] {
		sizes = append(sizes, k.term(t, s, at))
	}
	ref, ok := terms[0].Value.(ast.Ref)
	switch {
	case !ok:
	case ref.Equal(ast.Equality.Ref()) || ref.Equal(ast.Assign.Ref()):
		if len(terms) == 3 {
			k.unify(terms[1], terms[2], s, at)
		}
	case ref[0].Equal(ast.DefaultRootDocument):
		n := 0
		for _, r := range k.compiler.GetRulesExact(ref) {
			n = max(n, len(r.Head.Args))
		}
		n = min(n, len(sizes))
		result := k.function(ref, sizes[:n])
		for _, t := range terms[1+n:] {
			s.bind(t, result)
		}
	default: // a builtin: its result is finished
		for _, t := range terms[1:] {
			s.bind(t, 1)
		}
	}
}

// unify binds the variables of two terms that are not bound yet.
func (k *checker) unify(a, b *ast.Term, s scope, at *ast.Location) {
	if x, ok := a.Value.(*ast.Array); ok {
		if y, ok := b.Value.(*ast.Array); ok && x.Len() == y.Len() {
			for i := range x.Len() {
				k.unify(x.Elem(i), y.Elem(i), s, at)
			}
			return
		}
	}
	sizeA, sizeB := k.term(a, s, at), k.term(b, s, at)
	s.bind(a, sizeB)
	s.bind(b, sizeA)
}

// bind gives the variables of a term a size, if they have none.
func (s scope) bind(t *ast.Term, size int) {
	ast.WalkVars(t, func(v ast.Var) bool {
		if _, ok := s[v]; !ok {
			s[v] = size
		}
		return false
	})
}

func (s scope) copy() scope {
	c := make(scope, len(s)+4)
	for v, n := range s {
		c[v] = n
	}
	return c
}

// term returns the size of a term, written out, and checks the comprehensions in it.
func (k *checker) term(t *ast.Term, s scope, at *ast.Location) int {
	if k.err != nil {
		return 1
	}
	size, written := 1, 0
	add := func(t *ast.Term) {
		if _, isVar := t.Value.(ast.Var); !isVar {
			written++
		}
		size = min(size+k.term(t, s, at), 1<<20)
	}
	switch v := t.Value.(type) {
	case ast.Var:
		size = max(s[v], 1)
	case *ast.Array:
		if !t.IsGround() {
			v.Foreach(add)
		}
	case ast.Set:
		if !t.IsGround() {
			v.Foreach(add)
		}
	case ast.Object:
		if !t.IsGround() {
			v.Foreach(func(key, value *ast.Term) { add(key); add(value) })
		}
	case ast.Ref:
		for _, t := range v {
			add(t)
		}
	case ast.Call:
		for _, t := range v[1:] {
			add(t)
		}
	case *ast.ArrayComprehension:
		k.comprehension(v.Body, s, at, v.Term)
	case *ast.SetComprehension:
		k.comprehension(v.Body, s, at, v.Term)
	case *ast.ObjectComprehension:
		k.comprehension(v.Body, s, at, v.Key, v.Value)
	}
	if size-written > maxSize && k.err == nil {
		text := t.String()
		if len(text) > 80 {
			text = strings.ToValidUTF8(text[:80], "") + "…"
		}
		k.fail(at, fmt.Sprintf("a value that holds others too often: written out, %s has more than %d values", text, maxSize))
	}
	return size
}

// comprehension checks a comprehension; its value is finished.
func (k *checker) comprehension(b ast.Body, s scope, at *ast.Location, heads ...*ast.Term) {
	inner := s.copy()
	k.body(b, inner)
	for _, t := range heads {
		k.term(t, inner, at)
	}
}

func (k *checker) fail(at *ast.Location, text string) {
	k.err = ast.NewError(ast.CompileErr, at, "%s", text)
}
