package acp

import (
	"context"
	"path"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/native"
)

// maxGateProjects bounds the other projects of a connection whose rules apply
// to a gate. With more of them the person is asked.
const maxGateProjects = 16

// An agent names the session for which it wants something done, and one agent
// may have sessions in several projects: by naming another one it could choose
// which rules apply. So a gate is decided by the rules of every project that
// the agent works in, and the strictest answer counts. That includes projects
// of earlier declarations of an open session: an agent that answers session/new
// with an id in use would otherwise drop a project's rules.

// inOtherProjects returns a request for the same gate in each other project of the
// connection's sessions. The operation and its folder stay the same.
func inOtherProjects(r *decisions.Request, named *decisions.Session, all []*decisions.Session) []*decisions.Request {
	var seen, places []*decisions.Session
	if named != nil {
		seen = append(seen, named)
	}
	for _, s := range all {
		places = append(append(places, s), s.Former...)
	}
	var list []*decisions.Request
	for _, s := range places {
		if s.Cwd == "" || slices.ContainsFunc(seen, s.SamePlace) {
			continue
		}
		if len(list) == maxGateProjects {
			r.Call.Defects = addDefect(r.Call.Defects, effects.Defect{
				Code: effects.DefectDropped, At: "sessionId", Text: "the agent works in more projects than are looked at",
			})
			break
		}
		seen = append(seen, s)
		other, gate := *r, *r.Gate
		other.Call.Input = withFolder(r.Call.Input, r.Call.Cwd)
		other.Call.Cwd, other.Call.Roots, other.Session = s.Cwd, s.Roots, s.Ref()
		// In the other project, a missing rule alone is no reason to ask; and
		// an approval applies only under the rules of one project.
		gate.Asks, gate.Approved = false, nil
		other.Gate = &gate
		list = append(list, &other)
	}
	return list
}

// withFolder adds the folder of the named session to the input of a terminal, below
// which it runs.
func withFolder(input strictjson.Value, cwd string) strictjson.Value {
	o, err := strictjson.ParseObject(input)
	if err != nil {
		return input
	}
	if _, ok := o.Get("command"); !ok || cwd == "" {
		return input
	}
	given, _ := o.Get("cwd")
	dir, _ := strictjson.ParseString(given)
	if path.IsAbs(dir) {
		return input
	}
	text, err := encodeText(path.Join(cwd, dir))
	if err != nil {
		return input
	}
	o = slices.DeleteFunc(slices.Clone(o), func(m strictjson.Member) bool { return m.Name == "cwd" })
	out, err := encodeObject(append(o, strictjson.Member{Name: "cwd", Value: text}))
	if err != nil {
		return input
	}
	return out
}

// strictest decides the gate by the rules of the named session's project and of all
// others. If several ask, the question of the named session is used. made is the request
// of the returned decision.
func (g *gate) strictest(ctx context.Context, deps *native.Deps) (d *decisions.Decision, made *decisions.Request, err error) {
	made = &g.request
	// The decisions are compared, and only the one that is answered is recorded.
	several := len(g.otherProjects) > 0
	made.Unrecorded = several
	if d, err = deps.DecideOne(ctx, made); err != nil {
		return nil, nil, err
	}
	for _, other := range g.otherProjects {
		if d.Verdict == decisions.Deny {
			break
		}
		first := d
		other.Gate.Approved = func(o *decisions.Decision) bool { return sameRulesAsk(first, o) }
		other.Unrecorded, other.Recent = true, made.Recent
		o, err := deps.DecideOne(ctx, other)
		if err != nil {
			return nil, nil, err
		}
		if o.Verdict == decisions.Deny || asksPerson(o) && !asksPerson(d) {
			d, made = o, other
		}
	}
	if several {
		if d, err = g.record(ctx, deps, made, d); err != nil {
			return nil, nil, err
		}
	}
	return d, made, nil
}

// record records a decision that was made to be compared.
func (g *gate) record(ctx context.Context, deps *native.Deps, made *decisions.Request, d *decisions.Decision) (*decisions.Decision, error) {
	r, gate := *made, *made.Gate
	r.Unrecorded, r.Decided = false, d
	approved := d.Outcome == decisions.Approved // which has consumed the approval
	gate.Approved = func(*decisions.Decision) bool { return approved }
	r.Gate = &gate
	return deps.DecideOne(ctx, &r)
}

// asksPerson reports whether a person must decide about the gate.
func asksPerson(d *decisions.Decision) bool { return d.Verdict == decisions.Ask && d.Outcome == "" }

// sameRulesAsk reports whether rules ask about the gate in the other project,
// and all of those also ask in the first, where the question was or will be
// answered. A rule in a project's own files is a different one in each.
func sameRulesAsk(first, other *decisions.Decision) bool {
	asks := false
	for i := range other.Effects {
		e := &other.Effects[i]
		if e.Verdict != decisions.Ask {
			continue
		}
		switch e.Row {
		case decisions.RowOrgAsk, decisions.RowFirmAsk, decisions.RowAsk:
			asks = true
			if slices.ContainsFunc(e.Rules, func(r decisions.RuleRef) bool { return !askedBy(first, r) }) {
				return false
			}
		case decisions.RowGuarded:
			asks = true
			if !slices.ContainsFunc(first.Effects, func(f decisions.EffectDecision) bool {
				return f.Verdict == decisions.Ask && f.Row == e.Row && f.Kind == e.Kind && slices.Equal(f.Tags, e.Tags)
			}) {
				return false
			}
		}
	}
	return asks && len(other.Defects) == 0
}

// askedBy reports whether a rule that is the same in all projects asks in a decision.
func askedBy(d *decisions.Decision, r decisions.RuleRef) bool {
	return r.Layer != decisions.Project && slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool {
		return e.Verdict == decisions.Ask && slices.Contains(e.Rules, r)
	})
}
