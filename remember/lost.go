package remember

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// Rejects that can no longer be read must not be dropped: a rule could then
// allow what a person rejected. They are replaced by a part that matches every
// effect, or every effect of one kind, and asks until a person forgets it
// (permd remember list --changed). It is stored like any other reject, so it
// outlives the daemon.

// allUsers is the owner of what was lost with the names of its owners. No person
// has this user id: it is (uid_t)-1.
const allUsers uint32 = math.MaxUint32

// lostRule is the rule of a part that matches every effect. Its Kind is "" for
// effects of all kinds.
const lostRule = "anything that was rejected before"

func (p *rejectPart) matchesAll() bool {
	return p.Rule == lostRule && p.line == nil && len(p.Sums) == 0
}

// lostPart returns the part that replaces rejects of one kind of effect.
func lostPart(kind effects.Kind) *rejectPart {
	return &rejectPart{Part: Part{Kind: kind, Rule: lostRule}, unsure: true}
}

// lostKind returns the kind of effect of a reject whose line is unreadable, ""
// if it is not known.
func lostKind(c *Choice) effects.Kind {
	switch c.Kind {
	case effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindConnect, effects.KindUse:
		if !strings.Contains(c.Label, "\n") { // otherwise it has several parts
			return c.Kind
		}
	case effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
	}
	return "" // a text, or one of a kind that this permd does not know
}

// lost returns the reject that replaces the whole memory of every person.
func (s *Store) lost() *entry {
	e := &entry{stored: factsParts, changed: true}
	e.choice = Choice{
		ID: newID(), Verdict: decisions.Deny, Label: lostRule, UID: allUsers,
		Scope: Scope{Kind: ForUser}, Created: s.now().UTC(),
	}
	e.parts = []*rejectPart{lostPart("")}
	e.finish()
	return e
}

// wasDeleted reports whether there was a memory at a path that has been
// removed: the file of revocations is created after the database and never
// removed.
func wasDeleted(path string) bool {
	if _, err := os.Lstat(path + ".revoked"); err != nil {
		return false
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// askForLost adds rejects that ask about everything that may have been rejected.
func (s *Store) askForLost(why string) {
	s.loss = why
	if s.lostEntry == nil {
		s.addSalvaged(s.lost())
	}
}

// anyLost returns a reject that replaces the whole memory of every person, nil if there
// is none.
func (s *Store) anyLost() *entry {
	for _, e := range s.byID {
		if e.choice.UID == allUsers {
			return e
		}
	}
	return nil
}

// lossText says what a person has to do about lost rejects.
func (s *Store) lossText(e *entry) string {
	return fmt.Sprintf("%s: every call asks, since rejects may be lost, until you have looked at what is left (permd remember list) and say so (permd remember forget %s)",
		cmp.Or(s.loss, "the memory was damaged or gone at an earlier start"), e.choice.ID)
}
