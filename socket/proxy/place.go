package proxy

import (
	"bytes"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// A session is where its client opened it last, counted from the moment of the request.
// A request that the agent refuses changes nothing, and there may be several at a time.

// location is the folders that a session works in.
type location struct {
	cwd    string
	roots  strictjson.Value
	parent string
}

func (s *session) place() location { return location{s.cwd, s.roots, s.parent} }

func (w location) equal(o location) bool {
	return w.cwd == o.cwd && w.parent == o.parent && bytes.Equal(w.roots, o.roots)
}

func (k *call) place() location { return location{cwd: k.cwd, roots: k.roots} }

// onOpened records that the agent has opened the session as a request says. Of two
// requests the later one determines the place, whatever the order of their answers.
func (s *session) onOpened(k *call) {
	if k.cwd == "" || k.number < s.openedBy {
		return
	}
	at := k.place()
	s.openedAt, s.openedBy = &at, k.number
}

// onNotOpened handles a request that the agent has refused.
func (c *core) onNotOpened(k *call) {
	s := c.sessions.byID[k.session]
	if s == nil || !slices.Contains(s.pending, k) {
		return
	}
	s.pending = slices.DeleteFunc(s.pending, func(p *call) bool { return p == k })
	if s.openedAt == nil && len(s.pending) == 0 {
		c.closed(s.id) // it was never opened
		return
	}
	c.updatePlace(s)
}

// updatePlace moves a session to the place in the latest request that may still succeed,
// or else to where the agent has it.
func (c *core) updatePlace(s *session) {
	to := s.place()
	if s.openedAt != nil {
		to = *s.openedAt
	}
	for _, k := range s.pending {
		if k.cwd != "" && k.number > s.openedBy {
			to = k.place()
		}
	}
	if was := s.place(); !to.equal(was) {
		if was.cwd != "" {
			s.former = append(slices.DeleteFunc(s.former, was.equal), was)
			s.former = s.former[max(0, len(s.former)-decisions.MaxFormer):]
		}
		s.cwd, s.roots, s.parent = to.cwd, to.roots, to.parent
		c.declare(s)
	}
}
