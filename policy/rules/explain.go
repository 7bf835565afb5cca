package rules

import (
	"cmp"
	"context"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input"
)

// Explainer is a snapshot that can say which rules almost fired.
type Explainer interface {
	// Nearest returns the rules of a set that did not fire for an effect and
	// came closest to it, at most maxNear, nearest first. It evaluates rules
	// condition by condition and is meant for a waiting person, not for the
	// request path. more is set if the search stopped early.
	Nearest(ctx context.Context, in *decisions.Input, set decisions.Set, fired []decisions.Finding) (near []Near, more bool)
}

// Near is a rule that almost fired.
type Near struct {
	Rule   decisions.RuleRef `json:"rule"`
	Set    decisions.Set     `json:"set"`
	Reason string            `json:"reason,omitzero"` // "" when it is only known when the rule fires
	// Held is the number of its conditions that hold, not counting the kind.
	Held int `json:"held"`
	// Failed are the conditions that do not hold, and those that could not be
	// tried because they depend on one that does not. There is at least one.
	Failed []Condition `json:"failed"`

	cost int
}

// Condition is one part of a rule that does not hold.
type Condition struct {
	// Text is the condition as written, or for a list entry a description of
	// the difference.
	Text string `json:"text"`
	At   string `json:"at,omitzero"` // file:line, of a Rego rule
	// Is is the value that the effect has there, secrets masked; "" if that
	// adds nothing.
	Is string `json:"is,omitzero"`
	// Untried is set if it depends on a condition that does not hold, or reads
	// something no longer known.
	Untried bool `json:"untried,omitzero"`
}

// Bounds of the search.
const (
	// maxNear is the number of rules Nearest returns for an effect and a set.
	maxNear = 2
	// maxTried bounds the evaluations of one call of Nearest: each takes some
	// microseconds.
	maxTried = 20_000
	// maxCost is the greatest total cost of a rule that is shown: one failed
	// condition about the rule's topic, or a few others.
	maxCost = 3
)

// Costs of a condition that does not hold.
const (
	costDetail = 1 // an option, a tag, how the program runs
	costWord   = 2 // another word, path, host or tool with the same beginning
	costTopic  = 3 // the rule is about something else
)

var _ Explainer = (*Snapshot)(nil)

// Nearest implements Explainer.
func (s *Snapshot) Nearest(
	ctx context.Context, in *decisions.Input, set decisions.Set, fired []decisions.Finding,
) (near []Near, more bool) {
	return s.nearestWithin(ctx, in, set, fired, maxTried)
}

func (s *Snapshot) nearestWithin(
	ctx context.Context, in *decisions.Input, set decisions.Set, fired []decisions.Finding, limit int,
) (near []Near, more bool) {
	_, err := recoverPanic(func() bool {
		t := &nearSearch{snapshot: s, in: in, ctx: ctx, left: limit}
		for _, l := range s.layers {
			firedAt := map[string]bool{}
			for _, f := range fired {
				if f.Rule.Layer == l.Name && f.Set == set {
					firedAt[f.Rule.At] = true
				}
			}
			seen := input.ForLayer(l.Name, in)
			near = append(near, nearEntries(l, seen, set)...)
			if seen == in {
				near = append(near, t.nearRules(l, set, firedAt)...)
				continue
			}
			own := &nearSearch{snapshot: s, in: seen, ctx: ctx, left: t.left}
			near = append(near, own.nearRules(l, set, firedAt)...)
			t.left = own.left
		}
		more = t.left <= 0 || ctx.Err() != nil
		return true
	})
	if err != nil {
		more = true // what was found so far is still valid
	}
	return nearest(near), more
}

// nearest returns the best of some rules. Rules much farther away than the best
// are not informative.
func nearest(near []Near) []Near {
	near = slices.DeleteFunc(near, func(n Near) bool {
		if n.Set != decisions.SetAllow {
			// It is no news that a deny of something else did not fire.
			return n.cost > costDetail
		}
		return n.cost > maxCost || n.Held == 0 && n.cost >= costTopic
	})
	slices.SortStableFunc(near, func(a, b Near) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost),
			cmp.Compare(slices.Index(decisions.Layers, a.Rule.Layer), slices.Index(decisions.Layers, b.Rule.Layer)),
			cmp.Compare(b.Held, a.Held))
	})
	var out []Near
	for _, n := range near {
		if len(out) == maxNear || n.cost > near[0].cost+1 {
			break
		}
		// Several rules of one entry, or with one id, have the same text.
		if !slices.ContainsFunc(out, func(o Near) bool { return o.Rule == n.Rule && o.Reason == n.Reason }) {
			out = append(out, n)
		}
	}
	return out
}
