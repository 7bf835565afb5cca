package decisions

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
)

// A yes that holds once was said about a call in the state that the person knew. A
// call before it that may change anything (make, an unknown program, a tool of a
// server) can make another one of it: the same words then run another script. So
// the yes is for a call that nothing of the kind precedes.

// opaque reports whether the call, when it runs, may change what cannot be told
// from its effects. Only what is known to change nothing, or just the files that it
// names, does not.
func opaque(effs []effects.Effect, after *effects.Disturbance) bool {
	return !after.Known() || len(effs) == 0 || slices.ContainsFunc(effs, func(e effects.Effect) bool {
		switch e.Kind {
		case effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindConnect, effects.KindQuestion:
			return false
		case effects.KindRun:
			return e.Run == nil || !e.Run.Readonly
		case effects.KindUse, effects.KindState, effects.KindMode, effects.KindUnknown:
		}
		return true
	})
}

// stateful reports whether what the call does hangs on what is on this machine
// when it runs. A tool of a server gets its arguments and nothing else.
func stateful(effs []effects.Effect) bool {
	return slices.ContainsFunc(effs, func(e effects.Effect) bool {
		switch e.Kind {
		case effects.KindUse, effects.KindConnect, effects.KindQuestion, effects.KindMode:
			return false
		case effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindState, effects.KindUnknown:
		}
		return true
	})
}

// mayAffect reports whether the calls before may make another one of the call
// than a person said yes to.
func (b *earlierCalls) mayAffect(d *Decision) bool {
	if d.Stateful && b.opaque {
		return true
	}
	return slices.ContainsFunc(d.Contents, func(c Content) bool { return c.Path == "" || b.before.Wrote(c.Path) })
}
