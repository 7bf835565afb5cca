package projection

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/policy/input"
)

// rule is a compiled rule as far as it is understood: the steps of its body, in
// order. What its head reads is the last step.
type rule struct {
	steps []step
}

// step is one expression of a body. One of its members is set.
type step struct {
	test *test
	doc  *document // is true; or, with negated, is false or undefined
	not  []step    // do not all hold
	open *reads    // not understood

	negated bool // of doc
}

// reads is what an expression can read.
type reads struct {
	direct input.Parts
	rules  []*rule // that it may refer to
}

// document is a virtual document whose value is true, false or undefined.
type document struct {
	rules []*rule // for true
}

// translator translates the rules of a compiled layer.
type translator struct {
	compiler *ast.Compiler
	rules    map[*ast.Rule]*rule
	docs     map[string]*document // by reference; nil for other documents
}

func (t *translator) rule(r *ast.Rule) *rule {
	if known := t.rules[r]; known != nil {
		return known
	}
	out := new(rule)
	t.rules[r] = out // rules do not refer to themselves
	if r.Else != nil || r.Default {
		out.steps = []step{{open: t.everything(r)}}
		return out
	}
	s := &scope{translator: t, values: map[ast.Var]operand{}, seen: map[ast.Var]bool{}}
	for _, a := range r.Head.Args {
		s.see(a)
	}
	out.steps = s.body(r.Body)
	if head := s.reads(r.Head); !head.direct.Empty() || len(head.rules) > 0 {
		out.steps = append(out.steps, step{open: head})
	}
	if !t.complete(r, out) {
		out.steps = []step{{open: t.everything(r)}}
	}
	return out
}

// changesInput reports whether part of a rule is evaluated with another input, or
// with other rules.
func changesInput(x any) bool {
	found := false
	ast.WalkExprs(x, func(e *ast.Expr) bool {
		found = found || len(e.With) > 0
		return found
	})
	return found
}

// everything returns what a rule reads that is not looked into.
func (t *translator) everything(r *ast.Rule) *reads {
	out := &reads{}
	for ; r != nil; r = r.Else {
		out.direct = out.direct.Union(input.PartsIn(r))
		if changesInput(r) {
			out.direct = input.AllParts
		}
		for dep := range t.compiler.Graph.Dependencies(r) {
			out.rules = append(out.rules, t.rule(dep.(*ast.Rule)))
		}
	}
	return out
}

// complete reports whether the steps of a rule refer to all rules that the compiler
// says it depends on.
func (t *translator) complete(r *ast.Rule, out *rule) bool {
	found := map[*rule]bool{}
	var collect func(steps []step)
	collect = func(steps []step) {
		for _, s := range steps {
			switch {
			case s.doc != nil:
				for _, r := range s.doc.rules {
					found[r] = true
				}
			case s.open != nil:
				for _, r := range s.open.rules {
					found[r] = true
				}
			case s.not != nil:
				collect(s.not)
			}
		}
	}
	collect(out.steps)
	for dep := range t.compiler.Graph.Dependencies(r) {
		d := dep.(*ast.Rule)
		if known := t.rules[d]; known != nil && found[known] || d.Default || t.constant(d) != nil {
			continue
		}
		return false
	}
	return true
}

// scope is a body that is being translated.
type scope struct {
	*translator
	values map[ast.Var]operand // what variables are, as far as it is understood
	seen   map[ast.Var]bool    // variables that occurred so far
}

func (s *scope) see(x any) {
	ast.WalkVars(x, func(v ast.Var) bool {
		s.seen[v] = true
		return false
	})
}

func (s *scope) body(body ast.Body) []step {
	var steps []step
	for _, e := range body {
		if one, ok := s.expr(e); !ok {
			steps = append(steps, step{open: s.reads(e)})
		} else {
			steps = append(steps, one...)
		}
		s.see(e)
	}
	return steps
}

// expr translates an expression; not ok if it is not understood.
func (s *scope) expr(e *ast.Expr) ([]step, bool) {
	if len(e.With) > 0 {
		return nil, false
	}
	switch terms := e.Terms.(type) {
	case *ast.Not:
		if e.Negated {
			return nil, false
		}
		return s.negation(terms.Body)
	case *ast.Term:
		return s.bare(e, terms)
	case []*ast.Term:
		switch len(terms) {
		case 3:
			return s.call(e)
		case 4:
			return s.join(e)
		}
	}
	return nil, false
}

// negation translates not { body }.
func (s *scope) negation(body ast.Body) ([]step, bool) {
	inner := &scope{translator: s.translator, values: maps.Clone(s.values), seen: maps.Clone(s.seen)}
	steps := inner.body(body)
	if slices.ContainsFunc(steps, func(x step) bool { return x.open != nil }) {
		return nil, false
	}
	if len(steps) == 0 {
		return nil, false
	}
	// The tests that a value is defined are implied by the last one of it.
	if t := steps[len(steps)-1].test; t != nil && !t.negated && !slices.ContainsFunc(steps[:len(steps)-1], func(x step) bool {
		return x.test == nil || x.test.op != defined || x.test.subject != t.subject && x.test.subject != subject{field: t.field}
	}) {
		opposite := *t
		opposite.negated = true
		return []step{{test: &opposite}}, true
	}
	return []step{{not: steps}}, true
}

// bare translates an expression that is a reference or a constant.
func (s *scope) bare(e *ast.Expr, term *ast.Term) ([]step, bool) {
	if term.Equal(ast.BooleanTerm(true)) && !e.Negated {
		return nil, true
	}
	ref, ok := term.Value.(ast.Ref)
	if !ok {
		return nil, false
	}
	if ref[0].Equal(ast.DefaultRootDocument) {
		if d := s.document(ref); d != nil {
			return []step{{doc: d, negated: e.Negated}}, true
		}
		return nil, false
	}
	if o := s.operand(term); o.subject != nil {
		return []step{{test: &test{subject: *o.subject, op: truthy, negated: e.Negated}}}, true
	}
	return nil, false
}

// call translates a call of a builtin with two operands, or with one and its result.
func (s *scope) call(e *ast.Expr) ([]step, bool) {
	operator := e.Operator().String()
	a, b := e.Operand(0), e.Operand(1)
	if operator == "eq" && !e.Negated {
		if name, ok := a.Value.(ast.Var); ok && s.define(name, b) {
			return s.definedness(name), true
		}
		if name, ok := b.Value.(ast.Var); ok && s.define(name, a) {
			return s.definedness(name), true
		}
	}
	left := s.operand(a)
	if operator == "count" {
		if e.Negated || left.subject == nil || left.subject.typ() != input.Words {
			return nil, false
		}
		n := subject{field: left.subject.field, form: count}
		if name, ok := b.Value.(ast.Var); ok && !s.seen[name] {
			s.values[name] = operand{subject: &n}
			return s.definedness(name), true
		}
		left, operator = operand{subject: &n}, "eq"
	}
	t := newTest(operator, left, s.operand(b))
	if t == nil {
		return nil, false
	}
	t.negated = e.Negated
	return []step{{test: t}}, true
}

// define notes what a variable is that occurs for the first time.
func (s *scope) define(name ast.Var, value *ast.Term) bool {
	if s.seen[name] || value.Value.Compare(name) == 0 {
		return false
	}
	o := s.operand(value)
	if isPieces(value) {
		o.subject = &subject{field: argsPart, form: pieces}
	}
	if o.subject == nil && o.constant == nil {
		return false
	}
	s.values[name] = o
	return true
}

// definedness returns the test that a variable has a value.
func (s *scope) definedness(name ast.Var) []step {
	if src := s.values[name].subject; src != nil && src.form != pieces && src.form != joined {
		return []step{{test: &test{subject: *src, op: defined}}}
	}
	return nil
}

// operand returns what a term is, as far as it is understood.
func (s *scope) operand(t *ast.Term) operand {
	switch v := t.Value.(type) {
	case ast.Var:
		return s.values[v]
	case ast.Ref:
		if v[0].Equal(ast.DefaultRootDocument) {
			if !v.IsGround() {
				return operand{}
			}
			rules := s.compiler.GetRulesExact(v)
			if len(rules) == 1 {
				return operand{constant: s.constant(rules[0])}
			}
			return operand{}
		}
		if len(v) == 3 && v[0].Equal(ast.InputRootDocument) && v[1].Equal(effectKey) && v[2].Equal(kindKey) {
			return operand{subject: &subject{}}
		}
		if part, index, ok := input.Exactly(v); ok {
			src := &subject{field: part}
			if index != input.Whole {
				src.form, src.index = word, index
			}
			return operand{subject: src}
		}
		return operand{}
	}
	if ast.IsConstant(t.Value) {
		return operand{constant: t.Value}
	}
	return operand{}
}

var effectKey, kindKey = ast.StringTerm("effect"), ast.StringTerm("kind")

// reads returns what an expression or a head can read: parts of the input that it
// names, those that its variables have the value of, and rules.
func (s *scope) reads(x any) *reads {
	out := &reads{direct: input.PartsIn(x)}
	if changesInput(x) {
		out.direct = input.AllParts
	}
	ast.WalkVars(x, func(v ast.Var) bool {
		if src := s.values[v].subject; src != nil {
			out.direct = out.direct.Union(src.field)
		}
		return false
	})
	ast.WalkRefs(x, func(ref ast.Ref) bool {
		if ref[0].Equal(ast.DefaultRootDocument) {
			for _, r := range s.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true}) {
				if known := s.rule(r); !slices.Contains(out.rules, known) {
					out.rules = append(out.rules, known)
				}
			}
		}
		return false
	})
	return out
}
