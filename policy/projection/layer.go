package projection

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/input"
)

// Layer is what is understood of the rules of one layer.
type Layer struct {
	needs input.Parts
	// The rules that may fire, by the kind of effect, and for runs by the program
	// where a rule names the programs that it is about.
	byKind    map[effects.Kind][]*rule
	byProgram map[string][]*rule
}

// NewLayer looks into the rules of a layer. needs are all parts of the input that
// its rules refer to.
func NewLayer(c *ast.Compiler, fired []*ast.Rule, needs input.Parts) *Layer {
	l := &Layer{needs: needs, byKind: make(map[effects.Kind][]*rule), byProgram: map[string][]*rule{}}
	t := &translator{compiler: c, rules: map[*ast.Rule]*rule{}, docs: map[string]*document{}}
	for _, ast := range fired {
		l.add(t.rule(ast))
	}
	return l
}

// add sorts a rule in by what its first tests say.
func (l *Layer) add(r *rule) {
	kinds, programs := effects.Kinds, []string(nil)
	for _, s := range r.steps {
		if s.test == nil {
			break // what comes later may not be reached
		}
		switch t := s.test; {
		case t.field.Empty() && t.form == entire:
			kinds = slices.DeleteFunc(slices.Clone(kinds), func(k effects.Kind) bool {
				return !t.passes(input.Value{Type: input.Text, Text: string(k)})
			})
		case t.field.Has(input.PartProgram) && t.form == entire && !t.negated && t.op == equal:
			programs = []string{t.text}
		case t.field.Has(input.PartProgram) && t.form == entire && !t.negated && t.op == oneOf:
			programs = programs[:0:0]
			for name := range t.texts {
				programs = append(programs, name)
			}
		}
	}
	if programs != nil {
		for _, name := range programs {
			l.byProgram[name] = append(l.byProgram[name], r)
		}
		return
	}
	for _, k := range kinds {
		l.byKind[k] = append(l.byKind[k], r)
	}
}

// candidates returns the rules that may fire for an effect.
func (l *Layer) candidates(in *decisions.Input) (general, special []*rule) {
	if in.Effect.Run != nil {
		special = l.byProgram[in.Effect.Run.Program]
	}
	return l.byKind[in.Effect.Kind], special
}
