package aap

import (
	"context"
	"errors"
	"maps"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// permissions decides the calls of a stopped turn.
func (h *handler) permissions(c *socket.Conn, params strictjson.Value) (run, error) {
	var p permissionsParams
	t, err := h.readRequest(c, params, &p, &p.SessionID)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		turn := fairshare.TurnOf(ctx)
		w, calls, results, err := p.calls()
		if err != nil {
			return nil, err
		}
		b := newBatch("", t.session, w, calls)
		switch {
		case p.BatchID != "":
			if b, err = t.batch(p.BatchID); err != nil {
				return nil, err
			}
			if !b.sameAs(w, calls) {
				return nil, socket.Refuse("the turn is not that of batchId: leave batchId out for another turn")
			}
		case b.size > maxBatchBytes:
			return nil, socket.Refuse("the calls are larger than %d MiB", maxBatchBytes>>20)
		default:
			b.id = h.NewID()
			if !t.batches.add(b) {
				return nil, &socket.Error{Code: socket.CodeBusy, Message: "this connection uses too much memory; ask the person"}
			}
			turn.Await(ctx, func() { t.batches.supersede(b, results, &t.state.Questions) })
		}
		turn.Await(ctx, b.mu.Lock)
		defer b.mu.Unlock()
		if err := h.update(ctx, t, b); err != nil {
			return nil, err
		}
		if err := h.decide(ctx, t, b); err != nil {
			return nil, err
		}
		return b.result(nil)
	}, nil
}

// readRequest reads the params of a method, whose session is in them, and returns what belongs
// to that.
func (h *handler) readRequest(c *socket.Conn, params strictjson.Value, p any, session *string) (*requestContext, error) {
	if err := socket.ReadParams("params", params, p); err != nil {
		return nil, err
	}
	return h.contextOf(c, *session)
}

// calls reads the turn. results are the ids of the results in it.
func (p *permissionsParams) calls() (w *parties, calls []plannedCall, results map[string]bool, err error) {
	if w, err = p.readParties(); err != nil {
		return nil, nil, nil, err
	}
	has := func(v strictjson.Value) bool { k := strictjson.Kind(v); return k != 0 && k != 'n' }
	if !has(p.Turn) && !has(p.History) {
		return nil, nil, nil, socket.Refuse("turn is missing, or history to resume a session")
	}
	var t *turn
	if has(p.Turn) {
		if t, err = readTurn(p.Turn); err != nil {
			return nil, nil, nil, err
		}
	}
	var history []item
	if has(p.History) {
		if history, err = readHistory(p.History); err != nil {
			return nil, nil, nil, err
		}
	}
	results = resultsOf(history)
	if t != nil {
		maps.Copy(results, resultsOf(t.items))
	}
	calls, err = plan(w, t, history)
	return w, calls, results, err
}

// requestContext is the session of a request and the state of its connection.
type requestContext struct {
	peer    decisions.Peer
	owner   decisions.Owner
	session *decisions.Session
	request string
	state   *native.State
	batches *batches
}

// contextOf finds the session of a request. It is called on the connection's reading
// goroutine.
func (h *handler) contextOf(c *socket.Conn, session string) (*requestContext, error) {
	if session == "" {
		return nil, socket.Refuse("sessionId is missing")
	}
	ses := h.Sessions.Get(c.Owner(), session)
	if ses == nil {
		return nil, socket.Refuse("the session of sessionId is not declared on this connection: say permd/session first")
	}
	return &requestContext{
		peer: c.Peer, owner: c.Owner(), session: ses, request: native.RequestKey(c.RequestID()),
		state: native.StateOf(c), batches: batchesOf(c),
	}, nil
}

func (t *requestContext) batch(id string) (*batch, error) {
	if b := t.batches.find(id, t.session); b != nil {
		return b, nil
	}
	return nil, socket.Refuse("no batch of that batchId is known on this connection: say aap/permissions without it")
}

// decide decides the calls of a batch, all at once. The batch's lock is held.
func (h *handler) decide(ctx context.Context, t *requestContext, b *batch) error {
	if !b.needsDecision() {
		return nil
	}
	reqs, decided, of, err := h.decideOrdered(ctx, t, b)
	if err != nil {
		return err
	}
	if ctx.Err() != nil && (errors.Is(context.Cause(ctx), socket.ErrWithdrawn) || of[0].outcome != "") {
		// A call that was decided before keeps its outcome, and nothing is released: an
		// approval must not be lost because the client did not wait.
		return ctx.Err()
	}
	for i, d := range decided {
		e := of[i]
		if e.decision != nil {
			t.state.Questions.Remove(e.decision.ID) // the question is asked again
		}
		b.decideEntry(e, d)
		b.digest = d.Policy.Digest
		if e.approvedOnce != nil && d.Verdict == decisions.Ask && h.RecordAnswer != nil {
			// As the person answered before.
			if h.RecordAnswer(ctx, d.ID, decisions.Allow, e.approvedBy, nil) != nil {
				e.approvedOnce = nil
				b.decideEntry(e, d) // the yes does not count
			}
		}
		b.applyElsewhere(e, &t.state.Questions) // one that came since update
		if e.outcome == Ask {
			h.applyLate(ctx, t, b, e, d, reqs[i])
		}
		if e.outcome == Ask {
			t.state.Questions.Add(h.pendingQuestion(t, e, d, reqs[i]))
		}
		if e.outcome != Denied && e.side == client {
			t.state.Shells.Record(t.session.ID, d)
		}
	}
	b.noteAffected()
	t.batches.updateSize(b)
	return nil
}
