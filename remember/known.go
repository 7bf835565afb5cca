package remember

import (
	"database/sql"
	"slices"

	"github.com/permd/permd/decisions"
)

// A memory that was deleted, emptied or replaced by a copy of last week looks like
// one in which nothing, or less, was ever rejected. So the ids of rejects are also
// kept in other files, by whoever opens the memory, and handed to the next Open.

// maxKnown bounds the ids of Rejects: the newest are enough to notice a loss.
const maxKnown = 4096

// Rejects returns the ids of the rejects in force, and of those that were lost
// while no person has said that the loss is known; of many, the newest. Options.Known
// of the next Open takes them. Rejects of connections are left out, since they end with
// the daemon.
func (s *Store) Rejects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var holding []*entry
	for _, e := range s.byID {
		if e.choice.Verdict == decisions.Deny && e.choice.Scope.Conn == 0 && e.choice.UID != allUsers {
			holding = append(holding, e)
		}
	}
	// What replaces lost rejects is left out: the lost ones come back with the former
	// database.
	slices.SortFunc(holding, func(a, b *entry) int { return b.choice.Created.Compare(a.choice.Created) })
	var ids []string
	if s.lostEntry != nil {
		ids = slices.Clone(s.missing)
	}
	for _, e := range holding[:min(len(holding), max(0, maxKnown-len(ids)))] {
		ids = append(ids, e.choice.ID)
	}
	return ids
}

// changed tells who keeps the ids of rejects, and who wants to know of changes.
func (s *Store) changed(entries []*entry) {
	s.touched(entries)
	if s.options.Changed != nil && slices.ContainsFunc(entries, func(e *entry) bool { return e.choice.Verdict == decisions.Deny }) {
		s.options.Changed()
	}
}

// touched tells who wants to know of changes, and forgets what was found by comparing.
func (s *Store) touched(entries []*entry) {
	s.touches++
	clear(s.covered)
	if s.options.Touched == nil {
		return
	}
	told := map[uint32]bool{}
	for _, e := range entries {
		switch uid := e.choice.UID; {
		case told[uid]:
		case uid == allUsers:
			s.options.Touched(nil)
		default:
			s.options.Touched(&uid)
		}
		told[e.choice.UID] = true
	}
}

// findMissing finds the known rejects that are not in the database, not even as
// revoked ones, or of which that cannot be said.
func (s *Store) findMissing() {
	for _, id := range s.options.Known[:min(len(s.options.Known), maxKnown)] {
		if s.byID[id] != nil {
			continue
		}
		var there int
		err := s.db.Read.QueryRow("SELECT 1 FROM choices WHERE id = ? UNION ALL SELECT 1 FROM meta WHERE name = ?", id, acceptedPrefix+id).Scan(&there)
		if err != nil {
			s.missing = append(s.missing, id)
		}
	}
}

// acceptedPrefix begins the names of lost rejects in the table meta.
const acceptedPrefix = "lost "

// accept stores that a person knows that rejects were lost: whoever keeps their ids may
// hear of that later, or never if the daemon is killed.
func accept(tx *sql.Tx, ids []string) error {
	for _, id := range ids {
		if _, err := tx.Exec("INSERT OR IGNORE INTO meta (name, value) VALUES (?, x'')", acceptedPrefix+id); err != nil {
			return err
		}
	}
	return nil
}
