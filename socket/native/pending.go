package native

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/socket"
)

// Bounds of the questions that wait on one connection, which has less memory for them if
// others need it. Above them the oldest is dropped;
// its client can still answer its agent, and ask again.
const (
	maxPending      = 1024
	maxPendingBytes = 16 << 20
)

// Selection is the person's choice: an option of the request by its id, or a verdict.
// Exactly one is set.
type Selection struct {
	OptionID string
	Verdict  decisions.Verdict // Allow or Deny
}

// PendingQuestion is a call that was left to the person. It waits for one permd/choose on
// the connection that asked.
type PendingQuestion struct {
	ID        string // the decision's id
	SessionID string // the session's id, "" for none
	RequestID string // the request's id (RequestKey), "" for none
	// Digest identifies the rules that left the call to the person, and Cwd is the
	// session's folder, "" if none.
	Digest, Cwd string
	// Decision is the question, and Request the request that it is about: an approval
	// counts only while the call would do the same. They are nil if the call is decided
	// again before it runs, or if that is not known.
	Decision *decisions.Decision
	Request  *decisions.Request
	// Refresh updates a request to the current state of its session; nil if it has none.
	// It may be called from any goroutine.
	Refresh func(*decisions.Request)
	// Size is the approximate number of bytes that Resolve keeps in memory.
	Size int
	// Offer is how the answer can be remembered, nil if it cannot.
	Offer *decisions.Offer
	// Resolve converts the selection to what to send the agent. An error says why the
	// selection does not fit the request; the question then stays open.
	Resolve func(Selection) (Resolution, error)
	// Again returns Resolve for another decision of the call, that rules or choices make while
	// the question is open; for one that asks it returns nil if the question then ends. It is
	// called from any goroutine. Nil means that the question is decided once, and that a
	// yes to it counts under the same rules only.
	Again func(*decisions.Decision) func(Selection) (Resolution, error)

	at       time.Time     // when it was added
	was      string        // the id under which its client knows it, "" for ID
	reserved bool          // an answer is being stored
	ran      bool          // its call has run
	ended    chan struct{} // closed when the question is removed; nil if nobody waits for it
}

// Resolution is the meaning of a selection.
type Resolution struct {
	// Result is what to send the agent, nil if the protocol sends nothing.
	Result any
	// Verdict is Allow or Deny; "" for an answer that is not a permission.
	Verdict decisions.Verdict
	// Remember is set if the selected option is meant for more than this call.
	Remember bool
	// LetsAgentContinue is set for an answer that is not a permission but lets the agent
	// continue, for example in another mode.
	LetsAgentContinue bool
	// OnStored is called when the answer has been accepted; may be nil.
	OnStored func(Accepted)
}

// Accepted is an answer that has been accepted.
type Accepted struct {
	// Remembered tells whether it was stored for more than this call.
	Remembered bool
	// By is who answered, the zero Identity where rules or choices did.
	By author.Identity
}

// PendingQuestions are the questions that wait on one connection. Unlike the rest of a
// connection's state they may be used from any goroutine: decisions are made on
// goroutines of their own.
type PendingQuestions struct {
	mu       sync.Mutex
	list     []*PendingQuestion // the oldest first
	size     int
	reserved int                           // of the connection's memory
	resize   func(reserved, size int) bool // see socket.Conn.Resize; nil for no bound
}

// Add adds a question. The oldest ones are dropped if there are too many, or too little
// memory for all. One that does not fit even without the others is not added.
func (a *PendingQuestions) Add(ask *PendingQuestion) {
	if ask.Request != nil {
		ask.Request = ask.Request.WithoutMessage()
	}
	ask.at = time.Now()
	n := ask.size()
	if n > maxPendingBytes {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > a.reserved && a.resize != nil {
		if !a.resize(a.reserved, n) {
			return
		}
		a.reserved = n
	}
	a.list = append(a.list, ask)
	a.size += n
	for len(a.list) > maxPending || a.size > maxPendingBytes || !a.reserveMemory() {
		a.dropOldest()
	}
}

func (a *PendingQuestions) dropOldest() {
	a.size -= a.list[0].size()
	a.list[0].end()
	a.list[0] = nil
	a.list = a.list[1:]
}

// reserveMemory reserves memory for the questions, and reports whether they may have it.
// None need none.
func (a *PendingQuestions) reserveMemory() bool {
	if a.resize != nil && !a.resize(a.reserved, a.size) {
		return false
	}
	a.reserved = a.size
	return true
}

// RemoveSession removes the questions of a session.
func (a *PendingQuestions) RemoveSession(session string) {
	a.removeAll(func(ask *PendingQuestion) bool { return ask.SessionID == session })
}

// RemoveRequest removes the questions of a request, by its key (RequestKey).
func (a *PendingQuestions) RemoveRequest(request string) {
	if request != "" {
		a.removeAll(func(ask *PendingQuestion) bool { return ask.RequestID == request })
	}
}

// Remove removes one question, also one that its client knows by that id, and reports whether
// it was open.
func (a *PendingQuestions) Remove(id string) bool {
	return a.removeAll(func(ask *PendingQuestion) bool { return ask.isKnownAs(id) })
}

func (a *PendingQuestions) removeAll(which func(*PendingQuestion) bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.list)
	a.list = slices.DeleteFunc(a.list, func(ask *PendingQuestion) bool {
		if which(ask) {
			a.size -= ask.size()
			ask.end()
			return true
		}
		return false
	})
	a.reserveMemory()
	return len(a.list) < before
}

// Contains reports whether a question is open, also one that its client knows by that id.
func (a *PendingQuestions) Contains(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.list, func(ask *PendingQuestion) bool { return ask.isKnownAs(id) && !ask.reserved })
}

// Ran returns the ids of the open questions about a call of a session that has run; each
// only once. They stay open: the client may report the person's answer after the agent
// has acted on it.
func (a *PendingQuestions) Ran(session, call string) (ids []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ask := range a.list {
		if r := ask.Request; r != nil && !ask.ran && ask.SessionID == session && r.Call.ID == call {
			ask.ran = true
			ids = append(ids, ask.ID)
		}
	}
	return ids
}

// reserve reserves a question for one answer, also one that its client knows by that id.
func (a *PendingQuestions) reserve(id string) (*PendingQuestion, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.list, func(ask *PendingQuestion) bool { return ask.isKnownAs(id) && !ask.reserved })
	if i < 0 {
		return nil, errNotOpen
	}
	a.list[i].reserved = true
	return a.list[i], nil
}

// release reopens a reserved question.
func (a *PendingQuestions) release(ask *PendingQuestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ask.reserved = false
}

// finish removes a reserved question. It returns false if it was removed meanwhile.
func (a *PendingQuestions) finish(ask *PendingQuestion) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.list, ask)
	if i < 0 {
		return false
	}
	a.size -= ask.size()
	ask.end()
	a.list = slices.Delete(a.list, i, i+1)
	a.reserveMemory()
	return true
}

// end tells who waits for the question that it was removed.
func (a *PendingQuestion) end() {
	if a.ended != nil {
		close(a.ended)
	}
}

// isKnownAs reports whether the client knows the question by that id, or others do.
func (a *PendingQuestion) isKnownAs(id string) bool { return a.ID == id || a.was != "" && a.was == id }

// watch returns an open question, and a channel that is closed when it is removed. A
// question is watched by one at a time.
func (a *PendingQuestions) watch(id string) (*PendingQuestion, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.list, func(ask *PendingQuestion) bool { return ask.isKnownAs(id) && !ask.reserved })
	switch {
	case i < 0:
		return nil, errNotOpen
	case a.list[i].ended != nil:
		return nil, socket.Refuse("the answer to this question is awaited already")
	}
	a.list[i].ended = make(chan struct{})
	return a.list[i], nil
}

// unwatch ends the watching of a question, by its channel.
func (a *PendingQuestions) unwatch(ended <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ask := range a.list {
		if ask.ended == ended {
			ask.ended = nil
		}
	}
}

// replace puts a question in the place of a reserved one, and reports whether it could.
func (a *PendingQuestions) replace(ask, by *PendingQuestion) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.list, ask)
	if i < 0 {
		return false
	}
	before := a.size
	if a.size += by.size() - ask.size(); a.size > maxPendingBytes || !a.reserveMemory() {
		a.size = before
		return false
	}
	by.ended = ask.ended
	a.list[i] = by
	return true
}

// anew returns the question that another decision of the call is, for the same client.
func (a *PendingQuestion) anew(d *decisions.Decision, resolve func(Selection) (Resolution, error)) *PendingQuestion {
	return &PendingQuestion{
		ID: d.ID, was: cmp.Or(a.was, a.ID), SessionID: a.SessionID, RequestID: a.RequestID, Digest: d.Policy.Digest, Cwd: a.Cwd, Decision: d,
		Request: a.Request, Refresh: a.Refresh, Size: a.Size, Offer: d.Offer, Resolve: resolve, Again: a.Again, at: time.Now(), ran: a.ran,
	}
}

// size estimates the bytes that a question uses.
func (a *PendingQuestion) size() int {
	n := a.Size
	if a.Offer != nil {
		n += a.Offer.Size
	}
	if a.Request != nil {
		c := &a.Request.Call
		n += 1<<10 + len(c.Input) + len(c.Claims.Meta) + len(c.Claims.Title) + len(c.Claims.Prompt)
		for _, text := range c.Claims.Texts {
			n += len(text)
		}
		n += 64 * (len(c.Claims.Diffs) + len(c.Claims.Locations))
	}
	if a.Decision != nil {
		for i := range a.Decision.Effects {
			n += 512 + 2*len(a.Decision.Effects[i].Text)
		}
		for i := range a.Decision.Details {
			d := &a.Decision.Details[i]
			n += 256 + len(d.Path)
			for _, w := range d.Words {
				n += 16 + len(w)
			}
		}
		for _, f := range a.Decision.Contents {
			n += 96 + len(f.Path)
		}
	}
	return n
}
