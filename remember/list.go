package remember

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// List returns the choices in force, oldest first; uid limits them to one
// person's unless it is nil. Replacements of lost choices of everyone are shown
// to the user the daemon runs as.
func (s *Store) List(uid *uint32) []Choice {
	list, _, _ := s.Page(uid, Page{Limit: math.MaxInt})
	return list
}

// Page selects a part of the list.
type Page struct {
	After string // the part begins after the choice of this id, or at the beginning if there is none
	Limit int    // maximum number of choices
	// Newest is set for a list that begins with the newest choice.
	Newest bool
}

// Page returns a part of the list, and how many choices the whole list has. more is set if others
// follow.
func (s *Store) Page(uid *uint32, p Page) (list []Choice, total int, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	expired := s.expiredNow()
	list = make([]Choice, 0, min(p.Limit, len(s.byID)))
	begun := p.After == "" || s.listedAt(uid, p.After, expired) == nil
	for e := range s.inOrder(p.Newest) {
		if expired(e) || !listed(uid, e) {
			continue
		}
		total++
		switch {
		case !begun:
			begun = e.choice.ID == p.After
		case len(list) < p.Limit:
			list = append(list, e.snapshot())
		default:
			more = true
		}
	}
	return list, total, more
}

// All returns the choices of the list one by one, the newest first if newest is set.
func (s *Store) All(uid *uint32, newest bool) iter.Seq[*Choice] {
	return func(yield func(*Choice) bool) {
		var all []*entry
		s.mu.Lock()
		expired := s.expiredNow()
		for e := range s.inOrder(newest) {
			if !expired(e) && listed(uid, e) {
				all = append(all, e)
			}
		}
		s.mu.Unlock()
		for _, e := range all {
			if c := e.snapshot(); !yield(&c) {
				return
			}
		}
	}
}

// Find returns the choices in force that have these ids, in their order, and the first id that
// none has, "" if all have one.
func (s *Store) Find(uid *uint32, ids []string) (found []Choice, missing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	expired := s.expiredNow()
	for _, id := range ids {
		e := s.listedAt(uid, id, expired)
		if e == nil {
			return nil, id
		}
		found = append(found, e.snapshot())
	}
	return found, ""
}

// listedAt returns the entry of an id if it is in the list.
func (s *Store) listedAt(uid *uint32, id string, expired func(*entry) bool) *entry {
	if e := s.byID[id]; e != nil && !expired(e) && listed(uid, e) {
		return e
	}
	return nil
}

// listed reports whether a choice is in the list of a person.
func listed(uid *uint32, e *entry) bool {
	return uid == nil || *uid == e.choice.UID || e.choice.UID == allUsers && *uid == uint32(os.Geteuid())
}

// inOrder returns all entries, the oldest or the newest first. Store.mu is held. The order is
// kept until a choice is added or dropped.
func (s *Store) inOrder(newest bool) iter.Seq[*entry] {
	if s.ordered == nil || s.orderedAt != s.touches {
		s.ordered = slices.AppendSeq(make([]*entry, 0, len(s.byID)), maps.Values(s.byID))
		slices.SortFunc(s.ordered, func(a, b *entry) int {
			return cmp.Or(a.choice.Created.Compare(b.choice.Created), strings.Compare(a.choice.ID, b.choice.ID))
		})
		s.orderedAt = s.touches
	}
	if newest {
		return func(yield func(*entry) bool) {
			for _, e := range slices.Backward(s.ordered) {
				if !yield(e) {
					return
				}
			}
		}
	}
	return slices.Values(s.ordered)
}

// maxCompared bounds the pairs of choices of one person that are compared after a change, so
// that it takes no noticeable time. Pairs beyond are not reported.
const maxCompared = 2_000_000

// Covered returns, by the id of a choice in force, the id of another one that matches
// everything it matches, in the same scope or a wider one and at least as long: without the
// first, every call would be decided as it is. Of two that are equal, the newer is covered.
// Only choices that are matched by lines are compared. A nil uid means everybody's.
func (s *Store) Covered(uid *uint32) map[string]string {
	var uids []uint32
	if uid != nil {
		uids = append(uids, *uid)
	} else {
		s.mu.Lock()
		uids = slices.Collect(maps.Keys(s.ofUser))
		s.mu.Unlock()
	}
	covered := map[string]string{}
	for _, uid := range uids {
		for o, e := range s.coveredOf(uid) {
			if !s.expired(o) && !s.refused(e) { // e lasts at least as long
				covered[o.choice.ID] = e.choice.ID
			}
		}
	}
	return covered
}

// coveredOf returns the choices of a person that others cover, whether they have expired or
// not: what has expired covers nothing that has not. The result holds until a choice is added,
// dropped or confirmed, and must not be changed.
func (s *Store) coveredOf(uid uint32) map[*entry]*entry {
	s.mu.Lock()
	found, seen := s.covered[uid], s.touches
	var all []*entry
	for _, e := range s.byID {
		if found == nil && e.choice.UID == uid && e.comparable() {
			all = append(all, e)
		}
	}
	s.mu.Unlock()
	if found != nil {
		return found
	}
	found = s.compare(all)
	s.mu.Lock()
	if s.touches == seen {
		s.covered[uid] = found
	}
	s.mu.Unlock()
	return found
}

// compare finds which choices of one person are covered by which.
func (s *Store) compare(all []*entry) map[*entry]*entry {
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.row, b.row) })
	type start struct {
		verdict decisions.Verdict
		text    string
	}
	byStart := map[start][]*entry{}
	for _, e := range all {
		for _, p := range e.lines() {
			starts := p.Starts()
			at := start{e.choice.Verdict, starts[len(starts)-1]}
			byStart[at] = append(byStart[at], e)
		}
	}
	covered := map[*entry]*entry{}
	budget := maxCompared
	for _, o := range all {
		// Whatever covers all parts covers the first.
		first := o.lines()[0]
		for _, text := range first.Starts() {
			for _, e := range byStart[start{o.choice.Verdict, text}] {
				by := covered[o]
				if by != nil && by.row <= e.row {
					break
				}
				if budget--; budget < 0 {
					return covered
				}
				if e != o && s.coversChoice(e, o) && (e.row < o.row || !s.coversChoice(o, e)) {
					covered[o] = e
				}
			}
			if covered[o] != nil && first.Tool == nil {
				break // the one with the shortest start; of tools, the oldest
			}
		}
	}
	return covered
}

// comparable reports whether everything that the choice is matched by is known as lines.
func (e *entry) comparable() bool {
	if e.changed || e.choice.UID == allUsers {
		return false
	}
	if e.choice.Verdict == decisions.Allow {
		return e.line != nil
	}
	return len(e.parts) > 0 && !slices.ContainsFunc(e.parts, func(p *rejectPart) bool {
		return p.line == nil || p.unsure || len(p.Sums) > 0
	})
}

// lines returns the lines that the choice is matched by.
func (e *entry) lines() []*pattern.Pattern {
	if e.choice.Verdict == decisions.Allow {
		return []*pattern.Pattern{e.line}
	}
	lines := make([]*pattern.Pattern, len(e.parts))
	for i, p := range e.parts {
		lines[i] = p.line
	}
	return lines
}

// coversChoice reports whether everything that o matches is matched by e, as long as o is
// in force.
func (s *Store) coversChoice(e, o *entry) bool {
	a, b := &e.choice, &o.choice
	if a.Verdict != b.Verdict || a.UID != b.UID || !e.coversScope(o) || e.expire != 0 && (o.expire == 0 || o.expire > e.expire) ||
		a.Pins.Project != "" && a.Pins.Project != b.Pins.Project && (b.Scope.Kind != ForProject || a.Pins.Project != b.Scope.Key) {
		return false
	}
	if a.Verdict == decisions.Deny {
		return !slices.ContainsFunc(o.parts, func(p *rejectPart) bool {
			return !slices.ContainsFunc(e.parts, func(w *rejectPart) bool { return w.line.Covers(p.line, false) })
		})
	}
	return e.line.Covers(o.line, true) && e.coversPins(o) && s.countsWhere(e, o)
}

// coversScope reports whether e applies wherever o does.
func (e *entry) coversScope(o *entry) bool {
	a, b := &e.choice.Scope, &o.choice.Scope
	switch a.Kind {
	case ForUser:
		// In further folders of a session, and in other working trees, only rejects for the
		// project hold.
		return e.choice.Verdict == decisions.Allow || b.Kind != ForProject
	case ForProject:
		return b.Kind == ForProject && a.Key == b.Key
	case ForSession, ForChildren:
		// Each of them ends when it is idle.
		return false
	}
	return false
}

// coversPins reports whether an allow asks for nothing in addition to its line that another
// one does not.
func (e *entry) coversPins(o *entry) bool {
	a, b := &e.choice.Pins, &o.choice.Pins
	byPerson := func(e *entry) bool { return e.choice.DecisionID == "" }
	switch {
	case !byPerson(e) && (byPerson(o) || a.Claimed != b.Claimed),
		a.Stdin != "" && a.Stdin != b.Stdin,
		a.Method != "" && a.Method != b.Method,
		a.SHA256 != b.SHA256, path.Base(a.Script) != path.Base(b.Script),
		o.answer.Exact && !e.answer.Exact:
		return false
	}
	if e.line.Detail() != effects.DetailUse {
		return true
	}
	// A line that names a tool means it in no version.
	versioned := strings.Contains(o.line.String(), "@") && o.line.String() != e.line.String()
	return !versioned && (a.Destructive || byPerson(e) || !b.Destructive && !byPerson(o))
}

// countsWhere reports whether e counts wherever o does: an allow that nobody has confirmed
// does not count for what is guarded, or not at all.
func (s *Store) countsWhere(e, o *entry) bool {
	return e.confirmed.Load() != 0 ||
		!s.options.ConfirmAll && !e.choice.Pins.Guarded && (o.confirmed.Load() == 0 || !o.answer.Exact)
}
