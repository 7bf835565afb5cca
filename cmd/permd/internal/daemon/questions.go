package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/internal/processname"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/native"
)

// questions are the questions that are answered elsewhere, in the words of the management
// methods: those of harnesses, whose agents try the call again, and those of clients
// that wait for the answer.
type questions struct{ d *daemon }

// Questions returns the questions that wait.
func (q questions) Questions(uid *uint32) []admin.Question {
	list := []admin.Question{}
	open := append(q.d.engine.Persistent.Questions(uid), q.d.engine.Waiting.Questions(uid)...)
	slices.SortStableFunc(open, func(a, b native.OpenQuestion) int { return a.Asked.Compare(b.Asked) })
	for _, o := range open {
		w := admin.Question{
			DecisionID: o.Decision.ID, UID: o.UID, Harness: o.Harness, Session: o.Session, Tool: o.Tool, Cwd: o.Cwd, Arguments: o.Arguments,
			Asked: o.Asked, Until: o.Until, Reason: reasonOf(&o), Effects: []string{}, Widths: []decisions.Width{},
		}
		w.Widths, w.NotRemembered = append(w.Widths, o.Decision.Widths...), o.Decision.NotRemembered
		w.RejectWidths = rejectWidths(q.d.memory, o.Decision)
		for i := range o.Decision.Effects {
			w.Effects = append(w.Effects, o.Decision.Effects[i].Text)
		}
		list = append(list, w)
	}
	return list
}

// rejectWidths returns what a no to a question can be remembered for.
func rejectWidths(memory *remember.Store, d *decisions.Decision) []decisions.Width {
	if d.Offer == nil || d.Offer.Reject == nil {
		return nil
	}
	return memory.RejectWidths(d.Offer.Reject)
}

// reasonOf returns why a question is asked.
func reasonOf(o *native.OpenQuestion) string {
	if o.Decision.By == decisions.ByLock {
		return "permd was locked when it was asked"
	}
	return o.Decision.Reason
}

// Allow answers a question with yes.
func (q questions) Allow(ctx context.Context, uid *uint32, by author.Identity, a admin.Approval) (admin.Approved, error) {
	var missed atomic.Bool
	by.Process = processname.Of(by.PID)
	done, err := q.allow(context.WithValue(ctx, notLoggedKey{}, &missed), uid, by, a)
	done.NotLogged = missed.Load()
	return done, err
}

func (q questions) allow(ctx context.Context, uid *uint32, by author.Identity, a admin.Approval) (admin.Approved, error) {
	yes := native.Answer{DecisionID: a.DecisionID, Verdict: decisions.Allow, Width: a.Width, Scope: a.Scope, Author: by}
	if a.ExpiresIn != 0 {
		yes.ExpiresIn = strictjson.Value(strconv.FormatInt(a.ExpiresIn, 10))
	}
	switch stored, err := q.d.engine.Waiting.Answer(ctx, uid, yes); {
	case errors.Is(err, native.ErrNoQuestion):
	case err != nil:
		return admin.Approved{}, fmt.Errorf("%w: %w", admin.ErrNotTaken, err)
	default:
		q.confirm(ctx, stored)
		return admin.Approved{Told: true, Stored: stored, Undo: q.d.changesOf(ctx, decisions.StoredNow(stored))}, nil
	}
	if a.Width == "" {
		until, err := q.d.engine.Persistent.AllowOnce(uid, a.DecisionID, func() error {
			// A lock that begins later takes the answer back.
			if err := q.lockChanged(uid, a.DecisionID); err != nil {
				return err
			}
			return q.d.recordAnswer(ctx, a.DecisionID, decisions.Allow, by, nil)
		})
		switch {
		case errors.Is(err, native.ErrNoQuestion):
			return admin.Approved{}, admin.ErrNoQuestion
		case err != nil:
			return admin.Approved{}, fmt.Errorf("%w: %w", admin.ErrNotTaken, err)
		}
		return admin.Approved{Until: until, Stored: []decisions.StoredChoice{}}, nil
	}
	limit, err := remember.Expiry(a.ExpiresIn)
	if err != nil {
		return admin.Approved{}, fmt.Errorf("%w: %w", admin.ErrRefused, err)
	}
	kept, err := q.d.engine.Persistent.AllowAlways(ctx, uid, q.d.engine.Keeper(), decisions.Answer{
		DecisionID: a.DecisionID, Width: a.Width, Scope: a.Scope, For: limit,
	})
	switch {
	case errors.Is(err, native.ErrNoQuestion):
		return admin.Approved{}, admin.ErrNoQuestion
	case errors.Is(err, decisions.ErrNotKept):
		return admin.Approved{}, refused(err)
	case err != nil:
		return admin.Approved{}, err
	}
	if err := q.d.recordAnswer(ctx, a.DecisionID, decisions.Allow, by, kept); err != nil {
		return admin.Approved{}, errors.Join(fmt.Errorf("%w: %w", admin.ErrRefused, err), q.drop(ctx, kept))
	}
	q.confirm(ctx, kept)
	return admin.Approved{Stored: kept, Undo: q.d.changesOf(ctx, decisions.StoredNow(kept))}, nil
}

// The reasons why a yes for once would answer no call.
var (
	errLocked    = errors.New("permd is locked, and this was asked before; run permd unlock, or let the agent try again and answer what asks then")
	errWasLocked = errors.New("permd was locked when this was asked; let the agent try again, and answer what asks then")
)

// lockChanged returns an error if a person has locked permd since the question was asked, or
// unlocked it: the same call asks something else now, which a yes for once does not answer.
func (q questions) lockChanged(uid *uint32, id string) error {
	for _, o := range q.d.engine.Persistent.Questions(uid) {
		if o.Decision.ID != id {
			continue
		}
		p := q.d.pauses.Of(o.UID)
		switch locked := p != nil && p.Locked; {
		case locked && o.Decision.By != decisions.ByLock:
			return errLocked
		case !locked && o.Decision.By == decisions.ByLock:
			return errWasLocked
		}
	}
	return nil
}

// Deny answers a question with no. A harness has told its agent no before, so that its
// question only stops waiting. A yes for once that no call has used is taken back.
func (q questions) Deny(ctx context.Context, uid *uint32, by author.Identity, no admin.Denial) (admin.Denied, error) {
	var missed atomic.Bool
	by.Process = processname.Of(by.PID)
	done, err := q.deny(context.WithValue(ctx, notLoggedKey{}, &missed), uid, by, no)
	done.NotLogged = missed.Load()
	return done, err
}

func (q questions) deny(ctx context.Context, uid *uint32, by author.Identity, no admin.Denial) (admin.Denied, error) {
	id := no.DecisionID
	done := admin.Denied{DecisionID: id}
	answer := native.Answer{DecisionID: id, Verdict: decisions.Deny, Width: no.Width, Scope: no.Scope, Author: by}
	if no.ExpiresIn != 0 {
		answer.ExpiresIn = strictjson.Value(strconv.FormatInt(no.ExpiresIn, 10))
	}
	stored, err := q.d.engine.Waiting.Answer(ctx, uid, answer)
	if errors.Is(err, native.ErrNoQuestion) {
		if no.Width != "" {
			return q.denyAlways(ctx, uid, by, no)
		}
		err = q.d.engine.Persistent.DenyOnce(uid, id, func() error { return q.d.recordAnswer(ctx, id, decisions.Deny, by, nil) })
	}
	switch {
	case errors.Is(err, native.ErrNoQuestion):
		answered := q.d.engine.Persistent.TakeBack(uid, id)
		if len(answered) == 0 {
			return admin.Denied{}, admin.ErrNoQuestion
		}
		q.d.log.Info("a person took back an allow for once", "decision", id)
		q.d.recordTakenBack(ctx, by, answered)
		done.TakenBack = true
	case err != nil:
		return admin.Denied{}, fmt.Errorf("%w: %w", admin.ErrNotTaken, err)
	}
	if len(stored) > 0 {
		done.Stored, done.Undo = stored, q.d.changesOf(ctx, decisions.StoredNow(stored))
	}
	return done, nil
}

// denyAlways answers a question of a harness with no, and remembers that.
func (q questions) denyAlways(ctx context.Context, uid *uint32, by author.Identity, no admin.Denial) (admin.Denied, error) {
	limit, err := remember.Expiry(no.ExpiresIn)
	if err != nil {
		return admin.Denied{}, fmt.Errorf("%w: %w", admin.ErrRefused, err)
	}
	kept, err := q.d.engine.Persistent.DenyAlways(ctx, uid, q.d.engine.Keeper(), decisions.Answer{
		DecisionID: no.DecisionID, Width: no.Width, Scope: no.Scope, For: limit,
	})
	switch {
	case errors.Is(err, native.ErrNoQuestion):
		return admin.Denied{}, admin.ErrNoQuestion
	case errors.Is(err, decisions.ErrNotKept):
		return admin.Denied{}, refused(err)
	case err != nil:
		return admin.Denied{}, err
	}
	// A no counts whether or not it is logged.
	_ = q.d.recordAnswer(ctx, no.DecisionID, decisions.Deny, by, kept)
	return admin.Denied{DecisionID: no.DecisionID, Stored: kept, Undo: q.d.changesOf(ctx, decisions.StoredNow(kept))}, nil
}

// drop revokes choices that were stored for an answer.
func (q questions) drop(ctx context.Context, kept []decisions.StoredChoice) error {
	return q.d.engine.Keeper().Drop(context.WithoutCancel(ctx), decisions.StoredNow(kept)...)
}

// confirm makes choices effective at once: the answer was given by a person, over the
// management socket, and not reported by a client.
func (q questions) confirm(ctx context.Context, kept []decisions.StoredChoice) {
	var ids []string
	for i := range kept {
		if kept[i].Unconfirmed {
			ids = append(ids, kept[i].ID)
		}
	}
	if ids == nil {
		return
	}
	if err := q.d.memory.Confirm(ctx, ids...); err != nil {
		q.d.log.Warn("choices of a person are not confirmed", "error", err)
		return
	}
	for i := range kept {
		kept[i].Unconfirmed = false
	}
}
