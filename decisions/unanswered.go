package decisions

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
)

// A look at the file system may fail without saying anything about the path: the file
// system does not answer, a disk has an error, or the daemon has no descriptors left. No
// conclusion from such a failure may make a call milder, and there are many places that
// look. So what was not answered is noted where all looks of a call pass, and is an
// unknown effect of the call.

// addUnanswered adds an effect for what was not answered, and why, unless there is one, and gives all such
// effects the cause that no rule covers. It reports whether it has added one.
func addUnanswered(r *effects.Result, why string) bool {
	if why == "" {
		return false
	}
	said := func(e effects.Effect) bool { return e.Kind == effects.KindUnknown && e.Why == why }
	if slices.ContainsFunc(r.Effects, said) {
		r.Effects = slices.Clone(r.Effects)
		for i := range r.Effects {
			if e := &r.Effects[i]; said(*e) && e.Cause == "" {
				e.Cause = effects.CauseUnanswered
			}
		}
		return false
	}
	why = display.Display(why)
	r.Effects = append(slices.Clip(r.Effects), effects.Effect{Kind: effects.KindUnknown, Why: why, Text: why, Cause: effects.CauseUnanswered})
	return true
}
