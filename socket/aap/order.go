package aap

import (
	"context"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
)

// The calls of a turn wait together, and a client may run its own concurrently. Rules
// decide each call as if the ones before it had run: later calls see a link that an
// earlier one creates. So if one of the client's calls changes something, all of them
// are also decided in reverse order, and the stricter answer counts: then each was
// decided with every other one before it.

// decideOrdered decides requests in the given order, and the client's in every order
// that could give another result. It returns the decisions with their requests and entries.
// All use the same rules, and the journal has them alone: what was decided in the order
// that does not count is not recorded.
func (h *handler) decideOrdered(ctx context.Context, t *requestContext, b *batch) ([]*decisions.Request, []*decisions.Decision, []*entry, error) {
	const tries = 3
	for range tries {
		reqs, of := h.requests(t, b)
		several := severalOfClient(of)
		for _, r := range reqs {
			r.Unrecorded = several
		}
		decided, err := h.Decide(ctx, reqs...)
		if err != nil || !several {
			return reqs, decided, of, err
		}
		same := true
		if mine := concurrentCalls(of, decided); mine != nil {
			slices.Reverse(mine)
			again, _ := h.requests(t, b)
			var back []*decisions.Request
			for _, i := range mine {
				again[i].Unrecorded = true
				back = append(back, again[i])
			}
			backwards, err := h.Decide(ctx, back...)
			if err != nil {
				return nil, nil, nil, err
			}
			for n, i := range mine {
				same = same && backwards[n].Policy == decided[i].Policy
				if decisions.Stricter(decided[i].Verdict, backwards[n].Verdict) != decided[i].Verdict {
					reqs[i], decided[i] = back[n], backwards[n]
				}
			}
		}
		if !same {
			continue
		}
		for i, r := range reqs {
			r.Unrecorded, r.Decided = false, decided[i]
		}
		recorded, err := h.Decide(ctx, reqs...)
		if err != nil {
			return nil, nil, nil, err
		}
		for i, r := range reqs {
			same = same && recorded[i].Policy == decided[i].Policy
			r.Decided = nil
		}
		if same {
			return reqs, recorded, of, nil
		}
	}
	return nil, nil, nil, &socket.Error{Code: socket.CodeBusy, Message: "the rules changed while the calls were decided; ask again"}
}

// requests returns the requests for the calls that rules must decide, and the side that
// runs each.
func (h *handler) requests(t *requestContext, b *batch) ([]*decisions.Request, []*entry) {
	reqs, of := b.requests()
	user := h.Users(t.peer.UID)
	live := h.ShellStaysAlive(t.session.Client)
	for i, r := range reqs {
		r.Peer, r.Call.User = t.peer, user
		if live && of[i].side == client {
			t.state.Shells.ApplyTo(t.session.ID, &r.Call)
		}
	}
	return reqs, of
}

// severalOfClient reports whether the client may run several calls.
func severalOfClient(of []*entry) bool {
	n := 0
	for _, e := range of {
		if e.side == client {
			n++
		}
	}
	return n > 1
}

// concurrentCalls returns which calls the client may run concurrently, if that can
// change a decision: nil if there is only one, or none that affects the others.
func concurrentCalls(of []*entry, decided []*decisions.Decision) (mine []int) {
	changed := false
	for i, e := range of {
		if e.side != client || decided[i].Verdict == decisions.Deny {
			continue
		}
		mine = append(mine, i)
		changed = changed || decided[i].Shell != nil || slices.ContainsFunc(decided[i].Effects, func(x decisions.EffectDecision) bool {
			return changes(x.Kind)
		})
	}
	if len(mine) < 2 || !changed {
		return nil
	}
	return mine
}

// changes reports whether an effect of that kind may affect another call.
func changes(k effects.Kind) bool {
	switch k {
	case effects.KindWrite, effects.KindDelete, effects.KindState, effects.KindUnknown:
		return true
	case effects.KindRun, effects.KindRead, effects.KindConnect, effects.KindUse, effects.KindMode, effects.KindQuestion:
	}
	return false
}
