package remember

import "fmt"

// A database that was moved away stays open, and so does its folder: what is
// stored there is not found at the next start. The rejects are in RAM and still
// hold. Allows do not, until the very files are in their place again: a person
// may have moved them away to be rid of what was remembered.

// Look makes sure that the database is in its place, and returns why remembered
// allows are off if it is not. It waits for a file system that does not answer for
// some seconds at most. The daemon calls it every second.
func (s *Store) Look() error {
	if s.detached.Load() {
		return nil
	}
	return s.note(s.db.InPlace())
}

// checkPlace returns why the database is not in its place, as far as that is
// known. With look it makes sure, quickly.
func (s *Store) checkPlace(look bool) error {
	if gone := s.misplaced.Load(); gone != nil {
		return *gone // Look notices that it is back
	}
	if !look || s.detached.Load() {
		return nil
	}
	return s.note(s.db.QuickInPlace())
}

// note stores whether the database is in its place.
func (s *Store) note(err error) error {
	switch {
	case s.detached.Load():
		return nil
	case err == nil:
		if s.misplaced.Load() != nil {
			s.misplaced.Store(nil)
		}
		return nil
	}
	err = fmt.Errorf("%w: %w", ErrOff, err)
	s.misplaced.Store(&err)
	return err
}

// Damage says what people have to know of a memory that is not what it was.
type Damage struct {
	// AllowsOff is set if remembered allows do not count.
	AllowsOff bool
	// Gone says that the database is not in its place: what is remembered now, or
	// revoked, would be lost with the process. "" if it is.
	Gone string
	// Lost is the id of the choice that asks about everything, since rejects may be
	// lost, until a person forgets it; "" if there is none.
	Lost string
}

// Damage returns what the latest Look and the start have found.
func (s *Store) Damage() (d Damage) {
	d.AllowsOff = s.state.Load().off != nil
	if gone := s.checkPlace(false); gone != nil {
		d.AllowsOff, d.Gone = true, gone.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if lost := s.lostEntry; lost != nil {
		d.Lost = lost.choice.ID
	}
	return d
}
