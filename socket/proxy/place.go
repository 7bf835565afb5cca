package proxy

import (
	"bytes"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// A session is where its client has opened it last, from the moment of the
// request. A request that the agent refuses has changed nothing, and there may be
// several of them at a time.

// location is a place that a session works in.
type location struct {
	cwd    string
	roots  strictjson.Value
	parent string
}

func (s *session) place() location { return location{s.cwd, s.roots, s.parent} }

func (w location) equal(o location) bool {
	return w.cwd == o.cwd && w.parent == o.parent && bytes.Equal(w.roots, o.roots)
}

func (k *call) place() location { return location{k.cwd, k.roots, k.parent} }

// openedAs notes that the agent has opened the session as a request says. Of two
// requests the later one says where it is, in whatever order they are answered.
func (s *session) openedAs(k *call) {
	if k.cwd == "" || k.number < s.openedBy {
		return
	}
	at := k.place()
	s.openedAt, s.openedBy = &at, k.number
}

// notOpened takes a request that the agent has not carried out.
func (c *core) notOpened(k *call) {
	s := c.sessions.byID[k.session]
	if s == nil || !slices.Contains(s.pending, k) {
		return
	}
	s.pending = slices.DeleteFunc(s.pending, func(p *call) bool { return p == k })
	if s.openedAt == nil && len(s.pending) == 0 {
		c.closed(s.id) // it was never opened
		return
	}
	c.replace(s)
}

// replace has a session be where the latest request says that may still be
// carried out, or else where the agent has it.
func (c *core) replace(s *session) {
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
