package input

import (
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// ForLayer returns the input as a layer may see it. A user's description of a
// program that neither permd nor org describes is hidden from the rules of org:
// to them the program is unknown.
func ForLayer(layer decisions.Layer, in *decisions.Input) *decisions.Input {
	if layer != decisions.Org {
		return in
	}
	all := sharedOf(in).withoutOverlay(in.All)
	if all == nil {
		return in
	}
	seen := *in
	seen.All = all
	if i := slices.IndexFunc(in.All, func(e effects.Effect) bool { return e.Run != nil && e.Run == in.Effect.Run }); i >= 0 {
		seen.Effect = &all[i]
	}
	return &seen
}

// withoutOverlay returns the effects of a call without the user's program
// descriptions, nil if there are none.
func (t *shared) withoutOverlay(all []effects.Effect) []effects.Effect {
	if t.stripped {
		return t.plain
	}
	t.stripped = true
	for i := range all {
		r := all[i].Run
		if r == nil || r.WithoutOverlay == nil {
			continue
		}
		if t.plain == nil {
			t.plain = slices.Clone(all)
		}
		t.plain[i].Run = r.WithoutOverlay
	}
	return t.plain
}
