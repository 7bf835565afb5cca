package acp

import (
	"bytes"
	"context"
	"slices"

	"github.com/permd/permd/decisions"
)

// Bounds of what is kept of a connection's calls. Over them the oldest is
// forgotten, and a request that only names it is a question.
const (
	maxSessions = 64
	maxCalls    = 256     // of one session
	maxBytes    = 8 << 20 // of one connection, less if others need the memory
)

// session is the state of one session of the agent.
type session struct {
	id       string
	version  version
	declared *decisions.Session // as of the latest message

	calls []*toolCall // the one longest untouched first
	// evicted are calls that were dropped; lost says why any call may have been.
	evicted lostIDs
	lost    string

	// turn ends when the client cancels the session's turn; a new one replaces it.
	turn context.Context
	end  context.CancelFunc
	// prompted is set if the client reports the beginning of turns: then there
	// is no new one before the next prompt, and requests of the agent until
	// then have crossed with the cancel.
	reportsPrompts bool
}

// whyMissed returns why messages about an unknown call may have been lost, "" if none
// were.
func (s *session) whyMissed(id string) string {
	if s.lost != "" {
		return s.lost
	}
	return s.evicted.why(id)
}

func (s *session) newTurn() { s.turn, s.end = context.WithCancel(context.Background()) }

func (s *session) find(id string) int {
	return slices.IndexFunc(s.calls, func(t *toolCall) bool { return t.id == id })
}

// connState is the merged state of one connection. It is used on the connection's
// reading goroutine only.
type connState struct {
	sessions []*session // the least recently used one first
	bytes    int
	reserved int                           // of the connection's memory
	resize   func(reserved, size int) bool // see socket.Conn.Resize; nil for no bound
	clock    uint64
	// evicted are sessions that were dropped; lost says why any may have been.
	evicted lostIDs
	lost    string
	// described are the calls of which more was said than their name.
	described idFilter

	options    knownOptions
	approved   approvals
	gatedCalls approvals // calls that passed gates, whatever their decision
}

// The reasons for missing messages, as shown to people.
const (
	lostBound   = "earlier messages about the session's calls were too many to keep"
	lostUpdate  = "an earlier message about the session's calls could not be read"
	lostVersion = "earlier messages about the call were of another version of the protocol"
	lostAgent   = "earlier messages about the call were those of another agent under the same session id"
	lostNull    = "an earlier message clears a part of the call in version 2 of the protocol and keeps it in version 1; " +
		"declare protocolVersion with permd/session"
	lostEarlier = "what was said of the call was said before permd was started anew"
	lostRequest = "an earlier request for the same call said something else of it"
)

// session returns the state of a session, which becomes the most recently used one.
func (c *connState) session(id string) *session {
	i := slices.IndexFunc(c.sessions, func(s *session) bool { return s.id == id })
	if i >= 0 {
		s := c.sessions[i]
		if i < len(c.sessions)-1 {
			c.sessions = append(slices.Delete(c.sessions, i, i+1), s)
		}
		return s
	}
	s := &session{id: id, lost: c.lost}
	if s.lost == "" {
		s.lost = c.evicted.why(id)
	}
	s.newTurn()
	c.sessions = append(c.sessions, s)
	if len(c.sessions) > maxSessions {
		c.evicted.add(c.sessions[0].id, lostBound)
		c.drop(c.sessions[0])
	}
	return s
}

// onDeclared is called when a session was declared. A session without earlier messages
// is new, so none of them can have been lost.
func (c *connState) onDeclared(id string) {
	known := slices.ContainsFunc(c.sessions, func(s *session) bool { return s.id == id })
	if !known && c.evicted.why(id) == "" {
		c.session(id).lost = ""
	}
}

// apply handles one message about a call. In version 1 a call is announced, and
// the message is the whole call; in version 2 the first message about a call is
// its announcement.
func (c *connState) apply(s *session, p *patch, created bool) {
	c.clock++
	c.noteDescribed(s, p)
	var t *toolCall
	if i := s.find(p.id); i >= 0 {
		t = s.calls[i]
		c.bytes -= t.size()
		s.calls = slices.Delete(s.calls, i, i+1)
	}
	if p.ended || created {
		// The state of an earlier call with the same id does not apply to a new one; some
		// agents use one id for all.
		s.evicted.remove(p.id)
	}
	if p.ended {
		return
	}
	if t == nil || created {
		// A new call is complete in its message, so nothing older is kept. A patch on an
		// unknown call may lack earlier messages.
		t = &toolCall{id: p.id}
		if !created {
			t.missing = s.whyMissed(p.id)
		}
	}
	// The copy does not keep the message alive.
	p.input, p.meta = bytes.Clone(p.input), bytes.Clone(p.meta)
	t.merge(p, s.version)
	t.lastUsed = c.clock
	s.calls = append(s.calls, t)
	c.bytes += t.size()
	for len(s.calls) > maxCalls {
		c.evict(s)
	}
	for c.bytes > maxBytes || !c.reserveMemory() {
		c.evict(c.oldest())
	}
}

// reserveMemory reserves memory for the calls, and reports whether they may have it. None
// need none.
func (c *connState) reserveMemory() bool {
	if c.resize != nil && !c.resize(c.reserved, c.bytes) {
		return false
	}
	c.reserved = c.bytes
	return true
}

// oldest returns the session with the least recently used call. There is one while bytes
// is above zero.
func (c *connState) oldest() *session {
	var found *session
	for _, s := range c.sessions {
		if len(s.calls) > 0 && (found == nil || s.calls[0].lastUsed < found.calls[0].lastUsed) {
			found = s
		}
	}
	return found
}

// evict drops a session's oldest call.
func (c *connState) evict(s *session) {
	c.bytes -= s.calls[0].size()
	s.evicted.add(s.calls[0].id, lostBound)
	s.calls = slices.Delete(s.calls, 0, 1)
}

// retire drops all known calls of a session. Calls with other ids are new.
func (c *connState) retire(s *session, why string) {
	for _, t := range s.calls {
		s.evicted.add(t.id, why)
	}
	c.empty(s)
}

// callOf returns the merged call that a request is about.
func (c *connState) callOf(s *session, r *request) toolCall {
	if r.call == nil {
		return toolCall{}
	}
	c.noteDescribed(s, r.call)
	if r.extra {
		c.described.add(s.id, r.call.id)
	}
	if r.command == nil {
		t := c.mergeRequest(s, r.call)
		t.extra = c.described.has(s.id, t.id)
		return t
	}
	// A command is complete in itself, so lost messages about its call do not matter. The
	// state of that call is unchanged.
	t := toolCall{id: r.call.id}
	if i := s.find(t.id); i >= 0 && t.id != "" {
		t = *s.calls[i]
		t.missing = ""
	}
	t.merge(r.call, s.version)
	return t
}

// mergeRequest returns the merged call of a request. The request's own patch is not
// kept: two requests can be about different things under one id, and one must not fill
// the gaps of the other. But if it contradicts the state so far, a later request cannot
// rely on that.
func (c *connState) mergeRequest(s *session, p *patch) toolCall {
	t := toolCall{id: p.id}
	if i := s.find(p.id); i >= 0 {
		known := s.calls[i]
		rests := ^p.changes(s.version)
		t = *known
		switch {
		case t.missing != "":
		case known.unsure&rests != 0:
			t.missing = lostRequest
		case s.version == version2 && known.unclear&rests != 0:
			t.missing = lostNull
		}
		known.unsure |= known.contradicted(p, s.version)
	} else {
		t.missing = s.whyMissed(p.id)
	}
	t.merge(p, s.version)
	return t
}

// forgetCalls forgets all calls of a session, or of all sessions for "", because a
// message about them could not be read.
func (c *connState) forgetCalls(sessionID string) {
	if sessionID == "" {
		c.lost = lostUpdate
	} else {
		c.session(sessionID)
	}
	for _, s := range c.sessions {
		if sessionID == "" || s.id == sessionID {
			c.empty(s)
			s.lost = lostUpdate
		}
	}
}

// cancel ends the turn of a session.
func (c *connState) cancel(sessionID string) {
	for _, s := range c.sessions {
		if s.id == sessionID {
			s.end()
			if !s.reportsPrompts {
				s.newTurn()
			}
		}
	}
}

// prompt begins a turn of a session. One that was not cancelled continues.
func (c *connState) prompt(sessionID string) {
	s := c.session(sessionID)
	s.reportsPrompts = true
	if s.turn.Err() != nil {
		s.newTurn()
	}
}

// forget drops the state of a session that was closed.
func (c *connState) forget(sessionID string) {
	c.evicted.remove(sessionID)
	c.approved.endCall(sessionID, "")
	c.gatedCalls.endCall(sessionID, "")
	for _, s := range c.sessions {
		if s.id == sessionID {
			s.end()
			c.drop(s)
			return
		}
	}
}

// drop drops a session; requests that are being decided are not affected.
func (c *connState) drop(s *session) {
	c.empty(s)
	c.sessions = slices.DeleteFunc(c.sessions, func(x *session) bool { return x == s })
}

func (c *connState) empty(s *session) {
	for _, t := range s.calls {
		c.bytes -= t.size()
	}
	s.calls = nil
	c.reserveMemory()
}
