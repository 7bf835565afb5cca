package tools

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// announced returns the effects of the call that c was said to be before a message named
// another tool, and the modes that it would enter. They can only deny: which of the two would
// run is not known.
func (w *World) announced(harness *profile, c *effects.Call) (list []effects.Effect, enters []string) {
	other := *c
	other.Announced, other.Declared, other.InputFrom, other.Incomplete = nil, nil, "", ""
	other.Tool, other.Input, other.Claims = c.Announced.Tool, c.Announced.Input, c.Announced.Claims
	r := w.by(harness, &other, paths.NewResolver(w.environment(), &other))
	list = slices.Concat(r.Effects, r.Hints, r.Rest)
	list = slices.DeleteFunc(list, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
	for i := range list {
		// The numbers of effects are those of the other call.
		e := &list[i]
		e.Hint, e.Via, e.NameOf, e.StandsFor = true, nil, 0, 0
	}
	return list, r.Enters
}
