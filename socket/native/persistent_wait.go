package native

import (
	"cmp"
	"slices"
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
)

// A harness's question waits for its agent to try the call again, since the harness has told it no.
// The client of a hook can instead keep the harness waiting, with permd/wait on the connection
// that asked. The question is then one of that connection, as if it had no harness: an answer
// is told to the client, and counts for the call that waits and no other.

// Bounds of these waits. Each holds a connection, of which a person has only so many.
const (
	maxTreeWaits       = 16 // of one session with those below it
	maxPersistentWaits = 64 // of one person
)

// maxOwnQuestions bounds the questions of harnesses that a connection can wait for.
const maxOwnQuestions = 64

var (
	errTreeWaits       = socket.Error{Code: socket.CodeBusy, Message: "too many calls of this session wait for a person; answer without one"}
	errPersistentWaits = socket.Error{Code: socket.CodeBusy, Message: "too many calls of this person's harnesses wait; answer without them"}
	// errAllowedMeanwhile ends the wait for a question whose call a person has allowed by another one.
	errAllowedMeanwhile = socket.Refuse("the same call was allowed by another question; ask again")
)

// waitedQuestion is a question of a persistent session that a request waits for.
type waitedQuestion struct {
	tree *sessionTree
	key  callKey
	was  *boundQuestion
	asks *PendingQuestions // where it is meanwhile
	// allowed is set when a person has allowed the same call by another question. It is guarded
	// by PersistentSessions.mu.
	allowed bool
}

// ownQuestion is a question of a harness that was asked on a connection.
type ownQuestion struct {
	id    string // the decision's id
	again func(*decisions.Decision) func(Selection) (Resolution, error)
}

// ownQuestions are the latest questions of harnesses that were asked on a connection, which alone
// can wait for them.
type ownQuestions struct {
	mu   sync.Mutex
	list []ownQuestion
}

func (o *ownQuestions) add(q ownQuestion) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list[max(0, len(o.list)-maxOwnQuestions+1):], q)
}

// get returns a question of the connection.
func (o *ownQuestions) get(id string) (q ownQuestion, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.list, func(q ownQuestion) bool { return q.id == id })
	if i < 0 {
		return q, false
	}
	return o.list[i], true
}

// waitFor makes an open question of a persistent session one of the connection that asked it, and
// returns it; nil if it is not open. The other questions about the same call end: it waits here.
func (l *PersistentSessions) waitFor(asks *PendingQuestions, own ownQuestion) (*waitedQuestion, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.questions, func(q *boundQuestion) bool { return q.Decision.ID == own.id && !q.answering })
	if i < 0 {
		return nil, errNotOpen
	}
	q := l.questions[i]
	mine, ofTree := 0, 0
	for _, w := range l.waited {
		if w.tree == q.tree {
			ofTree++
		}
		if w.tree.owner.UID == q.UID {
			mine++
		}
	}
	switch {
	case ofTree >= maxTreeWaits:
		return nil, &errTreeWaits
	case mine >= maxPersistentWaits:
		return nil, &errPersistentWaits
	}
	w := &waitedQuestion{tree: q.tree, key: q.key, was: q, asks: asks}
	sessions, owner, session := l.Sessions, q.tree.owner, q.Session
	asks.Add(&PendingQuestion{
		ID: own.id, SessionID: session, Digest: q.Decision.Policy.Digest, Cwd: q.Cwd, Decision: q.Decision, Request: q.req, Offer: q.Decision.Offer,
		Resolve: selectVerdict, Again: own.again,
		// A call has the folder and the mode that were declared for it, whatever is declared later.
		Refresh: func(r *decisions.Request) {
			if sessions.Get(owner, session) == nil {
				RefreshSession(sessions, owner, session)(r)
			}
		},
	})
	if !asks.Contains(own.id) {
		return nil, &socket.Error{Code: socket.CodeBusy, Message: "this connection uses too much memory; answer without the person"}
	}
	l.waited = append(l.waited, w)
	q.tree.asked.setWaits(own.id, true)
	l.deleteQuestions(func(o *boundQuestion) bool { return o == q || o.tree == q.tree && o.key == q.key && !o.answering })
	return w, nil
}

// waitedFor ends that a question is one of its connection. last is what is asked by now. If nobody has
// answered and its agent can try the call again, the question waits for that.
func (l *PersistentSessions) waitedFor(w *waitedQuestion, last *PendingQuestion, again bool) (allowed bool) {
	back := w.was
	if again = again && w.asks.Remove(last.ID); again && last.ID != w.was.Decision.ID {
		if key, ok := l.keyOf(last.Request, last.Decision); ok {
			back = l.newQuestion(w.tree, last.Request, last.Decision, key)
		} else {
			again = false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waited, w)
	if i >= 0 {
		l.waited = slices.Delete(l.waited, i, i+1)
		w.tree.asked.setWaits(w.was.Decision.ID, false)
		w.tree.asked.rename(w.was.Decision.ID, last.ID)
	}
	if again && i >= 0 && !w.allowed {
		l.insert(back)
	}
	return w.allowed
}

// endWaitFor is waitedFor of a question that may be no harness's.
func (h *handler) endWaitFor(w *waitedQuestion, last *PendingQuestion, again bool) (allowed bool) {
	return w != nil && h.Persistent.waitedFor(w, last, again)
}

// questionOf returns what is asked by now.
func (l *WaitingQuestions) questionOf(w *waitingQuestion) *PendingQuestion {
	l.mu.Lock()
	defer l.mu.Unlock()
	return w.ask
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// endWaits ends the waits for questions. l.mu is held.
func (l *PersistentSessions) endWaits(which func(*waitedQuestion) bool) {
	l.waited = slices.DeleteFunc(l.waited, func(w *waitedQuestion) bool {
		ends := which(w)
		if ends {
			w.asks.removeKnown(w.was.Decision.ID)
		}
		return ends
	})
}

// allowWaiting has one of those who wait for an equal call ask again, since it is allowed once.
// l.mu is held.
func (l *PersistentSessions) allowWaiting(f *sessionTree, key callKey) {
	for _, w := range l.waited {
		if w.tree == f && w.key == key && !w.allowed {
			w.allowed = true
			w.asks.removeKnown(w.was.Decision.ID)
			return
		}
	}
}

// setWaits notes whether the hook of a call waits.
func (s *askedCalls) setWaits(decision string, waits bool) {
	for i := range s.list {
		if s.list[i].decision == decision {
			s.list[i].waits = waits
		}
	}
}

// removeKnown removes a question by an id that its client knows it by.
func (a *PendingQuestions) removeKnown(id string) {
	a.removeAll(func(ask *PendingQuestion) bool { return ask.isKnownAs(id) })
}

// key is the client in whose turn the question is decided again.
func (w *waitingQuestion) key() any {
	if w.of != nil {
		return w.of.tree
	}
	return w.asks
}

// harness names who asks.
func (w *waitingQuestion) harness() string {
	if w.of != nil {
		return w.of.tree.harness
	}
	c := &w.ask.Request.Call
	return cmp.Or(c.Agent.Name, c.Client.Name, c.Protocol)
}
