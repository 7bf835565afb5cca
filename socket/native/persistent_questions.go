package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
)

// Bounds of the questions that wait for an answer out of band, and of the answers that
// wait for the call. Above them the oldest is dropped; the agent asks again.
const (
	maxOpenQuestions     = 256 // of one person
	maxOpenQuestionBytes = 4 << 20
	maxGrants            = 256
	// maxContent bounds the bytes of files that are hashed for one call: that takes less
	// time than a hook waits.
	maxContent = 256 << 20
	// grantTime is how long an approval waits for its call.
	grantTime = 30 * time.Minute
)

// OpenQuestion is a question of a client that could not ask its person. It waits until
// they answer it out of band.
type OpenQuestion struct {
	Decision *decisions.Decision
	UID      uint32
	Harness  string
	Session  string
	Tool     string
	Cwd      string
	// Arguments are those of a tool, as they are shown, "" for calls whose effects say all.
	Arguments string
	Asked     time.Time
	// Until is when a request stops waiting for the answer; zero if none waits, and the
	// agent tries the call again.
	Until time.Time
}

// ErrNoQuestion means that no question of that id waits.
var ErrNoQuestion = errors.New("no question of that id waits")

// addQuestion adds a question of a persistent session, unless a person could not answer
// it out of band.
func (l *PersistentSessions) addQuestion(f *sessionTree, req *decisions.Request, d *decisions.Decision) {
	if !d.Answerable() {
		return
	}
	key, ok := l.keyOf(req, d)
	if !ok {
		return
	}
	added := l.newQuestion(f, req.WithoutMessage(), d, key)
	l.mu.Lock()
	l.insert(added)
	again := l.again
	l.mu.Unlock()
	if again != nil {
		again.begun(f, f.owner.UID, time.Now())
	}
}

// insert adds a question. l.mu is held.
func (l *PersistentSessions) insert(added *boundQuestion) {
	l.questions = append(l.questions, added)
	n, size := 0, 0
	for i := len(l.questions) - 1; i >= 0; i-- {
		q := l.questions[i]
		if q.UID != added.UID {
			continue
		}
		if n, size = n+1, size+q.size(); n > maxOpenQuestions || size > maxOpenQuestionBytes {
			l.questions = slices.Delete(l.questions, i, i+1)
		}
	}
}

// deleteQuestions removes questions.
func (l *PersistentSessions) deleteQuestions(which func(*boundQuestion) bool) {
	l.questions = slices.DeleteFunc(l.questions, which)
}

// Questions returns the open questions of a person, of everybody for nil, the
// oldest first.
func (l *PersistentSessions) Questions(uid *uint32) []OpenQuestion {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []OpenQuestion
	for _, q := range l.questions {
		if uid == nil || *uid == q.UID {
			list = append(list, q.OpenQuestion)
		}
	}
	return list
}

// DenyOnce answers a question with no: it waits no longer. The answer is logged by a
// function, and counts when that has returned nil.
func (l *PersistentSessions) DenyOnce(uid *uint32, id string, log func() error) error {
	l.mu.Lock()
	q := l.find(uid, id)
	if q == nil {
		l.mu.Unlock()
		return ErrNoQuestion
	}
	q.answering = true
	l.mu.Unlock()
	l.answered(q, log() == nil)
	return nil
}

// AllowAlways answers a question with yes, and stores a width of it. While it is being
// stored no other answer is accepted. If the question ends meanwhile, nothing is stored.
func (l *PersistentSessions) AllowAlways(
	ctx context.Context, uid *uint32, keeper decisions.Keeper, a decisions.Answer,
) ([]decisions.StoredChoice, error) {
	a.Verdict = decisions.Allow
	return l.always(ctx, uid, keeper, a)
}

// DenyAlways is AllowAlways with no.
func (l *PersistentSessions) DenyAlways(
	ctx context.Context, uid *uint32, keeper decisions.Keeper, a decisions.Answer,
) ([]decisions.StoredChoice, error) {
	a.Verdict = decisions.Deny
	return l.always(ctx, uid, keeper, a)
}

func (l *PersistentSessions) always(
	ctx context.Context, uid *uint32, keeper decisions.Keeper, a decisions.Answer,
) ([]decisions.StoredChoice, error) {
	l.mu.Lock()
	q := l.find(uid, a.DecisionID)
	if q != nil {
		q.answering = true
	}
	l.mu.Unlock()
	if q == nil {
		return nil, ErrNoQuestion
	}
	a.Offer = q.Decision.Offer
	kept, err := keeper.Keep(ctx, a)
	if l.answered(q, err == nil) {
		return kept, err
	}
	if err == nil {
		err = keeper.Drop(context.WithoutCancel(ctx), decisions.StoredNow(kept)...)
	}
	if err != nil {
		return nil, fmt.Errorf("storing an answer to a question that ended: %w", err)
	}
	return nil, ErrNoQuestion
}

// answered ends the answering of a question, and with it, if the answer was stored, all
// questions about the same call. It returns false if the question has ended meanwhile.
func (l *PersistentSessions) answered(q *boundQuestion, stored bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q.answering = false
	open := slices.Contains(l.questions, q)
	if open && stored {
		l.deleteQuestions(func(o *boundQuestion) bool { return o.tree == q.tree && o.key == q.key })
	}
	return open
}

func (l *PersistentSessions) find(uid *uint32, id string) *boundQuestion {
	i := slices.IndexFunc(l.questions, func(q *boundQuestion) bool {
		return q.Decision.ID == id && !q.answering && (uid == nil || *uid == q.UID)
	})
	if i < 0 {
		return nil
	}
	return l.questions[i]
}

// TakeGrant reports whether a person approved exactly this question, and consumes the
// approval. It is for decisions.Config.TakeApproval.
func (l *PersistentSessions) TakeGrant(req *decisions.Request, d *decisions.Decision) bool {
	conn := req.Session.Conn
	if conn < firstPersistentConn {
		return false
	}
	l.mu.Lock()
	waits := slices.ContainsFunc(l.grants, func(g grant) bool { return g.conn == conn })
	l.mu.Unlock()
	if !waits {
		return false
	}
	key, ok := l.keyOf(req, d)
	if !ok {
		return false
	}
	now := l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropOldGrants(now)
	i := slices.IndexFunc(l.grants, func(g grant) bool { return g.conn == conn && g.key == key })
	if i < 0 {
		return false
	}
	l.grants = slices.Delete(l.grants, i, i+1)
	return true
}
