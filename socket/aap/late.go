package aap

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
)

// Bounds of the questions whose calls were denied before a person answered. Above them the
// oldest is forgotten, and its call is asked about again.
const (
	maxLate      = 64
	maxLateBytes = 1 << 20
	// lateTime is how long an answer counts that came after the denial.
	lateTime = 30 * time.Minute
)

// lateQuestion is the open question about a call that was denied since nobody had answered in
// time. The answer counts for the same call, which the model makes with another id, once.
type lateQuestion struct {
	entry    *entry // where the answer is stored
	batch    *batch
	question *decisions.Decision
	size     int
}

// sameCall reports whether a call of a batch is the call of the question: of the same session
// as it was declared then, by the same agent, with the same tool and the same contents.
func (q *lateQuestion) sameCall(b *batch, e *entry) bool {
	return q.batch.session == b.session && q.batch.sameParty(b.parties) && q.entry.tool == e.tool && q.entry.side == e.side && equalValues(q.entry.input, e.input)
}

// denyLater denies a call whose question stays open. It reports false if an answer to that
// question could never count.
func (b *batch) denyLater(t *requestContext, e *entry, reason string) bool {
	switch {
	case e.input == nil || e.permitted || b.mayBeAffected(e) || !t.state.Questions.Contains(e.decision.ID):
		return false
	case e.elsewhere.Load() != nil:
		b.applyElsewhere(e, &t.state.Questions) // it has come after all
		return true
	}
	for _, q := range t.batches.takeLate(b, e) {
		t.state.Questions.Remove(q.question.ID) // one question about one call
	}
	t.batches.addLate(&lateQuestion{entry: e, batch: b, question: e.decision, size: 2<<10 + len(e.input) + sizeOf(e.decision)})
	for _, id := range t.batches.takeForgotten() {
		t.state.Questions.Remove(id) // an answer to it would count for nothing
	}
	e.problem = ""
	e.deny(reason)
	return true
}

// applyLate applies the answer to a question about the same call that came after its denial. An
// earlier question without an answer ends: now there is this one. A yes counts if it would
// be asked the same question again.
func (h *handler) applyLate(ctx context.Context, t *requestContext, b *batch, e *entry, d *decisions.Decision, req *decisions.Request) {
	if e.input == nil || e.permitted {
		return
	}
	found := t.batches.takeLate(b, e)
	for i, q := range found {
		a := q.entry.elsewhere.Load()
		switch now := h.Time(); {
		case a == nil:
			if !t.state.Questions.Remove(q.question.ID) {
				t.batches.addLate(q) // its answer is being stored
			}
			continue
		case a.remembered, a.question.Policy.Digest != d.Policy.Digest, now.Before(a.at), !now.Before(a.at.Add(lateTime)):
			continue // memory or a person decides
		case a.verdict != decisions.Allow:
		case b.mayBeAffected(e):
			t.batches.addLate(q)
			continue
		default:
			if !sameQuestion(a.question, d) {
				continue
			}
			if err := h.Decider.Holds(ctx, req, a.question); err != nil {
				if !errors.Is(err, decisions.ErrChanged) {
					t.batches.addLate(q) // it is not known
				}
				continue
			}
		}
		for _, rest := range found[i+1:] {
			t.batches.addLate(rest)
		}
		if h.RecordAnswer != nil && h.RecordAnswer(ctx, d.ID, a.verdict, a.by, nil) != nil {
			return
		}
		e.applyVerdict(a.verdict, a.by, false, "")
		return
	}
}

// addLate keeps a question whose call was denied.
func (s *batches) addLate(q *lateQuestion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, q)
	s.lateSize += q.size
	s.size += q.size
	for len(s.late) > 0 && (len(s.late) > maxLate || s.lateSize > maxLateBytes || !s.reserveMemory()) {
		s.removeOldestLate()
	}
}

// takeForgotten returns the questions that were forgotten since the last time, as there were too
// many.
func (s *batches) takeForgotten() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.forgotten
	s.forgotten = nil
	return ids
}

// removeOldestLate forgets the oldest question. s.mu is held.
func (s *batches) removeOldestLate() {
	oldest := s.late[0]
	s.forgotten = append(s.forgotten, oldest.question.ID)
	s.removeLate(func(q *lateQuestion) bool { return q == oldest })
}

// takeLate removes the questions about a call, and returns them, the oldest first.
func (s *batches) takeLate(b *batch, e *entry) (taken []*lateQuestion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLate(func(q *lateQuestion) bool {
		if q.entry == e || !q.sameCall(b, e) {
			return false
		}
		taken = append(taken, q)
		return true
	})
	return taken
}

// removeLate removes questions. s.mu is held.
func (s *batches) removeLate(which func(*lateQuestion) bool) {
	s.late = slices.DeleteFunc(s.late, func(q *lateQuestion) bool {
		if which(q) {
			s.lateSize -= q.size
			s.size -= q.size
			return true
		}
		return false
	})
}

// endLate forgets the questions of a session whose calls were denied.
func (s *batches) endLate(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLate(func(q *lateQuestion) bool { return q.batch.session.ID == session })
	s.reserveMemory()
}
