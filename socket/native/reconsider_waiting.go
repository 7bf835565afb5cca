package native

import (
	"context"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
)

// errAskedAnew is the error for a question in whose place another one would be asked now.
var errAskedAnew = socket.Refuse("what is asked about the call has changed since the question; ask again")

// mayDecide reports whether a new decision may answer the question. One that allows must not come from
// a call that others of its request may still change.
func (a *PendingQuestion) mayDecide(d *decisions.Decision) bool {
	switch {
	case d.Verdict != decisions.Allow:
		return true
	case a.Decision.Unsettled || d.Unsettled || d.By == decisions.ByHuman:
		return false
	case a.Request.Call.Before.None():
		return true
	}
	return slices.Equal(d.Fingerprints, a.Decision.Fingerprints)
}

// setReconsideration sets what decides the questions again.
func (l *WaitingQuestions) setReconsideration(r *Reconsideration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = r
}

// clients adds the connections and trees with questions that can be decided again.
func (l *WaitingQuestions) clients(to map[any]uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.list {
		if w.ask.Again != nil {
			to[w.key()] = w.uid
		}
	}
}

// of returns the questions of a client, a connection or a tree, that can be decided again.
func (l *WaitingQuestions) of(key any) (list []*waitingQuestion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.list {
		if w.key() == key && w.ask.Again != nil {
			list = append(list, w)
		}
	}
	return list
}

// reconsider decides a question again. It returns false if its call could not be decided.
func (l *WaitingQuestions) reconsider(ctx context.Context, by Reconsiderer, w *waitingQuestion) (known bool) {
	l.mu.Lock()
	ask, open := w.ask, slices.Contains(l.list, w) && !w.answering && !w.leaving
	l.mu.Unlock()
	if !open {
		return true
	}
	now := ask.current()
	if !SameSession(now, ask.Request) {
		return true // a yes is refused, and nothing else holds for the session of then
	}
	d, err := by.Reconsider(ctx, now, ask.Decision)
	switch {
	case err != nil:
		return false
	case d == nil || !ask.mayDecide(d):
		return true
	}
	// From here on nobody else can answer it.
	l.mu.Lock()
	if !slices.Contains(l.list, w) || w.answering || w.leaving {
		l.mu.Unlock()
		return true
	}
	w.answering, w.renewing = true, true
	l.mu.Unlock()
	if _, err := w.asks.reserve(ask.ID); err != nil {
		l.settle(w, nil, nil)
		return true
	}
	answer, instead, known := w.decideAnew(ctx, by, now, d)
	l.settle(w, answer, instead)
	return known
}

// decideAnew decides the reserved question of w again, for the record. It returns what its client is
// told or the question that is asked instead, nil for neither, and whether the call could be
// decided.
func (w *waitingQuestion) decideAnew(
	ctx context.Context, by Reconsiderer, now *decisions.Request, expected *decisions.Decision,
) (answer *waitResult, instead *PendingQuestion, known bool) {
	ask, d := w.ask, expected
	switch fits := ask.Again(d) != nil; {
	case !fits && d.Verdict != decisions.Ask:
		w.asks.release(ask) // nothing else holds, and nothing is decided
		return nil, nil, true
	case fits:
		// This is what holds. It may be another decision than the expected one.
		if d.Verdict != decisions.Ask {
			now.Recent = 0 // it runs now, and counts among the calls of now
		}
		switch d = by.DecideAgain(ctx, now, ask.Decision); {
		case d == nil || d.By == decisions.ByFailure:
			w.asks.release(ask)
			return nil, nil, false
		case d.Verdict == decisions.Ask && expected.Verdict != decisions.Ask:
			w.asks.release(ask) // as where rules count calls
			return nil, nil, true
		}
	}
	resolve := ask.Again(d)
	if d.Verdict == decisions.Ask {
		if resolve != nil {
			instead = ask.anew(d, resolve)
		}
		if instead == nil || !instead.answeredElsewhere() || !w.asks.replace(ask, instead) {
			w.asks.finish(ask)
			return &waitResult{err: errAskedAnew}, nil, true
		}
		return nil, instead, true
	}
	var picked Resolution
	var err error = errNotOpen
	if resolve != nil && ask.mayDecide(d) && SameSession(ask.current(), ask.Request) {
		picked, err = resolve(Selection{Verdict: d.Verdict})
	}
	if err != nil || picked.Verdict != d.Verdict {
		w.asks.release(ask)
		return nil, nil, true
	}
	if !w.asks.finish(ask) {
		return nil, nil, true // it has ended meanwhile
	}
	picked.stored(Accepted{Remembered: true}) // like a choice, and unlike a person's yes, it decides further calls too
	return &waitResult{
		Answer: string(d.Verdict), DecidedBy: d.By, Decision: d, chooseResult: &chooseResult{Stored: []decisions.StoredChoice{}, Result: picked.Result},
	}, nil, true
}

// settle ends what reconsider has begun, with what the client is told or the question that is asked
// instead, nil for neither.
func (l *WaitingQuestions) settle(w *waitingQuestion, answer *waitResult, instead *PendingQuestion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.answering, w.renewing = false, false
	if instead != nil {
		// It is another one for those who see it, at the end of the list.
		w.ask, w.asked = instead, w.h.Time()
		l.list = append(slices.DeleteFunc(l.list, func(o *waitingQuestion) bool { return o == w }), w)
	}
	if answer == nil && !w.leaving && !l.ended {
		l.changed()
		return
	}
	w.answer <- answer
	l.remove(w)
}
