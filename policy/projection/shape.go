package projection

import (
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input"
)

// shape is what rules can still depend on for the effects that are equal in the
// narrow parts of the input.
type shape struct {
	rules []remainder
	size  int // about, in bytes
}

// remainder is a rule that the narrow parts do not decide. If all of its tests hold,
// it depends on nothing else than what it reads; else it does not fire.
type remainder struct {
	tests []*test
	reads input.Parts
}

// maxRemainders is how many rules a shape may leave open. Testing one costs some
// nanoseconds.
const maxRemainders = 256

// maxShapeCost bounds what the evaluator may allocate for all tests of a shape: 16 MiB
// besides what an evaluation allocated whose result is kept (maxBuilt) are within what
// each may. A body that several rules refer to is evaluated up to three times, since a few rules
// are evaluated one by one.
const maxShapeCost = 16 << 20 / 3

// maxBuilt is how much an evaluation may have allocated whose result is kept, in bytes.
// Those of all inputs with the same keys then end without an error, too.
const maxBuilt = 16 << 20

// maxShapeBytes bounds a shape: larger ones would evict many others.
const maxShapeBytes = maxGenerationBytes / 4

// partial decides rules as far as the given parts of an input do.
type partial struct {
	cost  int64 // of the tests that were looked at
	in    *decisions.Input
	given input.Parts
	docs  map[*document]outcome
}

// outcome is the result of a body.
type outcome struct {
	state state
	tests []*test     // must hold besides
	reads input.Parts // parts not given that the rest may depend on
}

type state int

const (
	fails    state = iota // and no error is possible
	succeeds              // if the tests do, and no error is possible
	open
)

// newShape returns what remains to be decided of the rules of some layers; nil if
// that is too much.
func newShape(layers []*Layer, in *decisions.Input, given input.Parts) *shape {
	p := &partial{in: in, given: given, docs: map[*document]outcome{}}
	out := &shape{size: 64}
	for _, l := range layers {
		general, special := l.candidates(in)
		for _, list := range [][]*rule{general, special} {
			for _, r := range list {
				o := p.body(r.steps)
				if o.state == fails || len(o.tests) == 0 && o.reads.Empty() {
					continue
				}
				if len(out.rules) == maxRemainders || out.size > maxShapeBytes {
					return nil
				}
				out.rules = append(out.rules, remainder{tests: o.tests, reads: o.reads})
				out.size += 40 + 8*len(o.tests)
			}
		}
	}
	if p.cost > maxShapeCost {
		return nil
	}
	return out
}

// body decides the steps of a body in their order, as the evaluator does. A step that
// is not understood may fail with an error, so nothing after it says that the body
// fails.
func (p *partial) body(steps []step) outcome {
	out := outcome{state: succeeds}
	for i, s := range steps {
		if s.test != nil {
			p.cost += s.test.cost
		}
		switch {
		case s.test != nil && s.test.field.Difference(p.given).Empty():
			if !s.test.passes(s.test.valueOf(p.in)) {
				return outcome{state: fails}
			}
			continue
		case s.test != nil:
			out.tests = append(out.tests, s.test)
			continue
		case s.doc != nil:
			o := p.document(s.doc)
			if o.state == open {
				break
			}
			if (o.state == succeeds) == s.negated {
				return outcome{state: fails}
			}
			continue
		case s.not != nil:
			o := p.body(s.not)
			if o.state == open || len(o.tests) > 0 {
				break
			}
			if o.state == succeeds {
				return outcome{state: fails}
			}
			continue
		}
		out.state = open
		for _, rest := range steps[i:] {
			out.reads = out.reads.Union(p.step(rest))
		}
		return out
	}
	return out
}

// step returns what a step may depend on that is not given.
func (p *partial) step(s step) input.Parts {
	switch {
	case s.test != nil:
		return s.test.field.Difference(p.given)
	case s.doc != nil:
		return p.document(s.doc).reads
	case s.not != nil:
		return p.anything(p.body(s.not))
	}
	parts := s.open.direct.Difference(p.given)
	for _, r := range s.open.rules {
		parts = parts.Union(p.anything(p.body(r.steps)))
	}
	return parts
}

// anything returns what an outcome depends on, its tests included.
func (p *partial) anything(o outcome) input.Parts {
	parts := o.reads
	for _, t := range o.tests {
		parts = parts.Union(t.field)
	}
	return parts
}

// document decides a document: it succeeds if one of its rules does and no other is
// open, and fails if all fail. Its tests are among what it reads.
func (p *partial) document(d *document) outcome {
	if before, ok := p.docs[d]; ok {
		return before
	}
	var out outcome
	for _, r := range d.rules {
		o := p.body(r.steps)
		reads := p.anything(o)
		if o.state == open || !reads.Empty() {
			out.state = open
		} else if o.state == succeeds && out.state == fails {
			out.state = succeeds
		}
		out.reads = out.reads.Union(reads)
	}
	p.docs[d] = out
	return out
}
