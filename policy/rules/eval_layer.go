package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/permd/permd/decisions"
)

// maxDirect is the number of candidates up to which they are evaluated one by
// one. Each then costs about 3 µs; the set of fired rules costs about 8 µs, and
// 1 µs more for each candidate.
const maxDirect = 3

// maxDirectDeny is the same where only denies count: the set holds all rules of a layer.
const maxDirectDeny = 8

// query is what is evaluated in each layer.
type query struct {
	input    *ast.Term
	now      time.Time
	cancel   topdown.Cancel
	wholeSet bool // always evaluate the whole set, for tests
	deny     bool // only deny rules count
}

// Resolve gives OPA's index the input, as the evaluator does. A nil value is undefined.
func (q *query) Resolve(ref ast.Ref) (ast.Value, error) {
	if !ref[0].Equal(ast.InputRootDocument) {
		return nil, ast.UnknownValueErr{}
	}
	v, err := q.input.Value.Find(ref[1:])
	if err != nil {
		return nil, nil
	}
	return v, nil
}

// candidate is a rule of the set of fired rules in a form that can be evaluated alone.
type candidate struct {
	number int
	value  *ast.Term // a variable of the body, a ground term, or nil
}

// findCandidates finds the rules that can be evaluated alone.
func (l *Layer) findCandidates() {
	l.candidates = make(map[*ast.Rule]candidate, len(l.rules))
	for _, r := range l.compiler.GetRulesExact(firedRef(l.Name)) {
		if n, ok := asInt(r.Head.Key.Value); ok {
			l.candidates[r] = candidate{number: n}
			continue
		}
		pair, ok := r.Head.Key.Value.(*ast.Array)
		if !ok || pair.Len() != 2 {
			continue
		}
		n, ok := asInt(pair.Elem(0).Value)
		_, isVar := pair.Elem(1).Value.(ast.Var)
		if ok && (isVar || ast.IsConstant(pair.Elem(1).Value)) {
			l.candidates[r] = candidate{number: n, value: pair.Elem(1)}
		}
	}
}

// eval returns the rules of one layer that fire. On an error it may also return
// some: those whose elements could be read.
//
// It consults the rule index first, as the evaluator would: usually no rule is
// left, and setting up the evaluator costs more than the look-up. A few rules
// are evaluated by their bodies alone, more of them as the set they add to.
func (l *Layer) eval(q *query) ([]decisions.Finding, error) {
	rules, ok, err := l.lookup(q)
	if err != nil {
		return nil, err
	}
	v := &firedSet{layer: l}
	switch {
	case ok && len(rules) == 0:
		return nil, nil
	case ok && !q.wholeSet:
		err = l.evalEach(q, rules, v)
	default:
		err = l.evalSet(q, v)
	}
	if err != nil {
		return nil, err
	}
	return v.findings()
}

// lookup asks the rule index which rules may fire; not ok when there is none, or
// one of them can only be evaluated as part of the set.
func (l *Layer) lookup(q *query) (rules []*ast.Rule, ok bool, err error) {
	if l.index == nil {
		return nil, false, nil
	}
	var found *ast.IndexResult
	err, panicked := recoverPanic(func() (err error) {
		found, err = l.index.Lookup(q)
		return err
	})
	if err = cmp.Or(panicked, err); err != nil {
		return nil, false, fmt.Errorf("evaluating rules of %s: %w", l.Name, err)
	}
	defer ast.IndexResultPool.Put(found) // the slice is pooled too
	limit := maxDirect
	if q.deny {
		limit = maxDirectDeny
	}
	if len(found.Rules) > limit && !q.deny {
		return nil, false, nil
	}
	for _, r := range found.Rules {
		c, ok := l.candidates[r]
		if !ok {
			return nil, false, nil
		}
		if q.deny && c.number >= 0 && c.number < len(l.rules) && l.rules[c.number].set != decisions.SetDeny {
			continue
		}
		if rules = append(rules, r); len(rules) > limit {
			return nil, false, nil
		}
	}
	return rules, true, nil
}

func (l *Layer) evalEach(q *query, rules []*ast.Rule, v *firedSet) error {
	for _, r := range rules {
		c := l.candidates[r]
		// Evaluate to the end, not to the first result: a later error counts.
		err := l.run(q, r.Body, func(qr topdown.QueryResult) {
			if c.value == nil {
				v.add(c.number, nil)
				return
			}
			value := c.value
			if name, ok := value.Value.(ast.Var); ok {
				value = qr[name]
			}
			if value == nil || !value.IsGround() {
				v.err = cmp.Or(v.err, fmt.Errorf("%s: the rule's element is not known", l.rules[c.number].ref.At))
				return
			}
			v.add(c.number, value.Value)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Layer) evalSet(q *query, v *firedSet) error {
	var result ast.Value
	err := l.run(q, l.query, func(qr topdown.QueryResult) {
		if t := qr[ast.Var(resultVar)]; t != nil {
			result = t.Value
		}
	})
	if err != nil {
		return err
	}
	set, ok := result.(ast.Set)
	if !ok {
		// The set exists as soon as the layer has one rule.
		return fmt.Errorf("evaluating rules of %s: the result is undefined", l.Name)
	}
	set.Foreach(func(t *ast.Term) {
		number, value := t.Value, ast.Value(nil)
		if pair, ok := t.Value.(*ast.Array); ok && pair.Len() == 2 {
			number, value = pair.Elem(0).Value, pair.Elem(1).Value
		}
		n, ok := asInt(number)
		if !ok || n < 0 || n >= len(l.rules) {
			v.err = cmp.Or(v.err, fmt.Errorf("evaluating rules of %s: an unknown rule fired", l.Name))
			return
		}
		v.add(n, value)
	})
	return nil
}

// run evaluates a compiled body.
func (l *Layer) run(q *query, body ast.Body, each func(topdown.QueryResult)) error {
	tq := l.depth.Limit(topdown.NewQuery(body)).
		WithQueryCompiler(l.queries).
		WithCompiler(l.compiler).
		WithStore(l.store).
		WithTransaction(l.txn).
		WithInput(q.input).
		WithMetrics(metrics.NoOp()).
		WithInterQueryBuiltinValueCache(l.values).
		WithStrictBuiltinErrors(true).
		WithTime(q.now).
		WithCancel(q.cancel)
	err, panicked := recoverPanic(func() error {
		return tq.Iter(context.Background(), func(qr topdown.QueryResult) error {
			each(qr)
			return nil
		})
	})
	switch err = cmp.Or(panicked, err); {
	case topdown.IsCancel(err):
		return fmt.Errorf("%s layer: %w", l.Name, errTimeout)
	case err != nil:
		return fmt.Errorf("evaluating rules of %s: %s", l.Name, strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

// firedSet collects the rules of a layer that fire.
type firedSet struct {
	layer *Layer
	hits  []hit
	err   error // the first element that could not be read
}

// hit is one rule that fired, with the elements it added; nil if they are not known.
type hit struct {
	number int
	value  ast.Value
	elem   *element
}

// add adds a rule that fired. Duplicate values are ignored.
func (v *firedSet) add(n int, value ast.Value) {
	for _, s := range v.hits {
		if s.number == n && (s.value == nil && value == nil || s.value != nil && value != nil && s.value.Compare(value) == 0) {
			return
		}
	}
	r := v.layer.rules[n]
	s := hit{number: n, value: value}
	switch {
	case r.fixed != nil:
		s.elem = r.fixed
	case value != nil:
		e, err := readElement(value, r.set)
		if err != nil {
			v.err = cmp.Or(v.err, fmt.Errorf("%s: the rule %w", r.ref.At, err))
			return
		}
		s.elem = e
	}
	v.hits = append(v.hits, s)
}

// findings returns the rules that fired, those whose reasons say most first.
func (v *firedSet) findings() ([]decisions.Finding, error) {
	slices.SortStableFunc(v.hits, func(a, b hit) int {
		if c := v.layer.compareRules(a.number, b.number); c != 0 || a.value == nil || b.value == nil {
			return c
		}
		return a.value.Compare(b.value)
	})
	out := make([]decisions.Finding, 0, len(v.hits))
	for _, s := range v.hits {
		r := v.layer.rules[s.number]
		e := s.elem
		if e == nil {
			if slices.ContainsFunc(v.hits, func(o hit) bool { return o.number == s.number && o.elem != nil }) {
				continue // its own elements are reported
			}
			e = r.fallbackElement()
		}
		f := decisions.Finding{
			Rule: r.ref, Set: r.set, Reason: e.reason, Message: e.message, General: r.general, Listed: r.inList,
			Remember: e.remember, Covers: e.covers, CoversUnknown: e.coversUnknown,
			CoversOnlyNamed: e.coversOnlyNamed && r.namesCaller,
		}
		// A list entry is several rules and is reported once.
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out, v.err
}

// fallbackElement replaces the element of a deny or ask rule that is undefined
// or invalid: the rule counts, in its strictest form.
func (r *rule) fallbackElement() *element {
	reason := r.ref.Title
	if reason == "" {
		reason = "rule " + r.ref.ID
	}
	e := &element{reason: reason}
	if r.set == decisions.SetAsk {
		no := false
		e.remember = &no
	}
	return e
}

func asInt(v ast.Value) (int, bool) {
	n, ok := v.(ast.Number)
	if !ok {
		return 0, false
	}
	return n.Int()
}

// recoverPanic calls fn and returns a panic as an error: a bug in OPA triggered by
// unusual input must fail one answer, not the daemon.
func recoverPanic[T any](fn func() T) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the policy engine panicked: %v", p)
		}
	}()
	return fn(), nil
}

// numberOf returns the number of the original rule that a rule of the set of
// fired rules was made from.
func numberOf(r *ast.Rule) (int, bool) {
	if r.Head.Key == nil {
		return 0, false
	}
	key := r.Head.Key.Value
	if pair, ok := key.(*ast.Array); ok && pair.Len() == 2 {
		key = pair.Elem(0).Value
	}
	return asInt(key)
}

// helpers returns the rules that a reference names.
func (l *Layer) helpers(ref ast.Ref) []*ast.Rule {
	if !ref[0].Equal(ast.DefaultRootDocument) {
		return nil
	}
	return l.compiler.GetRules(ref.GroundPrefix())
}
