package policy

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input"
)

// preparedLayer is a layer with the input that its rules see.
type preparedLayer struct {
	layer *compiledLayer
	input *ast.Term
}

type layerResult struct {
	fired []decisions.Finding
	err   error
}

// prepare returns the layers in which a rule may fire. failed is the error of a layer
// that is endless, nil if none is.
func (s *snapshot) prepare(in *decisions.Input, kind int) (layers []preparedLayer, failed, err error) {
	var need input.Parts
	for _, l := range s.layers {
		switch {
		case !l.mayFire[kind]:
		case l.stuck.Load() > 0:
			failed = cmp.Or(failed, fmt.Errorf("%s layer: %w", l.layer, errEndless))
		default:
			need |= l.needs
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
		if seen := input.ForLayer(l.layer.layer, in); seen != in {
			if l.input, err = recoverPanic(func() *ast.Term { return input.Build(seen, l.layer.needs) }); err != nil {
				return nil, nil, fmt.Errorf("evaluating rules: %w", err)
			}
		}
	}
	return layers, failed, nil
}

// evaluation evaluates layers on a goroutine of its own. Some steps of OPA cannot be
// ended, so whoever waits for it can leave it behind; it uses nothing that others change.
type evaluation struct {
	layers  []preparedLayer
	results chan layerResult // has room for all

	mu        sync.Mutex
	abandoned bool
}

// run sends the results of the layers, in order.
func (e *evaluation) run(q query) {
	for _, l := range e.layers {
		q.input = l.input
		got, err := recoverPanic(func() (r layerResult) {
			r.fired, r.err = l.layer.eval(&q)
			return r
		})
		got.err = cmp.Or(err, got.err)
		if !e.send(got, l.layer) {
			return
		}
	}
}

// send sends the result of a layer, and returns false if nobody waits for it.
func (e *evaluation) send(r layerResult, l *compiledLayer) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.abandoned {
		l.stuck.Add(-1) // it has ended after all
		return false
	}
	e.results <- r
	return true
}

// abandon leaves behind an evaluation that is busy with a layer. If that ends at this
// moment, it returns the result instead.
func (e *evaluation) abandon(l *compiledLayer) (layerResult, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case r := <-e.results:
		return r, true
	default:
	}
	e.abandoned = true
	l.stuck.Add(1)
	return layerResult{}, false
}
