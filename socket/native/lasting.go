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
	// maxIdle is how long such a session is kept after its last message.
	maxIdle = 12 * time.Hour
	// maxFamilies is how many are kept of one person; over it the one that was
	// silent longest is ended.
	maxFamilies = 256
	// lastingConn is the number of the first owner of such sessions. Connections
	// are numbered from 1.
	lastingConn = 1 << 62
)

// Lasting are the sessions of harnesses that ask over a connection of its own for
// each call, as `permd hook` does. They belong to the person, the harness and the
// id that it names its session by, and end after 12 hours without a message.
//
// A session and those of its sub-agents are one family, with one owner. It is
// safe for concurrent use.
type Lasting struct {
	Sessions *decisions.Sessions
	// Ended is called with the owner of a family that has ended; nil for nothing.
	Ended func(decisions.Owner)
	Now   func() time.Time
	// Digest is the hash of a file's content, with its length, if that is not over
	// the limit. Without it no question can be answered elsewhere whose call runs
	// a file.
	Digest func(path string, limit int64) (sum string, size int64, err error)

	mu       sync.Mutex
	last     uint64
	families map[familyKey]*family
	open     []*question // the oldest first
	grants   []grant
}

type familyKey struct {
	uid         uint32
	harness, id string
}

// family is a session of a harness and those of its sub-agents.
type family struct {
	owner   decisions.Owner
	harness string
	shells  Shells

	used time.Time // guarded by Lasting.mu
}

// enter returns the family of a session, which begins now if there is none.
func (l *Lasting) enter(uid uint32, harness, id string) *family {
	now := l.Now()
	l.mu.Lock()
	key := familyKey{uid, harness, id}
	ended := l.expire(now, key)
	f := l.families[key]
	if f == nil {
		if l.families == nil {
			l.families = map[familyKey]*family{}
		}
		f = &family{owner: decisions.Owner{UID: uid, Conn: lastingConn + l.last}, harness: harness}
		l.last++
		l.families[key] = f
	}
	f.used = now
	l.mu.Unlock()
	for _, o := range ended {
		l.Sessions.Disconnect(o)
		if l.Ended != nil {
			l.Ended(o)
		}
	}
	return f
}

// expire forgets what has been silent for too long, and makes room for the one
// that enters.
func (l *Lasting) expire(now time.Time, enters familyKey) (ended []decisions.Owner) {
	var oldest familyKey
	mine := 0
	for key, f := range l.families {
		// A clock that went back ends nothing early, and keeps nothing longer
		// than from now on.
		if f.used.After(now) {
			f.used = now
		}
		if now.Sub(f.used) >= maxIdle {
			ended = append(ended, l.end(key))
			continue
		}
		if key.uid != enters.uid {
			continue
		}
		if mine++; mine == 1 || f.used.Before(l.families[oldest].used) {
			oldest = key
		}
	}
	if mine >= maxFamilies && l.families[enters] == nil {
		ended = append(ended, l.end(oldest))
	}
	return ended
}

// end forgets a family with its questions.
func (l *Lasting) end(key familyKey) decisions.Owner {
	f := l.families[key]
	delete(l.families, key)
	l.drop(func(q *question) bool { return q.family == f })
	return f.owner
}

// forget forgets what waits in one session.
func (l *Lasting) forget(o decisions.Owner, session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(func(q *question) bool { return q.family.owner == o && q.Session == session })
}

// seat is where a session belongs that was declared on a connection.
type seat struct {
	family  *family // nil for the connection itself
	atShell bool
	// session is what this connection declared. A harness that makes calls side by
	// side declares a lasting session anew for each: what holds for a call is what
	// came with it, not the folder or the mode of the last.
	session *decisions.Session
}

// seat finds where a session belongs.
func (h *handler) seat(c *socket.Conn, p *sessionParams) (seat, error) {
	at := seat{atShell: p.AtShell}
	if p.Harness == "" {
		return at, nil
	}
	switch seats := StateOf(c).seats; {
	case h.Lasting == nil:
		return at, socket.Refuse("this permd keeps no sessions of harnesses")
	case strings.ContainsFunc(p.Harness, notInName):
		// It is shown to people, in their terminals.
		return at, socket.Refuse("harness must be a word of letters, digits and -")
	case len(p.Harness) > socket.MaxName || len(p.SessionID) > socket.MaxName || len(p.Parent) > socket.MaxName:
		return at, socket.Refuse("a name is longer than %d bytes", socket.MaxName)
	case p.SessionID == "":
		return at, socket.Refuse("sessionId is missing")
	case len(seats) >= decisions.MaxSessions:
		return at, tooMany(decisions.ErrSessions)
	}
	at.family = h.Lasting.enter(c.Peer.UID, p.Harness, cmp.Or(p.Parent, p.SessionID))
	return at, nil
}

func notInName(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// owner is who a session that was declared on the connection belongs to.
func (s *State) owner(c *socket.Conn, session string) decisions.Owner {
	if f := s.seats[session].family; f != nil {
		return f.owner
	}
	return c.Owner()
}
