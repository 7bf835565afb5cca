package decisions

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
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
	d.Widths, d.Offer = nil, nil
}
