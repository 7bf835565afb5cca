package native

import (
	"errors"
	"slices"
	"time"
)

// grant is an approval that waits for its call.
type grant struct {
	uid  uint32
	conn uint64 // of the tree's owner
	key  callKey
	ends time.Time
	ids  []string // of the questions that it answered
}

// errTakenBack refuses a yes that was taken back before it counted.
var errTakenBack = errors.New("the answer was taken back while it was stored, so it does not count; let the agent try again")

// AllowOnce answers a question with yes: if the harness asks about exactly the same call
// again within grantTime, in the same session, it is allowed once. The answer is logged by
// a function, which may refuse it, and counts when that has returned nil, unless TakeBack has
// taken it back meanwhile.
func (l *PersistentSessions) AllowOnce(uid *uint32, id string, log func() error) (until time.Time, err error) {
	l.mu.Lock()
	q := l.find(uid, id)
	if q == nil {
		l.mu.Unlock()
		return time.Time{}, ErrNoQuestion
	}
	q.answering = true
	l.granting = append(l.granting, q)
	l.mu.Unlock()
	err = log()
	l.mu.Lock()
	defer l.mu.Unlock()
	q.answering = false
	counts := slices.Contains(l.granting, q)
	l.granting = slices.DeleteFunc(l.granting, func(o *boundQuestion) bool { return o == q })
	if err != nil {
		if !counts { // its id is logged as taken back
			l.deleteQuestions(func(o *boundQuestion) bool { return o == q })
		}
		return time.Time{}, err
	}
	// Also if the question has ended meanwhile: the answer was accepted before.
	until = l.Now().Add(grantTime)
	ids := []string{id}
	l.deleteQuestions(func(o *boundQuestion) bool {
		same := o.tree == q.tree && o.key == q.key
		if same && o != q {
			ids = append(ids, o.Decision.ID)
		}
		return same
	})
	if !counts {
		return time.Time{}, errTakenBack
	}
	l.grants = append(l.grants, grant{q.UID, q.tree.owner.Conn, q.key, until, ids})
	if len(l.grants) > maxGrants {
		l.grants = slices.Delete(l.grants, 0, 1)
	}
	l.allowWaiting(q.tree, q.key)
	return until, nil
}

// TakeBack takes back what AllowOnce allowed as an answer to a question, or all that it allowed for
// an id of "". It returns the questions whose answers a call could still have used, or could soon.
func (l *PersistentSessions) TakeBack(uid *uint32, id string) (answered []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropOldGrants(l.Now())
	l.grants = slices.DeleteFunc(l.grants, func(g grant) bool {
		ends := (uid == nil || *uid == g.uid) && (id == "" || slices.Contains(g.ids, id))
		if ends {
			answered = append(answered, g.ids[0])
		}
		return ends
	})
	l.granting = slices.DeleteFunc(l.granting, func(q *boundQuestion) bool {
		ends := (uid == nil || *uid == q.UID) && (id == "" || q.Decision.ID == id)
		if ends {
			answered = append(answered, q.Decision.ID)
		}
		return ends
	})
	return answered
}

// dropOldGrants drops the approvals whose time is over. Setting the clock back extends none.
func (l *PersistentSessions) dropOldGrants(now time.Time) {
	l.grants = slices.DeleteFunc(l.grants, func(g grant) bool { return !now.Before(g.ends) || g.ends.Sub(now) > grantTime })
}
