package decisions

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/permd/permd/decisions/effects"
)

// Owner identifies the connection that a session belongs to. No other one can use it.
type Owner struct {
	UID  uint32
	Conn uint64 // unique for each connection while the daemon lives
}

// Declaration is what a client declares when it opens a session.
type Declaration struct {
	ID     string
	Cwd    string   // absolute
	Roots  []string // absolute
	Parent string
	Agent  effects.Party
	Client effects.Party
	Mode   string
	// OneRequest is set if the session ends with the request that declares it, as those over
	// HTTP do: nothing can be remembered for it.
	OneRequest bool
	// ProtocolVersion is the version that client and agent negotiated, 0 if it
	// was not said.
	ProtocolVersion int
	// Tools are those of an agent without a profile, as far as the client says what their
	// inputs mean.
	Tools []effects.DeclaredTool
}

// Session is a declared session. It is immutable but for the mode that its agent reports: a
// change makes a new one.
type Session struct {
	Declaration
	Ancestors []string // nearest first
	Project   string   // root of the project of Cwd, "" if none
	conn      uint64   // the connection that it belongs to
	// Former are earlier declarations of the session in other projects, one for each, the
	// latest first, without roots. Work that its agent started there may still be
	// running.
	Former []*Session
	// reported is the mode that the agent says it is in since the declaration, nil for none; nil for
	// sessions that nobody declared.
	reported *atomic.Pointer[string]
}

// place identifies the project whose rules apply to the session.
func (s *Session) place() string { return cmp.Or(s.Project, s.Cwd) }

// SamePlace reports whether the rules of the same project apply to both sessions.
func (s *Session) SamePlace(o *Session) bool { return s.place() == o.place() }

// formerPlaces returns Session.Former for a session that is declared again as now.
func (s *Session) formerPlaces(now *Session) []*Session {
	if s == nil {
		return nil
	}
	var former []*Session
	for _, f := range append([]*Session{s}, s.Former...) {
		if f.Cwd == "" || f.SamePlace(now) || len(former) == MaxFormer {
			continue
		}
		was := *f
		was.Former, was.Roots = nil, nil
		former = append(former, &was)
	}
	return former
}

// Describe sets what the declaration says of a call whose tool is set already. A session
// that is nil or has ended says nothing.
func (s *Session) Describe(c *effects.Call) {
	if s == nil {
		return
	}
	c.Agent, c.Client, c.Cwd, c.Roots, c.Declared = s.Agent, s.Client, s.Cwd, s.Roots, nil
	for i := range s.Tools {
		if s.Tools[i].Name == c.Tool.Name && c.Tool.Server == "" {
			c.Declared = &s.Tools[i]
		}
	}
}

// Ref returns the part of the session that policy and memory see.
func (s *Session) Ref() SessionRef {
	if s == nil {
		return SessionRef{}
	}
	ref := SessionRef{Conn: s.conn, ID: s.ID, Ancestors: s.Ancestors, Mode: s.Mode, OneRequest: s.OneRequest}
	if s.reported != nil {
		if mode := s.reported.Load(); mode != nil {
			ref.Mode = *mode
		}
	}
	return ref
}

// ReportMode notes the mode that the agent of the session says it is in, for all calls of the
// session from now on, by whatever method they come. A later declaration overrides it.
func (s *Session) ReportMode(mode string) {
	if s != nil && s.reported != nil {
		s.reported.Store(&mode)
	}
}

// Bounds of what a client can declare.
const (
	MaxSessions  = 1024 // of one connection
	maxAncestors = 32
	maxRoots     = 64
	maxName      = 1024 // bytes of an id, a mode or a party's name
	// MaxFormer is how many former places of a session are kept.
	MaxFormer = 17
)

// ErrSessions is returned when a connection has declared too many sessions.
var ErrSessions = errors.New("too many sessions on this connection")

// Sessions holds the sessions of all connections. It is safe for concurrent use.
type Sessions struct {
	// FindProject returns the root of the project that a folder belongs to, for that user.
	FindProject func(uid uint32, cwd string) string

	mu sync.RWMutex
	m  map[Owner]map[string]*Session
}

// Declare opens a session, or replaces the one of the same id and owner.
func (s *Sessions) Declare(o Owner, d Declaration) (*Session, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	project := ""
	if s.FindProject != nil && d.Cwd != "" {
		project = s.FindProject(o.UID, d.Cwd)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[Owner]map[string]*Session{}
	}
	mine := s.m[o]
	if mine == nil {
		mine = map[string]*Session{}
		s.m[o] = mine
	}
	if mine[d.ID] == nil && len(mine) >= MaxSessions {
		return nil, ErrSessions
	}
	ses := &Session{Declaration: d, Project: project, conn: o.Conn, reported: new(atomic.Pointer[string])}
	if d.Parent != "" {
		parent := mine[d.Parent]
		if parent == nil {
			return nil, fmt.Errorf("parent session %q is not declared", d.Parent)
		}
		if d.Parent == d.ID || len(parent.Ancestors)+1 > maxAncestors {
			return nil, errors.New("session has too many ancestors")
		}
		for _, a := range parent.Ancestors {
			if a == d.ID {
				return nil, errors.New("session would be its own ancestor")
			}
		}
		ses.Ancestors = append([]string{d.Parent}, parent.Ancestors...)
	}
	ses.Former = mine[d.ID].formerPlaces(ses)
	mine[d.ID] = ses
	return ses, nil
}

// Get returns a session of that owner, nil if there is none.
func (s *Sessions) Get(o Owner, id string) *Session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.m[o][id]
}

// All returns the sessions of that owner, sorted by id.
func (s *Sessions) All(o Owner) []*Session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := slices.Collect(maps.Values(s.m[o]))
	slices.SortFunc(all, func(a, b *Session) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Close ends a session and reports whether it was open.
func (s *Sessions) Close(o Owner, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.m[o][id]
	delete(s.m[o], id)
	return ok
}

// Disconnect ends all sessions of an owner.
func (s *Sessions) Disconnect(o Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, o)
}

// Len returns the number of open sessions.
func (s *Sessions) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, mine := range s.m {
		n += len(mine)
	}
	return n
}

func (d *Declaration) check() error {
	if d.ID == "" {
		return errors.New("sessionId is empty")
	}
	for _, s := range []string{d.ID, d.Parent, d.Mode, d.Agent.Name, d.Agent.Version, d.Client.Name, d.Client.Version} {
		if len(s) > maxName {
			return fmt.Errorf("a name is longer than %d bytes", maxName)
		}
	}
	if len(d.Roots) > maxRoots {
		return fmt.Errorf("more than %d roots", maxRoots)
	}
	for _, p := range append([]string{d.Cwd}, d.Roots...) {
		if p != "" && (!filepath.IsAbs(p) || len(p) > 4096) {
			return errors.New("cwd and roots must be absolute paths of at most 4096 bytes")
		}
	}
	return nil
}

// readOnlyModes are words in agents' names for modes in which they only read and plan.
var readOnlyModes = []string{"plan", "planning", "planner", "readonly", "architect", "explore"}

// confinement returns why a session may do less than a sub-agent that it starts, "" if
// nothing is known to confine it. Mode and ancestors are claims; here they can only make
// a start ask.
//
// A session that was started by another one got its tools from that one. What its own
// sub-agents get is up to the harness, and harnesses have let a planner start a builder.
func (s *SessionRef) confinement() string {
	if len(s.Ancestors) > 0 {
		return "another session started this one"
	}
	mode := strings.ToLower(s.Mode)
	mode = mode[strings.LastIndexAny(mode, "/#")+1:] // some name modes by an address
	words := strings.FieldsFunc(mode, func(c rune) bool { return c < 'a' || c > 'z' })
	if mode == "ask" || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(readOnlyModes, w) }) ||
		strings.Join(words, "") == "readonly" {
		return "its mode only looks or plans"
	}
	return ""
}
