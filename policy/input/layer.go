package input

import (
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// ForLayer returns the input as a layer may see it. What a user says about a program
// that neither permd nor org describes is hidden from the rules of org: to them it
// is the run of a program that permd does not know.
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

// withoutOverlay returns the effects of a call without what the user says of
// programs, nil when that is nothing.
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
