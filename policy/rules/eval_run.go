package rules

import (
	"cmp"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/evaltime"
	"github.com/permd/permd/policy/input"
)

// preparedLayer is a layer with the input that its rules see.
type preparedLayer struct {
	layer *Layer
	input *ast.Term
}

type layerResult struct {
	fired []decisions.Finding
	err   error
}

// prepare returns the layers in which a rule may fire. failed is the error of a layer
// that is endless, nil if none is.
func (s *Snapshot) prepare(in *decisions.Input, kind int) (layers []preparedLayer, failed, err error) {
	var need input.Parts
	for _, l := range s.layers {
		switch {
		case !l.mayFire[kind]:
		case l.endless():
			failed = cmp.Or(failed, fmt.Errorf("%s layer: %w", l.Name, errEndless))
		default:
			need = need.Union(l.needs)
			layers = append(layers, preparedLayer{layer: l})
		}
	}
	if len(layers) == 0 {
		return nil, failed, nil
	}
	doc, err := recoverPanic(func() *ast.Term { return input.Build(in, need) })
	if err != nil {
		return nil, nil, fmt.Errorf("evaluating rules: %w", err)
	}
	for i := range layers {
		l := &layers[i]
		l.input = doc
		if seen := input.ForLayer(l.layer.Name, in); seen != in {
			if l.input, err = recoverPanic(func() *ast.Term { return input.Build(seen, l.layer.needs) }); err != nil {
				return nil, nil, fmt.Errorf("evaluating rules: %w", err)
			}
		}
	}
	return layers, failed, nil
}

// evaluateLayers hands over the results of the layers, in order.
func evaluateLayers(layers []preparedLayer, q query, to *evaltime.Handover[layerResult]) {
	for _, l := range layers {
		q.input = l.input
		got, err := recoverPanic(func() (r layerResult) {
			r.fired, r.err = l.layer.eval(&q)
			return r
		})
		got.err = cmp.Or(err, got.err)
		if !to.Give(got) {
			l.layer.stuck.Add(-1) // it has ended after all
			return
		}
	}
}
