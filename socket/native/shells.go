package native

import (
	"slices"
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

const (
	// maxShells bounds the sessions whose shell is known to have changed.
	maxShells = decisions.MaxSessions
	// maxFolders bounds the folders that one shell may be in.
	maxFolders = 8
)

// Shells records in which sessions of a connection a call may have changed what later
// commands mean: in a persistent shell, a cd of one call changes the relative paths of
// the next. It may be used from any goroutine.
type Shells struct {
	mu      sync.Mutex
	changed map[string]bool
	all     bool // there were too many to distinguish
	// folders are where the shell of a session may be, besides its own folder. They are
	// never removed: it is not known which calls ran, and in which order.
	folders map[string][]string
	// activated are the folders of programs that the shell of a session may search first.
	// They are never removed either.
	activated map[string][]string
}

// ApplyTo adds the state of the shell to a call that it will run.
func (s *Shells) ApplyTo(session string, c *effects.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.LiveShell, c.Folders, c.Activated = s.all || s.changed[session], s.folders[session], s.activated[session]
	if s.all {
		c.Activated = unknownFolder
	}
}

// unknownFolder is the folder of environments that are no longer known.
var unknownFolder = []string{""}

// Since returns what reports whether no call since may have changed the session's shell.
func (s *Shells) Since(session string) (same func() bool) {
	type state struct {
		all, changed       bool
		folders, activated int // they only grow
	}
	now := func() state {
		s.mu.Lock()
		defer s.mu.Unlock()
		return state{s.all, s.changed[session], len(s.folders[session]), len(s.activated[session])}
	}
	then := now()
	return func() bool { return now() == then }
}

// Changed reports whether an earlier call may have changed the session's shell
// in ways that cannot be followed.
func (s *Shells) Changed(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all || s.changed[session]
}

// Record records a decision. A call that was denied does not run; one that was
// left to the person may.
func (s *Shells) Record(session string, d *decisions.Decision) {
	if session == "" || d.Verdict == decisions.Deny {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, bin := range d.Left().Activated {
		s.activate(session, bin)
	}
	for i := range d.Effects {
		if d.Effects[i].Kind == effects.KindState {
			s.change(session)
			return
		}
	}
	for _, folder := range d.Left().Folders {
		s.move(session, folder)
	}
}

// move records a folder, "" if it is not known.
func (s *Shells) move(session, folder string) {
	known := s.folders[session]
	switch {
	case slices.Contains(known, folder):
	case folder == "", len(known) >= maxFolders, known == nil && len(s.folders) >= maxShells:
		s.change(session)
	default:
		if s.folders == nil {
			s.folders = map[string][]string{}
		}
		// A new list: others may still read the old one.
		s.folders[session] = append(slices.Clip(known), folder)
	}
}

// activate records an environment, "" if it is not known which.
func (s *Shells) activate(session, bin string) {
	known := s.activated[session]
	switch {
	case slices.Contains(known, bin):
		return
	case known == nil && len(s.activated) >= maxShells:
		s.all = true
		return
	case len(known) >= maxFolders:
		bin = ""
	}
	if s.activated == nil {
		s.activated = map[string][]string{}
	}
	if !slices.Contains(known, bin) {
		s.activated[session] = append(slices.Clip(known), bin)
	}
}

// MarkUnknown records that an unknown call may have changed the session's shell.
func (s *Shells) MarkUnknown(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(session)
}

func (s *Shells) change(session string) {
	if s.changed == nil {
		s.changed = map[string]bool{}
	}
	if s.changed[session] = true; len(s.changed) > maxShells {
		s.changed, s.all = nil, true
	}
}

func (s *Shells) forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.changed, session)
	delete(s.folders, session)
	delete(s.activated, session)
}
