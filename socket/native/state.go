package native

import (
	"sync/atomic"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// State is what permd's own protocol keeps for a connection. All but Questions,
// Shells and own is only touched on the connection's reading goroutine.
type State struct {
	Questions PendingQuestions
	Shells    Shells
	own       ownQuestions

	// declared are the sessions that were declared on the connection.
	declared     map[string]declaredSession
	tools        toolsDigest                   // of those that its first declaration of tools names
	sizes        map[string]int                // of the declarations, in bytes, as they are reserved
	resize       func(reserved, size int) bool // see socket.Conn.Resize
	onEnd        []func(session string)
	onCancel     []func(session string)
	onDeclare    []func(session string)
	usesID       []func(id string) bool
	http         bool // see OverHTTP
	disconnected bool // the end of the connection is already watched

	// eof is closed when nothing more is read of the client; nil before one waits.
	eof chan struct{}
	// waits counts the requests that wait for a person (permd/wait).
	waits atomic.Int32
}

type stateKey struct{}

// StateOf returns the state of a connection. Only to be called from a method.
func StateOf(c *socket.Conn) *State {
	return c.Value(stateKey{}, func() any {
		s := &State{declared: map[string]declaredSession{}}
		s.resize, s.Questions.resize = c.Resize, c.Resize
		// A client that withdraws a request which was answered with a question withdraws
		// that question too.
		c.OnWithdraw(func(id strictjson.Value) { s.Questions.RemoveRequest(RequestKey(id)) })
		return s
	}).(*State)
}

// RequestKey returns a request's id in a form that is equal for all its notations, ""
// for no id.
func RequestKey(id strictjson.Value) string {
	if s, ok := strictjson.ParseString(id); ok {
		return "s" + s
	}
	return string(id)
}

// OnEnd registers f to be called, on the reading goroutine, when a session of
// the connection is closed.
func (s *State) OnEnd(f func(session string)) { s.onEnd = append(s.onEnd, f) }

// OnCancel registers f to be called, on the reading goroutine, when the client
// cancels the work in a session.
func (s *State) OnCancel(f func(session string)) { s.onCancel = append(s.onCancel, f) }

// Cancel removes the questions of a session whose turn was cancelled. It must only be
// called from a method.
func (s *State) Cancel(session string) {
	s.Questions.RemoveSession(session)
	for _, f := range s.onCancel {
		f(session)
	}
}

// OnDeclare registers f to be called, on the reading goroutine, when a session
// of the connection is declared for the first time.
func (s *State) OnDeclare(f func(session string)) { s.onDeclare = append(s.onDeclare, f) }

// OnIDInUse registers f, which reports whether an id is that of something else on
// the connection for which choices are remembered as for a session: then no
// session can have it.
func (s *State) OnIDInUse(f func(id string) bool) { s.usesID = append(s.usesID, f) }

// reserveSession reserves memory for the declaration of a session, and reports whether
// the connection may have it.
func (s *State) reserveSession(id string, size int) bool {
	if size += 1 << 10; !s.resize(s.sizes[id], size) {
		return false
	}
	if s.sizes == nil {
		s.sizes = map[string]int{}
	}
	s.sizes[id] = size
	return true
}

// releaseSession releases the memory of a session's declaration.
func (s *State) releaseSession(id string) {
	s.resize(s.sizes[id], 0)
	delete(s.sizes, id)
}

func (s *State) declare(session string) {
	for _, f := range s.onDeclare {
		f(session)
	}
}

func (s *State) end(session string) {
	s.Questions.RemoveSession(session)
	s.Shells.forget(session)
	delete(s.declared, session)
	s.releaseSession(session)
	for _, f := range s.onEnd {
		f(session)
	}
}

// disconnect registers f once for the end of the connection.
func (s *State) disconnect(c *socket.Conn, f func()) {
	if !s.disconnected {
		s.disconnected = true
		c.OnClose(f)
	}
}
