package rules

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/input"
)

// numKinds is the number of kinds of effects.
const numKinds = 10

// kindIndex returns a kind's index in effects.Kinds, -1 if it is none.
func kindIndex(kind effects.Kind) int {
	for i, k := range effects.Kinds {
		if k == kind {
			return i
		}
	}
	return -1
}

// probe asks OPA's rule index which rules could fire for each kind of effect,
// with only the kind known: a layer without any need not be evaluated. Then it
// asks with field values that no rule names, which leaves the rules that the
// index can never exclude; too many of them cause a warning.
func probe(l *Layer, schema *input.Schema, ps *diag.List) {
	index := l.index
	for i, kind := range effects.Kinds {
		if index == nil || schema == nil {
			l.mayFire[i] = true
			continue
		}
		candidates, err := index.Lookup(&kindResolver{schema: schema, kind: kind})
		l.mayFire[i] = err != nil || len(candidates.Rules) > 0
		residual, err := index.Lookup(&kindResolver{schema: schema, kind: kind, unmatched: true})
		if err != nil || len(residual.Rules) <= maxResidual {
			continue
		}
		ps.Add(locationPlace(residual.Rules[0].Location), diag.SeverityWarning,
			`begin rules with tests such as input.effect.program == "git" or "--force" in input.effect.flags`,
			"%d rules have to be tried for each effect of kind %s, because nothing in them excludes it at once; this is the first of them",
			len(residual.Rules), kind)
	}
}

// kindResolver is the input with only the kind known.
type kindResolver struct {
	schema    *input.Schema
	kind      effects.Kind
	unmatched bool // give fields of the effect a value that no rule names
}

// Resolve implements ast.ValueResolver. A field that the kind does not have is
// undefined, exactly as in a real input.
func (r *kindResolver) Resolve(ref ast.Ref) (ast.Value, error) {
	field, ok := input.Field(ref)
	if !ok || len(ref) > 3 {
		return nil, ast.UnknownValueErr{}
	}
	if field == "kind" {
		return ast.String(r.kind), nil
	}
	if !r.schema.Has(r.kind, field) {
		return nil, nil
	}
	if node := r.schema.Effect[field]; r.unmatched {
		switch {
		case len(node.Enum) > 0:
		case node.Type == "string":
			return ast.String("\x00"), nil
		case node.Type == "array":
			return ast.NewArray(), nil
		}
	}
	return nil, ast.UnknownValueErr{}
}
