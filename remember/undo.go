package remember

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/remember/erase"
	"github.com/permd/permd/remember/history"
	"github.com/permd/permd/remember/seals"
)

// What a person has added, forgotten or changed can be taken back: choices that began with a
// change are revoked, and those that ended with it are in force again, under the ids that they
// had. Their rows were kept. A choice whose time has passed, or whose session is over or not
// known to go on, stays as it is: a later session may have the same id.

// undone is the reason of a revocation: what the choice began with was taken back.
const undone = "undone"

// maxHeld bounds the sessions that are held for choices that a person has ended.
const maxHeld = 4096

// ErrNotUndone means that a change cannot be taken back; the text says why.
var ErrNotUndone = errors.New("cannot be taken back")

// Undone is what an undo did, or would do.
type Undone struct {
	ID     string         // of the undo, "" for a preview
	Change history.Change // that was taken back
	// Ended were in force since the change, Restored are in force again. NotRestored are not:
	// their time has passed, or the change ended several choices and began none.
	Ended, Restored, NotRestored []PastChoice
}

// PastChoice is a choice that a change was about.
type PastChoice struct {
	Choice
	Ended bool // it ended with the change; else it began
	// Erased is set if text was erased when the choice ended, which is not back: that of what it
	// was bound to, or words with a secret.
	Erased bool
	Why    string // why it is not in force again, "" if it is
}

// PastChange is a change with the choices that it was about.
type PastChange struct {
	history.Change
	Choices []PastChoice // at most maxPastChoices of them
	More    int          // how many there are besides
	Refused string       // why it cannot be taken back, "" if it can
}

// maxPastChoices bounds the choices of a PastChange.
const maxPastChoices = 20

// record stores a change by a person in a transaction; one about nothing is none.
func (s *Store) record(tx *sql.Tx, what history.What, at time.Time, began, ended []*entry) (string, error) {
	c := history.Change{ID: newID(), Time: at, What: what, Began: idsOf(began), Ended: idsOf(ended)}
	switch {
	case len(began) > 0:
		c.UID = began[0].choice.UID
	case len(ended) > 0:
		c.UID = ended[0].choice.UID
	default:
		return "", nil
	}
	return c.ID, history.Record(tx, &c)
}

func idsOf(entries []*entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.choice.ID
	}
	return ids
}

// noteForgotten keeps what a person has forgotten until storePending records it.
func (s *Store) noteForgotten(entries []*entry) {
	at := map[uint32]int{}
	for _, e := range entries {
		uid := e.choice.UID
		if uid == allUsers || e.row == 0 {
			continue // a loss that a person has accepted, and what no database has
		}
		i, ok := at[uid]
		if !ok {
			i = len(s.unrecorded)
			at[uid] = i
			s.unrecorded = append(s.unrecorded, history.Change{ID: newID(), UID: uid, Time: s.now(), What: history.Forget})
		}
		s.unrecorded[i].Ended = append(s.unrecorded[i].Ended, e.choice.ID)
	}
	s.unrecorded = s.unrecorded[max(0, len(s.unrecorded)-history.Kept):]
}

// hold keeps the sessions of choices that a person ends, so that it is known whether they go on.
func (s *Store) hold(entries []*entry) {
	for _, e := range entries {
		if e.life == nil {
			continue
		}
		if len(s.held) >= maxHeld {
			for id, life := range s.held {
				if life.IsOver() {
					delete(s.held, id)
				}
			}
		}
		if len(s.held) < maxHeld && s.held[e.choice.ID] == nil {
			s.lives.UseAgain(e.life)
			s.held[e.choice.ID] = e.life
		}
	}
}

// ChangeOf returns the id of the newest change by a person that a choice began or ended with, ""
// if none is kept or the newest one could not be stored.
func (s *Store) ChangeOf(choice string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unrecorded) > 0 || s.closed {
		return ""
	}
	return history.Latest(s.db.Read, choice)
}

// LastChange returns the id of the newest change of a person that is in effect and is no undo, ""
// if there is none.
func (s *Store) LastChange(uid uint32) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := s.changes(uid)
	for i := range list {
		if list[i].UndoneBy == "" && list[i].What != history.Undo {
			return list[i].ID, nil
		}
	}
	return "", err
}

// changes returns the changes of a person, with those that could not be stored before.
func (s *Store) changes(uid uint32) ([]history.Change, error) {
	if s.closed {
		return nil, ErrClosed
	}
	if err := s.storePending(); err != nil {
		return nil, err
	}
	return history.List(s.db.Read, uid)
}

// History returns the newest changes of a person, at most limit of them, the newest first.
func (s *Store) History(uid uint32, limit int) ([]PastChange, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.changes(uid)
	if err != nil {
		return nil, err
	}
	list := make([]PastChange, 0, limit)
	for _, c := range all[:min(limit, len(all))] {
		p := PastChange{Change: c}
		if c.UndoneBy != "" {
			p.Refused = "it was taken back"
		} else if _, err := s.planUndo(&c, all); err != nil {
			p.Refused = strings.TrimPrefix(err.Error(), ErrNotUndone.Error()+": ")
		}
		for ended, ids := range [][]string{c.Began, c.Ended} {
			for _, id := range ids {
				if len(p.Choices) == maxPastChoices {
					p.More++
				} else if e, err := s.pastEntry(id); err == nil {
					p.Choices = append(p.Choices, PastChoice{Choice: e.snapshot(), Ended: ended == 1})
				}
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// pastEntry reads a choice that may have ended.
func (s *Store) pastEntry(id string) (e *entry, err error) {
	if e := s.byID[id]; e != nil {
		return e, nil
	}
	if changed, err := seals.Changed(s.db.Read, s.key[:], "id = ?", id); err != nil || len(changed) > 0 {
		return nil, errors.Join(ErrNotFound, err)
	}
	rows, err := s.db.Read.Query("SELECT "+columns+" FROM choices WHERE id = ?", id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return nil, errors.Join(ErrNotFound, rows.Err())
	}
	return scan(rows)
}

// undoPlan is what taking back a change does.
type undoPlan struct {
	end, restore []*entry
	notRestored  []PastChoice
}

// planUndo returns what taking back a change does, or why that cannot be. all are the changes of
// the person.
func (s *Store) planUndo(c *history.Change, all []history.Change) (*undoPlan, error) {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrNotUndone}, args...)...)
	}
	if c.UndoneBy != "" {
		return nil, refuse("it was taken back already; permd remember undo %s makes it again", c.UndoneBy)
	}
	var p undoPlan
	for _, id := range c.Began {
		if e := s.byID[id]; e != nil && !s.expired(e) {
			p.end = append(p.end, e)
		} else if by := history.EndedBy(all, id); by != nil {
			return nil, refuse("a later change has ended the choice %s: take that back first (permd remember undo %s)", id, by.ID)
		}
	}
	why, lost := "", false
	for _, id := range c.Ended {
		e, err := s.endedEntry(id)
		if err == nil && s.equalChoice(e, p.restore, p.end...) != nil {
			err = errors.New("an equal choice is in force")
		}
		if err == nil {
			err = s.checkRoom(e, p.restore)
		}
		switch {
		case err == nil:
			p.restore = append(p.restore, e)
			continue
		case errors.Is(err, errRead):
			return nil, err
		}
		past := PastChoice{Choice: Choice{ID: id}, Ended: true, Why: err.Error()}
		if e != nil {
			past.Choice = e.snapshot()
		}
		if !lost { // what has passed would be over without the change, too
			why, lost = fmt.Sprintf("the choice %s cannot be in force again: %v", id, err), !errors.Is(err, errPassed)
		}
		p.notRestored = append(p.notRestored, past)
	}
	switch {
	case lost && len(c.Began) > 0, why != "" && len(p.end)+len(p.restore) == 0:
		return nil, refuse("%s", why)
	case len(p.end)+len(p.restore) == 0:
		return nil, refuse("nothing of it is in force any more")
	}
	return &p, nil
}

// Why a choice is not in force again: its time limit is over, or it could not be read now.
var (
	errPassed = errors.New("its time has passed")
	errRead   = errors.New("reading a choice that has ended")
)

// endedEntry returns a choice that a person has ended as it would be in force again, or why it
// cannot be, with the choice where that is known.
func (s *Store) endedEntry(id string) (*entry, error) {
	if e := s.byID[id]; e != nil && !s.expired(e) {
		return e, errors.New("another change has brought it back")
	}
	var rows int
	err := s.db.Read.QueryRow("SELECT count(*) FROM choices WHERE id = ? AND revoked_by IN (?, ?, ?, ?)", id, byPerson, changed, renewed, undone).Scan(&rows)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRead, err)
	}
	if rows == 0 {
		return nil, errors.New("what it matched is not known any more")
	}
	e, err := s.pastEntry(id)
	if err != nil {
		return nil, errors.New("what it matched cannot be read any more")
	}
	s.understand(e)
	c := &e.choice
	if e.stored == factsParts {
		c.Label = partsLabel(e.parts) // forgetText takes lines apart for the text of a secret
	}
	if c.Scope.Kind.ofSession() {
		if e.life = s.held[id]; e.life == nil || e.life.IsOver() {
			return e, errors.New("its session is over, or not known to go on")
		}
	}
	switch off := s.state.Load().off; {
	case s.expired(e):
		return e, errPassed
	case e.line != nil && erasedLabel(c.Label), c.Scope.Key == erase.Erased, c.Pins.erased():
		return e, errors.New("its line or folder held what may be a secret, and was erased")
	case c.Verdict == decisions.Allow && off != nil:
		return e, off
	case c.Verdict == decisions.Allow && c.Created.UnixNano() <= s.pending.RevokedBefore:
		return e, errors.New("every allow as old as it was revoked")
	}
	return e, nil
}

// erasedLabel reports whether forgetText may have erased words of a label.
func erasedLabel(label string) bool { return strings.HasSuffix(label, erase.Erased) }

// erased reports whether what a choice was bound to was erased when it ended.
func (p *Pins) erased() bool {
	return slices.Contains([]string{p.Project, p.Cwd, p.Script, p.Stdin, p.Given, p.For, p.Method}, erase.Erased)
}

// Undo takes a change back, with all that it was about or, where that is said in Undone, with
// the rest of it. uid is whose change it must be, nil for anybody's. The result is itself a change
// that can be taken back. The error is ErrNotFound for an unknown id, or wraps ErrNotUndone; then
// nothing was changed. A preview changes nothing.
func (s *Store) Undo(_ context.Context, uid *uint32, id string, preview bool) (*Undone, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	// The choices whose revocation is not stored yet have no row that says so.
	if err := s.storePending(); err != nil {
		return nil, fmt.Errorf("taking back a change: %w", err)
	}
	owner, ok, err := history.Owner(s.db.Read, id)
	switch {
	case err != nil:
		return nil, err
	case !ok || uid != nil && *uid != owner:
		return nil, ErrNotFound
	}
	now := s.now()
	s.expireBeforeClockBack(now.UnixNano())
	all, err := history.List(s.db.Read, owner)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(c history.Change) bool { return c.ID == id })
	if i < 0 {
		return nil, ErrNotFound
	}
	plan, err := s.planUndo(&all[i], all)
	if err != nil {
		return nil, err
	}
	done := &Undone{Change: all[i], NotRestored: plan.notRestored}
	if !preview {
		if done.ID, err = s.applyUndo(plan, id, owner, now); err != nil {
			return nil, fmt.Errorf("taking back a change: %w", err)
		}
	}
	for _, e := range plan.end {
		done.Ended = append(done.Ended, PastChoice{Choice: e.snapshot()})
	}
	for _, e := range plan.restore {
		c := e.snapshot()
		done.Restored = append(done.Restored, PastChoice{
			Choice: c, Ended: true, Erased: erasedLabel(c.Label) || e.bound != nil && e.bound.Erased,
		})
	}
	return done, nil
}

// applyUndo does what was planned, all of it or nothing.
func (s *Store) applyUndo(p *undoPlan, id string, owner uint32, now time.Time) (string, error) {
	change := history.Change{ID: newID(), UID: owner, Time: now, What: history.Undo, Undoes: id, Began: idsOf(p.restore), Ended: idsOf(p.end)}
	err := s.write(func(tx *sql.Tx) error {
		if err := s.endRows(tx, p.end, now, undone); err != nil {
			return err
		}
		for _, e := range p.restore {
			n, damaged, err := seals.Update(tx, s.key[:], "revoked = NULL, revoked_by = NULL, pattern = ?", []any{e.choice.Label}, "n = ? AND revoked IS NOT NULL", e.row)
			if err != nil || n != 1 || damaged > 0 {
				return errors.Join(errRead, err)
			}
		}
		return history.Record(tx, &change)
	})
	if err != nil {
		return "", err
	}
	s.hold(p.end)
	s.add(p.restore...)
	s.drop(p.end...)
	for _, e := range p.restore {
		s.lives.Release(s.held[e.choice.ID])
		delete(s.held, e.choice.ID)
	}
	_ = s.db.Fold() // as for a revocation, the log must not be needed
	return change.ID, nil
}
