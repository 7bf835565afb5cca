package native

import (
	"context"
	"slices"

	"github.com/permd/permd/decisions"
)

// Nobody waits for the questions of harnesses: their agents try the call again, and are told then.
// So one that rules or choices decide by now ends without a record. One that would be asked
// otherwise is another question, since a yes for once is for what was shown.

// setReconsideration sets what decides the questions again.
func (l *PersistentSessions) setReconsideration(r *Reconsideration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = r
}

// clients adds the trees of sessions with questions.
func (l *PersistentSessions) clients(to map[any]uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.questions {
		to[q.tree] = q.UID
	}
}

// questionsOf returns the questions of a tree.
func (l *PersistentSessions) questionsOf(f *sessionTree) (list []*boundQuestion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.questions {
		if q.tree == f {
			list = append(list, q)
		}
	}
	return list
}

// isOpen reports whether a question waits and is not being answered.
func (l *PersistentSessions) isOpen(q *boundQuestion) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.questions, q) && !q.answering
}

// reconsider decides a question again. It returns false if its call could not be decided.
func (l *PersistentSessions) reconsider(ctx context.Context, by Reconsiderer, q *boundQuestion) (known bool) {
	if !l.isOpen(q) {
		return true
	}
	req := *q.req
	d, err := by.Reconsider(ctx, &req, q.Decision)
	switch {
	case err != nil:
		return false
	case d == nil:
		return true
	case d.Verdict == decisions.Ask && (d.By == decisions.ByLock) != (q.Decision.By == decisions.ByLock):
		return true // a lock began or ended: whoever answers is told, and it may end or begin again
	case d.Verdict == decisions.Ask && l.isOpen(q):
		if d = by.DecideAgain(ctx, &req, q.Decision); d == nil || d.By == decisions.ByFailure {
			return false
		}
	}
	var instead *boundQuestion
	if d.Verdict == decisions.Ask && d.Answerable() {
		if key, ok := l.keyOf(&req, d); ok {
			instead = l.newQuestion(q.tree, q.req, d, key)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.questions, q)
	if i < 0 || q.answering {
		return true
	}
	l.questions = slices.Delete(l.questions, i, i+1)
	if instead != nil {
		l.questions = append(l.questions, instead) // the newest
		q.tree.asked.rename(q.Decision.ID, d.ID)
	}
	return true
}

// rename notes that a call is asked about by another decision.
func (s *askedCalls) rename(from, to string) {
	for i := range s.list {
		if s.list[i].decision == from {
			s.list[i].decision = to
		}
	}
}
