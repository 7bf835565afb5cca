package decisions

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
)

// A one-time approval is for a call in the state that the person knew. An earlier call
// that may change anything (make, an unknown program, a server's tool) could change what
// this call does: the same words could then run another script. So the approval counts
// only if no such call precedes it.

// opaque reports whether the call, when it runs, may change things that its effects do
// not show. It returns false only for calls that are known to change nothing, or nothing
// but the files they name.
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

// stateful reports whether what the call does depends on the state of this machine when
// it runs. A tool of a server depends on its arguments alone.
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

// mayAffect reports whether earlier calls of the request may change what an approved
// call does.
func (b *earlierCalls) mayAffect(fsys effects.FS, d *Decision) bool {
	if d.Stateful && b.opaque {
		return true
	}
	return slices.ContainsFunc(d.Contents, func(c Content) bool { return c.Path == "" || mayChange(fsys, &b.before, c.Path) })
}
