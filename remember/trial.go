package remember

import (
	"fmt"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// Trial is choices that are stored together as they would match if they were in force. They
// are not: a Trial changes nothing. It is safe for concurrent use.
type Trial struct {
	// Choices are what would be stored. Those that are in force have ids, and Earlier set.
	Choices []Choice

	key   *hashKey
	index *index
	at    int64 // when they were made, in nanoseconds since 1970
}

// TryAnswer returns the choices that Keep would store for an answer, or its error.
func (s *Store) TryAnswer(a decisions.Answer) (*Trial, error) {
	drafts, err := s.draftsOf(a)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", decisions.ErrNotKept, err)
	}
	now := s.now()
	var entries []*entry
	for i := range drafts {
		e, err := s.entryOf(&drafts[i], now)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", decisions.ErrNotKept, err)
		}
		entries = append(entries, e)
	}
	return s.trialOf(now.UnixNano(), entries...), nil
}

// TryLine returns the choice that Add would store, or its error.
func (s *Store) TryLine(l Line) (*Trial, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	e, err := s.entryOfLine(&l, now)
	if err == nil && s.equalChoice(e, nil) == nil {
		err = s.checkRoom(e, nil)
	}
	if err != nil {
		return nil, err
	}
	return s.trialOf(now.UnixNano(), e), nil
}

// TryChange returns what a change would make of a choice in force, or the error of Change; with
// the zero Change, the choice itself.
func (s *Store) TryChange(id string, c Change) (*Trial, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	e := s.byID[id]
	if e == nil || s.expired(e) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	n, err := s.changedEntry(e, &c, now)
	if err != nil {
		return nil, err
	}
	return s.trialOf(now.UnixNano(), n), nil
}

func (s *Store) trialOf(at int64, entries ...*entry) *Trial {
	t := &Trial{key: &s.key, at: at}
	for _, e := range entries {
		s.understand(e)
		c := e.snapshot()
		c.ID = ""
		if same := s.equalChoice(e, nil); same != nil {
			c.ID, c.Earlier = same.choice.ID, true
		}
		t.Choices = append(t.Choices, c)
		// Past calls do not say on which connection their sessions were.
		e.choice.Scope.Conn = 0
	}
	t.index = (&index{}).with(entries...)
	return t
}

// Matches reports whether one of the choices matches an effect, as if it had been in force, and
// confirmed, when that was asked. Session.Conn of q must be 0.
func (t *Trial) Matches(q *decisions.MemoryQuery) bool {
	reject, allow := t.index.matchUnconfirmed(t.key, q, t.at)
	return reject != nil || allow != nil
}

// Kinds returns the kinds of effects that the choices can match, nil for all.
func (t *Trial) Kinds() (kinds []effects.Kind) {
	for i := range t.Choices {
		c := &t.Choices[i]
		if c.Verdict != decisions.Allow {
			return nil // a reject may match an effect of another kind
		}
		if !slices.Contains(kinds, c.Kind) {
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds
}
