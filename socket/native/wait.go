package native

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// MethodWait waits until a person answers a question elsewhere.
const MethodWait = "permd/wait"

// Bounds of the waits of one person, of one connection, which reads only so many requests
// before it has answered the first, and of one request.
const (
	maxWaits       = 256
	MaxConnWaits   = 16
	maxWaitSeconds = 3600
)

// WaitingQuestions are the questions whose clients have no person before them, and wait
// until somebody answers over the management socket. They are safe for concurrent use.
type WaitingQuestions struct {
	// OnChange is called after Questions has changed; nil for nothing. It must return at once,
	// and call no method.
	OnChange func()

	mu    sync.Mutex
	list  []*waitingQuestion // the oldest first
	ended bool
	again *Reconsideration // nil for none
}

// waitingQuestion is a question with the request that waits for its answer.
type waitingQuestion struct {
	h     *handler
	asks  *PendingQuestions // of the connection
	of    *waitedQuestion   // set for a question of a harness
	uid   uint32
	until time.Time
	ended <-chan struct{} // closed when the question is removed
	eof   <-chan struct{} // closed when the client has gone
	// answer receives the answer, or nil when the daemon ends. At most one is sent.
	answer chan *waitResult

	// These are guarded by WaitingQuestions.mu. While answering is set, only who has set it
	// changes ask.
	ask       *PendingQuestion
	asked     time.Time
	answering bool // an answer is being stored, or renewing
	renewing  bool // it is being decided again, and listed meanwhile
	leaving   bool // its request ends, as soon as that is done
}

// waitParams are the params of permd/wait.
type waitParams struct {
	DecisionID string           `json:"decisionId"`
	Seconds    strictjson.Value `json:"seconds"`
}

// waitResult is the answer of permd/wait: of a person, as permd/choose would have returned
// it, of rules or choices that decide the call by now, or none.
type waitResult struct {
	// Answer is allow, deny or none.
	Answer string `json:"answer"`
	// DecidedBy is who has decided where no person has answered, and Decision what they have
	// decided.
	DecidedBy decisions.DecidedBy `json:"decidedBy,omitzero"`
	Decision  *decisions.Decision `json:"decision,omitzero"`
	*chooseResult

	err error // of an answer that no longer fits, and ended the question
}

// noAnswer is the result of a wait in which nobody has answered.
var noAnswer = waitResult{Answer: "none"}

// wait handles permd/wait.
func (h *handler) wait(c *socket.Conn, params strictjson.Value) (run, error) {
	var p waitParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	seconds, err := p.limit()
	switch {
	case err != nil:
		return nil, err
	case p.DecisionID == "":
		return nil, socket.Refuse("decisionId is missing")
	case h.Waiting == nil:
		return nil, socket.Refuse("nobody answers questions of this permd elsewhere")
	}
	state := StateOf(c)
	asks := &state.Questions
	if state.waits.Load() >= MaxConnWaits {
		return nil, tooMany(errTooManyWaits)
	}
	var of *waitedQuestion
	if own, ok := state.own.get(p.DecisionID); ok && h.Persistent != nil && !asks.Contains(p.DecisionID) {
		if of, err = h.Persistent.waitFor(asks, own); err != nil {
			return nil, err
		}
	}
	ask, err := asks.watch(p.DecisionID)
	if err != nil {
		return nil, err
	}
	gone := ask.ended
	if !ask.answeredElsewhere() {
		asks.unwatch(gone)
		h.endWaitFor(of, ask, true)
		return nil, socket.Refuse("this question can only be answered where it was asked")
	}
	if state.eof == nil {
		state.eof = make(chan struct{})
		c.OnEOF(func() { close(state.eof) })
	}
	state.waits.Add(1)
	ended := func() { asks.unwatch(gone); state.waits.Add(-1) }
	c.OnRefused(func() { h.endWaitFor(of, ask, true); ended() })
	uid, eof := c.Owner().UID, state.eof
	return func(ctx context.Context) (any, error) {
		defer ended()
		now := h.Time()
		w := &waitingQuestion{
			h: h, asks: asks, of: of, ask: ask, uid: uid, asked: now, until: now.Add(seconds), answer: make(chan *waitResult, 1), ended: gone, eof: eof,
		}
		if err := h.Waiting.add(w); err != nil {
			h.endWaitFor(of, ask, true)
			return nil, err
		}
		// A person takes minutes. Until then this is no request that others wait for.
		fairshare.TurnOf(ctx).End()
		r := h.Waiting.await(ctx, w, seconds)
		last := h.Waiting.questionOf(w)
		again := r == nil && ctx.Err() == nil && !isClosed(eof)
		switch allowed := h.endWaitFor(of, last, again); {
		case allowed && r == nil:
			return nil, errAllowedMeanwhile
		case r != nil && r.err != nil:
			return nil, r.err
		case r != nil:
			return *r, nil
		case ctx.Err() != nil:
			return nil, ctx.Err() // nobody waits for the answer
		case of != nil && last.ID != p.DecisionID:
			return waitResult{Answer: noAnswer.Answer, Decision: last.Decision}, nil
		}
		return noAnswer, nil
	}, nil
}

var errTooManyWaits = fmt.Errorf("at most %d requests of a connection wait for a person; ask the person", MaxConnWaits)

// IDs returns the ids of the open questions, the oldest first.
func (a *PendingQuestions) IDs() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []string
	for _, ask := range a.list {
		if !ask.reserved {
			ids = append(ids, ask.ID)
		}
	}
	return ids
}

// answeredElsewhere reports whether a person can answer the question without its client:
// one that a yes answers, and for which there is something to send for a yes.
func (a *PendingQuestion) answeredElsewhere() bool {
	if a.Decision == nil || !a.Decision.Answerable() || a.Request == nil {
		return false
	}
	_, err := a.Resolve(Selection{Verdict: decisions.Allow})
	return err == nil
}

func (p *waitParams) limit() (time.Duration, error) {
	limit, err := (&chooseParams{ExpiresIn: p.Seconds}).limit()
	if err != nil || limit > maxWaitSeconds*time.Second {
		return 0, socket.Refuse("seconds must be a whole number from 1 to %d", maxWaitSeconds)
	}
	return limit, nil
}

// add adds a question.
func (l *WaitingQuestions) add(w *waitingQuestion) error {
	ask := w.ask
	if err := l.insert(w); err != nil {
		return err
	}
	l.mu.Lock()
	again := l.again
	l.mu.Unlock()
	if again != nil && ask.Again != nil {
		again.begun(w.key(), w.uid, ask.at)
	}
	return nil
}

func (l *WaitingQuestions) insert(w *waitingQuestion) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, o := range l.list {
		if o.uid == w.uid {
			n++
		}
	}
	switch {
	case l.ended:
		return &socket.Error{Code: socket.CodeBusy, Message: "shutting down; ask the person"}
	case n >= maxWaits:
		return &socket.Error{Code: socket.CodeBusy, Message: "too many questions of this person wait; ask the person"}
	}
	l.list = append(l.list, w)
	l.changed()
	return nil
}

func (l *WaitingQuestions) changed() {
	if l.OnChange != nil {
		l.OnChange()
	}
}

// await waits for an answer, and removes the question. It returns nil if there was none in
// time, or the question or its request has ended.
func (l *WaitingQuestions) await(ctx context.Context, w *waitingQuestion, limit time.Duration) *waitResult {
	defer l.leave(w)
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case r := <-w.answer:
		return r
	case <-ctx.Done():
	case <-late.C:
	case <-w.ended:
	case <-w.eof:
	}
	l.mu.Lock()
	w.leaving = true
	answering := w.answering
	if !answering {
		l.remove(w)
	}
	l.mu.Unlock()
	if answering {
		return <-w.answer
	}
	select {
	case r := <-w.answer:
		return r // it has come at the same time
	default:
		return nil
	}
}

// leave tells that a wait is over.
func (l *WaitingQuestions) leave(w *waitingQuestion) {
	l.mu.Lock()
	again := l.again
	waits := slices.ContainsFunc(l.list, func(o *waitingQuestion) bool { return o.asks == w.asks })
	l.mu.Unlock()
	if again != nil && !waits {
		again.ended(w.asks)
	}
}

// remove removes a question. l.mu is held.
func (l *WaitingQuestions) remove(w *waitingQuestion) {
	l.list = slices.DeleteFunc(l.list, func(o *waitingQuestion) bool { return o == w })
	l.changed()
}

// End ends all waits without an answer, and allows no more.
func (l *WaitingQuestions) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, w := range l.list {
		if !w.answering {
			w.answer <- nil
		}
	}
	l.list = slices.DeleteFunc(l.list, func(w *waitingQuestion) bool { return !w.answering })
	l.changed()
}

// Questions returns the questions of a person, of everybody for nil, the oldest first.
func (l *WaitingQuestions) Questions(uid *uint32) []OpenQuestion {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []OpenQuestion
	for _, w := range l.list {
		if w.answering && !w.renewing || uid != nil && *uid != w.uid {
			continue
		}
		c := &w.ask.Request.Call
		list = append(list, OpenQuestion{
			Decision: w.ask.Decision, UID: w.uid, Harness: w.harness(), Session: w.ask.SessionID,
			Tool: c.Tool.Name, Cwd: c.Cwd, Arguments: argumentsOf(w.ask.Request, w.ask.Decision), Asked: w.asked, Until: w.until,
		})
	}
	return list
}

// Answer answers a question as permd/choose would, and hands the result to its client. The
// error is ErrNoQuestion, or one whose text may be shown.
func (l *WaitingQuestions) Answer(ctx context.Context, uid *uint32, a Answer) ([]decisions.StoredChoice, error) {
	l.mu.Lock()
	i := slices.IndexFunc(l.list, func(w *waitingQuestion) bool {
		return w.ask.ID == a.DecisionID && !w.answering && (uid == nil || *uid == w.uid)
	})
	if i < 0 {
		l.mu.Unlock()
		return nil, ErrNoQuestion
	}
	w := l.list[i]
	w.answering = true
	ask := w.ask
	l.mu.Unlock()

	p := chooseParams{DecisionID: a.DecisionID, Verdict: a.Verdict, Width: a.Width, Scope: a.Scope, ExpiresIn: a.ExpiresIn}
	var done *chooseResult
	reserved, err := p.reserve(w.asks, a.Author, true)
	if err == nil {
		done, err = w.h.store(ctx, w.uid, w.asks, reserved, reserved.ask.current())
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	w.answering = false
	switch {
	case err == nil:
		w.answer <- &waitResult{Answer: string(a.Verdict), chooseResult: done}
	case w.asks.Contains(ask.ID) && !w.leaving && !l.ended:
		l.changed()
		return nil, err // it waits on
	case w.asks.Contains(ask.ID):
		w.answer <- nil
	default:
		w.answer <- &waitResult{err: err}
	}
	l.remove(w)
	if err != nil {
		return nil, err
	}
	return done.Stored, nil
}
