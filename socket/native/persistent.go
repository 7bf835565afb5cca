package native

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
)

// Bounds of the sessions that outlive their connections.
const (
	// sessionIdle is how long such a session is kept after its last message.
	sessionIdle = 12 * time.Hour
	// maxSessionTrees is how many are kept for one person; above it the least recently
	// used one is ended.
	maxSessionTrees = 256
	// firstPersistentConn is the number of the first owner of such sessions. Connections
	// are numbered from 1.
	firstPersistentConn = 1 << 62
)

// PersistentSessions are the sessions of harnesses that ask over a new connection for
// each call, as `permd hook` does. They are identified by the person, the harness and
// the harness's id of the session, and end after 12 hours without a message.
//
// A session and those of its sub-agents form one tree, with one owner. It is safe for
// concurrent use.
type PersistentSessions struct {
	Sessions *decisions.Sessions
	// OnEnd is called with the owner of a tree that has ended; nil for nothing.
	OnEnd func(decisions.Owner)
	Now   func() time.Time
	// Digest returns the hash of a file's content and its length, if that is within the
	// limit. If nil, questions about calls that run a file cannot be answered out of
	// band.
	Digest func(path string, limit int64) (sum string, size int64, err error)

	mu        sync.Mutex
	last      uint64
	trees     map[sessionTreeKey]*sessionTree
	questions []*boundQuestion // the oldest first
	waited    []*waitedQuestion
	grants    []grant
	granting  []*boundQuestion // those whose yes for once is being logged
	again     *Reconsideration // nil for none
}

type sessionTreeKey struct {
	uid         uint32
	harness, id string
	// http is set for sessions that were declared over HTTP. No client of the socket reaches
	// them, whatever it calls its harness: an approval in one is not used up in the other.
	http bool
}

// sessionTree is a session of a harness and those of its sub-agents.
type sessionTree struct {
	owner   decisions.Owner
	harness string
	shells  Shells

	// These are guarded by PersistentSessions.mu.
	used  time.Time
	tools toolsDigest // see declareTools
	asked askedCalls
}

// treeOf returns the tree of a session, a new one if there is none.
func (l *PersistentSessions) treeOf(uid uint32, harness, id string) *sessionTree {
	return l.tree(sessionTreeKey{uid: uid, harness: harness, id: id})
}

// tree is treeOf by a key.
func (l *PersistentSessions) tree(key sessionTreeKey) *sessionTree {
	now := l.Now()
	l.mu.Lock()
	ended := l.removeExpired(now, key)
	f := l.trees[key]
	if f == nil {
		if l.trees == nil {
			l.trees = map[sessionTreeKey]*sessionTree{}
		}
		f = &sessionTree{owner: decisions.Owner{UID: key.uid, Conn: firstPersistentConn + l.last}, harness: key.harness}
		l.last++
		l.trees[key] = f
	}
	f.used = now
	l.mu.Unlock()
	for _, o := range ended {
		l.Sessions.Disconnect(o)
		if l.OnEnd != nil {
			l.OnEnd(o)
		}
	}
	return f
}

// removeExpired removes trees that were not used for too long, and makes room for the
// one that enters.
func (l *PersistentSessions) removeExpired(now time.Time, enters sessionTreeKey) (ended []decisions.Owner) {
	var oldest sessionTreeKey
	mine := 0
	for key, f := range l.trees {
		// If the clock was set back, nothing ends early, and nothing is kept longer than
		// from now on.
		if f.used.After(now) {
			f.used = now
		}
		if now.Sub(f.used) >= sessionIdle {
			ended = append(ended, l.removeTree(key))
			continue
		}
		if key.uid != enters.uid {
			continue
		}
		if mine++; mine == 1 || f.used.Before(l.trees[oldest].used) {
			oldest = key
		}
	}
	if mine >= maxSessionTrees && l.trees[enters] == nil {
		ended = append(ended, l.removeTree(oldest))
	}
	return ended
}

// removeTree removes a tree with its questions.
func (l *PersistentSessions) removeTree(key sessionTreeKey) decisions.Owner {
	f := l.trees[key]
	delete(l.trees, key)
	l.deleteQuestions(func(q *boundQuestion) bool { return q.tree == f })
	l.endWaits(func(w *waitedQuestion) bool { return w.tree == f })
	return f.owner
}

// removeQuestions removes the questions of one session.
func (l *PersistentSessions) removeQuestions(o decisions.Owner, session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleteQuestions(func(q *boundQuestion) bool { return q.tree.owner == o && q.Session == session })
	l.endWaits(func(w *waitedQuestion) bool { return w.tree.owner == o && w.was.Session == session })
}

// declaredSession is a session that was declared on a connection, with its owner.
type declaredSession struct {
	tree    *sessionTree // nil for the connection itself
	atShell bool
	// session is a session as this connection declared it. A harness that makes
	// calls concurrently declares a persistent session again for each: a call
	// uses the folder and mode of its own declaration, not of the latest one.
	session *decisions.Session
}

// declaredSession determines the owner of a session to declare.
func (h *handler) declaredSession(c *socket.Conn, p *sessionParams) (declaredSession, error) {
	at := declaredSession{atShell: p.AtShell}
	if p.Harness == "" {
		return at, nil
	}
	switch seats := StateOf(c).declared; {
	case h.Persistent == nil:
		return at, socket.Refuse("this permd keeps no sessions of harnesses")
	case strings.ContainsFunc(p.Harness, notInName):
		// The name is displayed in terminals.
		return at, socket.Refuse("harness must be a word of letters, digits and -")
	case len(p.Harness) > socket.MaxName || len(p.SessionID) > socket.MaxName || len(p.Parent) > socket.MaxName:
		return at, socket.Refuse("a name is longer than %d bytes", socket.MaxName)
	case p.SessionID == "":
		return at, socket.Refuse("sessionId is missing")
	case len(seats) >= decisions.MaxSessions:
		return at, tooMany(decisions.ErrSessions)
	}
	at.tree = h.Persistent.tree(sessionTreeKey{c.Peer.UID, p.Harness, cmp.Or(p.Parent, p.SessionID), StateOf(c).http})
	return at, nil
}

func notInName(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// OverHTTP notes that the connection stands for a request over HTTP, whose sessions with a
// harness are apart from those of the socket.
func (s *State) OverHTTP() { s.http = true }

// owner returns the owner of a session that was declared on the connection.
func (s *State) owner(c *socket.Conn, session string) decisions.Owner {
	if f := s.declared[session].tree; f != nil {
		return f.owner
	}
	return c.Owner()
}
