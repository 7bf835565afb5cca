package proxy

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/native"
)

// perform performs one action.
func (l *link) perform(ctx context.Context, a action) {
	if l.conn == nil && (a.Kind != actAsk || l.restoring || !l.connect(ctx)) {
		if a.Kind == actAsk {
			l.p.answer(a.N, nil, l.unavailable())
		}
		return
	}
	switch a.Kind {
	case actAsk:
		l.ask(ctx, a)
	case actNotify:
		l.notify(ctx, a)
	case actWithdraw:
		if id, ok := l.ids[a.N]; ok {
			delete(l.ids, a.N)
			a.Method, a.Params = methodCancelRequest, strictjson.Value(`{"requestId":`+strconv.FormatUint(id, 10)+`}`)
			l.notify(ctx, a)
		}
	case actWrite, actReserve, actFill, actWake, actPrint: // not sent to permd
	}
}

func (l *link) notify(ctx context.Context, a action) {
	if _, err := l.post(l.deadline(), a, nil); err != nil {
		l.onNotSent(ctx, err)
	}
}

// onNotSent handles a message that could not be written, and reports whether there is
// another connection.
func (l *link) onNotSent(ctx context.Context, err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		l.timedOut.Store(true)
		l.onTooSlow()
		return false
	}
	return l.onBroken(ctx)
}

// post writes a message to permd. It waits no longer than the questions before it may.
func (l *link) post(until time.Time, a action, done func(strictjson.Value, error)) (uint64, error) {
	for len(l.open) > 0 && l.open[0].over.Load() {
		l.open = l.open[1:]
	}
	if len(l.open) > 0 {
		until = l.open[0].deadline
	}
	return l.conn.Post(until, a.Method, a.Params, done)
}

func (l *link) deadline() time.Time { return time.Now().Add(l.p.cfg.timeout()) }

// openQuestion is a call of permd.
type openQuestion struct {
	deadline time.Time
	over     atomic.Bool
}

// ask calls permd. The answer to a call that need not be waited for goes to the
// conversation on the goroutine that reads permd's answers.
func (l *link) ask(ctx context.Context, a action) {
	q := &openQuestion{deadline: l.deadline()}
	slow := l.timedOut
	var answer chan reply
	if a.Wait {
		answer = make(chan reply, 1)
	}
	id, err := l.post(q.deadline, a, func(result strictjson.Value, err error) {
		q.over.Store(true)
		if _, answered := errors.AsType[*client.Error](err); err == nil || answered {
			l.answeredOnce.Store(true)
		} else if slow.Load() || ctx.Err() != nil {
			err = errSlow // permd may well be there
		}
		if a.Wait {
			answer <- reply{result, err}
			return
		}
		l.p.answer(a.N, result, err)
	})
	if err != nil {
		if l.onNotSent(ctx, err) && !a.Wait && l.conn != nil {
			// A new permd was just told about all sessions, but not about calls, so it asks
			// in cases where the old one might have decided.
			l.ask(ctx, a)
			return
		}
		l.p.answer(a.N, nil, l.unavailable())
		return
	}
	l.watch(q)
	if !a.Wait {
		if len(l.ids) > maxActs {
			clear(l.ids)
		}
		l.ids[a.N] = id
		return
	}
	for {
		select {
		case r := <-answer:
			if r.err == nil && a.Method == native.MethodSession {
				r.err = l.checkVersion(r.result)
			}
			l.p.answer(a.N, r.result, r.err)
			return
		case <-l.timer.C:
			l.checkLate()
		case <-ctx.Done():
			l.hangUp() // which answers it
		}
	}
}

type reply struct {
	result strictjson.Value
	err    error
}

// watch makes sure that a question is answered in time. Questions are answered about in
// their order, so it needs one timer, which is set while any question is open.
func (l *link) watch(q *openQuestion) {
	l.open = append(l.open, q)
	if !l.timerSet {
		l.timerSet = true
		l.timer.Reset(time.Until(l.open[0].deadline))
	}
}

// checkLate is called when the timer of a question has fired. A later answer is useless,
// so the connection ends, and with it the questions of the others, which would wait as
// long.
func (l *link) checkLate() {
	l.timerSet = false
	l.open = slices.DeleteFunc(l.open, func(q *openQuestion) bool { return q.over.Load() })
	if len(l.open) == 0 {
		return
	}
	if wait := time.Until(l.open[0].deadline); wait > 0 {
		l.timerSet = true
		l.timer.Reset(wait)
		return
	}
	l.timedOut.Store(true)
	l.onTooSlow()
}
