package decisions

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/targets"
)

// Answerable reports whether a person may answer the question outside of the
// harness that asked: something that broke, a question of the agent's and a
// switch of its mode are no such question, and what hides its text cannot be shown
// to them.
func (d *Decision) Answerable() bool {
	return d.Verdict == Ask && d.By != ByFailure && !slices.ContainsFunc(d.Effects, func(e EffectDecision) bool {
		return e.Kind == effects.KindQuestion || e.Kind == effects.KindMode
	}) && !slices.ContainsFunc(d.Defects, func(f effects.Defect) bool { return f.Code == effects.DefectCharacters })
}

// applyApproval allows a call that a person was asked about before, and said yes to.
func (e *Engine) applyApproval(req *Request, d *Decision) {
	if e.takeApproval == nil || req.Ran != "" || !d.Answerable() || !e.takeApproval(req, d) {
		return
	}
	d.Verdict, d.By, d.Needed, d.Message = Allow, ByHuman, NotNeeded, ""
	d.Reason = "a person allowed this call, once"
	d.Widths, d.Offer, d.NotRemembered = nil, nil, ""
}

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
	return slices.ContainsFunc(d.Contents, func(c Content) bool { return c.Path == "" || targets.MayChange(fsys, &b.before, c.Path) })
}
