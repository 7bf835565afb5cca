package acp

import (
	"bytes"
	"context"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// Bounds of what is kept of a connection's calls. Over them the oldest is
// forgotten, and a request that only names it is a question.
const (
	maxSessions = 64
	maxCalls    = 256     // of one session
	maxBytes    = 8 << 20 // of one connection
)

// toolCall is what is known of a call after all messages so far.
type toolCall struct {
	id        string
	name      string
	title     string
	kind      string
	input     strictjson.Value
	locations []effects.Location
	diffs     []effects.Diff
	texts     []string
	meta      strictjson.Value
	defects   []effects.Defect
	// missing says why messages about the call may be lost; "" if none are.
	missing string

	touched uint64 // for eviction: when it was last said something of
}

// merge applies a message: a member that is not in it is kept, an array
// replaces. The receiver's slices are never changed in place, so a copy of it
// stays as it was.
func (t *toolCall) merge(p *patch) {
	if p.name != nil {
		t.name = *p.name
	}
	if p.title != nil {
		t.title = *p.title
	}
	if p.kind != nil {
		t.kind = *p.kind
	}
	if p.input != nil {
		t.input = p.input
	}
	if p.locations != nil {
		t.locations = p.locations
	}
	if p.content != nil {
		t.diffs, t.texts = p.content.diffs, p.content.texts
	}
	if p.meta != nil {
		t.meta = p.meta
	}
	t.defects = slices.Clip(t.defects)
	for _, d := range p.defects {
		t.defects = addDefect(t.defects, d)
	}
}

// size is about how many bytes the call holds on to.
func (t *toolCall) size() int {
	const overhead = 512
	n := overhead + len(t.id) + len(t.name) + len(t.title) + len(t.kind) + len(t.input) + len(t.meta)
	for _, l := range t.locations {
		n += len(l.Path) + 64
	}
	for _, d := range t.diffs {
		n += len(d.Path) + 96
	}
	for _, s := range t.texts {
		n += len(s) + 16
	}
	for _, d := range t.defects {
		n += len(d.Text) + 64
	}
	return n
}

// session is what is known of one session of the agent.
type session struct {
	id    string
	calls []*toolCall // the one longest untouched first
	// lost says why calls of the session may have been forgotten.
	lost string

	mode    string             // of the last current_mode_update
	modeFor *decisions.Session // the declaration it came after

	// turn ends when the client cancels the session's turn; then there is a
	// new one.
	turn context.Context
	end  context.CancelFunc
}

// noteMode keeps the mode that the agent says it is in. A later declaration of
// the session is newer and counts instead.
func (s *session) noteMode(mode string, declared *decisions.Session) {
	s.mode, s.modeFor = mode, declared
}

func (s *session) newTurn() { s.turn, s.end = context.WithCancel(context.Background()) }

func (s *session) find(id string) int {
	return slices.IndexFunc(s.calls, func(t *toolCall) bool { return t.id == id })
}

// connState is what was merged on one connection. It is only touched on the
// connection's reading goroutine.
type connState struct {
	sessions []*session // the one longest unused first
	bytes    int
	clock    uint64
	// lost says why sessions of the connection may have been forgotten.
	lost string
}

// The reasons for missing messages, as a person reads them.
const (
	lostBound  = "earlier messages about the session's calls were too many to keep"
	lostUpdate = "an earlier message about the session's calls could not be read"
)

// session returns the state of a session, which becomes the latest used.
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
	s.newTurn()
	c.sessions = append(c.sessions, s)
	if len(c.sessions) > maxSessions {
		c.lost = lostBound
		c.drop(c.sessions[0])
	}
	return s
}

// apply takes one message about a call in.
func (c *connState) apply(sessionID string, p *patch, created bool) {
	s := c.session(sessionID)
	c.clock++
	var t *toolCall
	if i := s.find(p.id); i >= 0 {
		t = s.calls[i]
		c.bytes -= t.size()
		s.calls = slices.Delete(s.calls, i, i+1)
	}
	if p.ended {
		// What a call was says nothing of a later one by the same id; some
		// agents use one id for all.
		return
	}
	if t == nil || created {
		// A new call is whole in its message, so nothing older is kept. A
		// patch on a call that is not known may lack what was lost before.
		t = &toolCall{id: p.id}
		if !created {
			t.missing = s.lost
		}
	}
	// What is kept must not hold on to the whole of its message.
	p.input, p.meta = bytes.Clone(p.input), bytes.Clone(p.meta)
	t.merge(p)
	t.touched = c.clock
	s.calls = append(s.calls, t)
	c.bytes += t.size()
	for len(s.calls) > maxCalls {
		c.evict(s)
	}
	for c.bytes > maxBytes {
		c.evict(c.oldest())
	}
}

// oldest is the session that holds the call longest untouched. There is one
// while bytes is above zero.
func (c *connState) oldest() *session {
	var found *session
	for _, s := range c.sessions {
		if len(s.calls) > 0 && (found == nil || s.calls[0].touched < found.calls[0].touched) {
			found = s
		}
	}
	return found
}

// evict forgets a session's oldest call.
func (c *connState) evict(s *session) {
	c.bytes -= s.calls[0].size()
	s.calls = slices.Delete(s.calls, 0, 1)
	s.lost = lostBound
}

// merged returns what is known of the call that a request is about. The
// request's own patch is not kept: two requests can be about different things
// under one id, and one must not fill the gaps of the other.
func (c *connState) merged(s *session, p *patch) *toolCall {
	t := &toolCall{id: p.id}
	if i := s.find(p.id); i >= 0 {
		known := *s.calls[i]
		t = &known
	} else {
		t.missing = s.lost
	}
	t.merge(p)
	return t
}

// lose forgets all calls of a session, or of all sessions for "", because a
// message about them could not be read.
func (c *connState) lose(sessionID string) {
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
			s.newTurn()
		}
	}
}

// forget drops what is known of a session that was closed.
func (c *connState) forget(sessionID string) {
	for _, s := range c.sessions {
		if s.id == sessionID {
			s.end()
			c.drop(s)
			return
		}
	}
}

// drop forgets a session; what of it is being decided goes on.
func (c *connState) drop(s *session) {
	c.empty(s)
	c.sessions = slices.DeleteFunc(c.sessions, func(x *session) bool { return x == s })
}

func (c *connState) empty(s *session) {
	for _, t := range s.calls {
		c.bytes -= t.size()
	}
	s.calls = nil
}
