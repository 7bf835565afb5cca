package native

import (
	"bytes"
	"slices"
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// Bounds of the questions that wait on one connection. Over them the oldest
// is forgotten; its client can still answer its agent, and ask again.
const (
	maxPending      = 1024
	maxPendingBytes = 16 << 20
)

// Pick is what the person chose: an option of the request by its id, or a
// verdict. Exactly one is set.
type Pick struct {
	OptionID string
	Verdict  decisions.Verdict // Allow or Deny
}

// Ask is a call that was left to the person. It waits for one permd/choose on
// the connection that asked.
type Ask struct {
	ID      string // the decision's id
	Session string // the session's id, "" for none
	Request string // the request's id (RequestKey), "" for none
	// Digest is that of the rules that left the call to the person, and Cwd the
	// folder of the session, "" if none: a yes counts under those rules alone.
	Digest, Cwd string
	// Decision is the question, and Made the request that it is about: a yes counts
	// only while the call would do the same. Nil where the call is decided once
	// more before it runs, or where nothing is known of that.
	Decision *decisions.Decision
	Made     *decisions.Request
	// Now puts what is known of the request's session by now in the place of what
	// was known then; nil when it has none. It is called on the connection's reading
	// goroutine, but for Settle.
	Now func(*decisions.Request)
	// Size is about how many bytes Answer holds on to.
	Size int
	// Offer is what the answer can be remembered as, nil for nothing.
	Offer *decisions.Offer
	// Answer turns the pick into what to send the agent. An error says why the
	// pick does not fit the request; the question then keeps waiting.
	Answer func(Pick) (Picked, error)

	taken bool // an answer is being stored
}

// Picked is what a pick means.
type Picked struct {
	// Result is what to send the agent, nil if the protocol sends nothing.
	Result any
	// Verdict is Allow or Deny; "" for an answer that is no permission.
	Verdict decisions.Verdict
	// Always is set when the person picked an option that is meant for more
	// than this call.
	Always bool
	// Grants is set for an answer that is no permission and lets the agent go on
	// all the same, into another mode for one.
	Grants bool
	// Taken is called when the answer has been taken; nil for nothing.
	Taken func()
}

// Asks are the questions that wait on one connection. Unlike the rest of a
// connection's state they may be used from any goroutine: a decision is made
// on a goroutine of its own.
type Asks struct {
	mu   sync.Mutex
	open []*Ask // the oldest first
	size int
}

// Hold lets a question wait.
func (a *Asks) Hold(ask *Ask) {
	if ask.Made != nil {
		r := *ask.Made
		// What is kept must not hold on to the message.
		r.Call.Input, r.Call.Claims.Meta = bytes.Clone(r.Call.Input), bytes.Clone(r.Call.Claims.Meta)
		ask.Made = &r
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = append(a.open, ask)
	a.size += ask.size()
	for len(a.open) > maxPending || a.size > maxPendingBytes {
		a.size -= a.open[0].size()
		a.open[0] = nil
		a.open = a.open[1:]
	}
}

// Drop forgets the questions of a session.
func (a *Asks) Drop(session string) {
	a.forget(func(ask *Ask) bool { return ask.Session == session })
}

// withdraw forgets the questions of a request.
func (a *Asks) withdraw(request string) {
	if request != "" {
		a.forget(func(ask *Ask) bool { return ask.Request == request })
	}
}

// Remove forgets one question, and reports whether it waited.
func (a *Asks) Remove(id string) bool {
	return a.forget(func(ask *Ask) bool { return ask.ID == id })
}

func (a *Asks) forget(which func(*Ask) bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.open)
	a.open = slices.DeleteFunc(a.open, func(ask *Ask) bool {
		if which(ask) {
			a.size -= ask.size()
			return true
		}
		return false
	})
	return len(a.open) < before
}

// Open reports whether a question waits for its answer.
func (a *Asks) Open(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.open, func(ask *Ask) bool { return ask.ID == id && !ask.taken })
}

// take reserves a question for one answer.
func (a *Asks) take(id string) (*Ask, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.open, func(ask *Ask) bool { return ask.ID == id && !ask.taken })
	if i < 0 {
		return nil, socket.Refuse("no question of that decisionId is open on this connection")
	}
	a.open[i].taken = true
	return a.open[i], nil
}

// release lets a reserved question wait again.
func (a *Asks) release(ask *Ask) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ask.taken = false
}

// finish ends a reserved question. It is false when the question was forgotten
// meanwhile.
func (a *Asks) finish(ask *Ask) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.open, ask)
	if i < 0 {
		return false
	}
	a.size -= ask.size()
	a.open = slices.Delete(a.open, i, i+1)
	return true
}

// size is about how many bytes a question holds on to.
func (a *Ask) size() int {
	n := a.Size
	if a.Offer != nil {
		n += a.Offer.Size
	}
	if a.Made != nil {
		c := &a.Made.Call
		n += 1<<10 + len(c.Input) + len(c.Claims.Meta) + len(c.Claims.Title) + len(c.Claims.Prompt)
		for _, text := range c.Claims.Texts {
			n += len(text)
		}
		n += 64 * (len(c.Claims.Diffs) + len(c.Claims.Locations))
	}
	if a.Decision != nil {
		for i := range a.Decision.Effects {
			n += 256 + len(a.Decision.Effects[i].Text)
		}
		for _, f := range a.Decision.Contents {
			n += 96 + len(f.Path)
		}
	}
	return n
}

// State is what permd's own protocol keeps for a connection. All but Asks and
// Shells is only touched on the connection's reading goroutine.
type State struct {
	Asks   Asks
	Shells Shells

	// seats are where the sessions belong that were declared on the connection.
	seats        map[string]seat
	ends         []func(session string)
	cancels      []func(session string)
	declares     []func(session string)
	others       []func(id string) bool
	disconnected bool // the end of the connection is already watched
}

type stateKey struct{}

// StateOf returns the state of a connection. Only to be called from a method.
func StateOf(c *socket.Conn) *State {
	return c.Value(stateKey{}, func() any {
		s := &State{seats: map[string]seat{}}
		// A client that withdraws a request which was answered with a question
		// has called that off as well.
		c.OnWithdraw(func(id strictjson.Value) { s.Asks.withdraw(RequestKey(id)) })
		return s
	}).(*State)
}

// RequestKey is a request's id in a form that is the same for all ways to write
// it, "" for no id.
func RequestKey(id strictjson.Value) string {
	if s, ok := strictjson.ParseString(id); ok {
		return "s" + s
	}
	return string(id)
}

// OnEnd registers f to be called, on the reading goroutine, when a session of
// the connection is closed.
func (s *State) OnEnd(f func(session string)) { s.ends = append(s.ends, f) }

// OnCancel registers f to be called, on the reading goroutine, when the client
// cancels what goes on in a session.
func (s *State) OnCancel(f func(session string)) { s.cancels = append(s.cancels, f) }

// Cancel forgets the questions of a session whose turn was cancelled. Only to be
// called from a method.
func (s *State) Cancel(session string) {
	s.Asks.Drop(session)
	for _, f := range s.cancels {
		f(session)
	}
}

// OnDeclare registers f to be called, on the reading goroutine, when a session
// of the connection is declared for the first time.
func (s *State) OnDeclare(f func(session string)) { s.declares = append(s.declares, f) }

// OnOther registers f, which reports whether an id is that of something else on
// the connection for which choices are remembered as for a session: then no
// session can have it.
func (s *State) OnOther(f func(id string) bool) { s.others = append(s.others, f) }

func (s *State) declare(session string) {
	for _, f := range s.declares {
		f(session)
	}
}

func (s *State) end(session string) {
	s.Asks.Drop(session)
	s.Shells.forget(session)
	delete(s.seats, session)
	for _, f := range s.ends {
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
