package remember

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/decisions/targets"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/remember/history"
	"github.com/permd/permd/remember/seals"
)

// Line is a choice that a person makes as a rule line, over the management
// socket.
type Line struct {
	UID     uint32
	Verdict decisions.Verdict // Allow or Deny
	Kind    effects.Kind
	Line    string // in the language of decisions/pattern
	Scope   ScopeKind
	// Project is the project that the choice is bound to (paths.ProjectKey),
	// for ForProject.
	Project string
	Home    string // of the person, for ~/
	For     time.Duration
}

// Add stores a choice that is matched by its line. A person makes it directly,
// so it counts at once, and one that names an exact path covers guarded tags.
func (s *Store) Add(_ context.Context, l Line) (Choice, error) {
	choices, refused, err := s.addLines(history.Add, false, []Line{l})
	if err = errors.Join(err, errors.Join(refused...)); err != nil {
		return Choice{}, err
	}
	return choices[0], nil
}

// Import stores choices of one person as Add does, as one change: all of those that are not
// refused, or none. refused holds an error for each line, nil for those that are in force. A
// preview stores none; the choices that would be stored have no ids.
func (s *Store) Import(_ context.Context, preview bool, lines ...Line) (choices []Choice, refused []error, err error) {
	return s.addLines(history.Import, preview, lines)
}

func (s *Store) addLines(what history.What, preview bool, lines []Line) (choices []Choice, refused []error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	now := s.now()
	s.expireBeforeClockBack(now.UnixNano())
	var fresh []*entry
	choices, refused = make([]Choice, len(lines)), make([]error, len(lines))
	of := make([]*entry, len(lines)) // nil for a line that is refused
	for i := range lines {
		e, err := s.entryOfLine(&lines[i], now)
		if err == nil {
			if same := s.equalChoice(e, fresh); same != nil {
				of[i] = same
				continue
			}
			err = s.checkRoom(e, fresh)
		}
		if refused[i] = err; err == nil {
			of[i], fresh = e, append(fresh, e)
		}
	}
	if len(fresh) > 0 && !preview {
		err := s.write(func(tx *sql.Tx) error {
			for _, e := range fresh {
				if err := s.insert(tx, e); err != nil {
					return err
				}
			}
			_, err := s.record(tx, what, now, fresh, nil)
			return err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("saving choice: %w", err)
		}
		s.add(fresh...)
		_ = s.storePending() // the status reports a failure
	}
	for i, e := range of {
		if e != nil {
			choices[i] = e.snapshot()
			choices[i].Earlier = !slices.Contains(fresh, e)
			if preview && !choices[i].Earlier {
				choices[i].ID = ""
			}
		}
	}
	return choices, refused, nil
}

func (s *Store) entryOfLine(l *Line, now time.Time) (*entry, error) {
	p, err := pattern.Parse(l.Kind, l.Line)
	if err != nil {
		return nil, err
	}
	if p, err = expandHome(p, l.Home); err != nil {
		return nil, err
	}
	if p.Tool != nil && p.Tool.UnknownKind() {
		return nil, fmt.Errorf("%w: it never matches; the kinds of calls that name no tool are %s", ErrNotRemembered, strings.Join(effects.NamelessKinds(), ", "))
	}
	e := &entry{line: p, choice: Choice{
		ID: newID(), Verdict: l.Verdict, Kind: l.Kind, Label: p.String(), UID: l.UID, Created: now.UTC(),
		Scope: Scope{Kind: l.Scope},
	}}
	c := &e.choice
	if display.Display(c.Label) != c.Label {
		return nil, fmt.Errorf("%w: the line is too long, or holds a secret that would be stored readable", ErrNotRemembered)
	}
	if err := checkExpiry(l.For); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRemembered, err)
	}
	if l.For > 0 {
		c.Expires, e.expire = now.Add(l.For).UTC(), now.Add(l.For).UnixNano()
	}
	switch l.Verdict {
	case decisions.Allow:
		if err := s.allowableLine(l.UID, p, l.Scope); err != nil {
			return nil, err
		}
	case decisions.Deny:
	case decisions.Ask:
		fallthrough
	default:
		return nil, fmt.Errorf("%w: %q is no verdict to remember", ErrNotRemembered, l.Verdict)
	}
	switch l.Scope {
	case ForProject:
		if !path.IsAbs(l.Project) {
			return nil, fmt.Errorf("%w: the folder belongs to no project", ErrNotRemembered)
		}
		c.Scope.Key = l.Project
	case ForUser:
	case ForSession, ForChildren:
		fallthrough
	default:
		return nil, fmt.Errorf("%w: a line is stored for a project or for the user", ErrNotRemembered)
	}
	e.stored = factsLine
	if l.Verdict == decisions.Deny {
		e.parts = []*rejectPart{{Part: Part{Kind: c.Kind, Rule: c.Label}, line: p, entry: e}}
	}
	s.understand(e)
	e.confirmed.Store(now.UnixNano())
	e.finish()
	return e, nil
}

// expandHome replaces ~/ by a home folder, since choices are matched without
// knowing homes.
func expandHome(p *pattern.Pattern, home string) (*pattern.Pattern, error) {
	if p.Path == nil || p.Path.Base != pattern.Home {
		return p, nil
	}
	if !path.IsAbs(home) {
		return nil, fmt.Errorf("%w: the home that ~/ stands for is not known, write the absolute path", ErrNotRemembered)
	}
	full := pattern.Path{Base: pattern.Root}
	for part := range strings.SplitSeq(path.Clean(home), "/") {
		if part != "" {
			full.Parts = append(full.Parts, pattern.Glob{part})
		}
	}
	full.Parts = append(full.Parts, p.Path.Parts...)
	return pattern.Parse(p.Kind, full.String())
}

// allowableLine returns why an allow of a line must not be remembered.
func (s *Store) allowableLine(uid uint32, p *pattern.Pattern, scope ScopeKind) error {
	if off := s.state.Load().off; off != nil {
		return off
	}
	switch {
	case p.Run == nil:
	case strings.Contains(p.Run.Program, "/"):
		return fmt.Errorf("%w: a program is named without its path, and a script is only remembered with its content", ErrNotRemembered)
	case targets.Runs(p.Run.Program):
		return fmt.Errorf("%w: %s runs what the project's files say, which is only remembered with their content", ErrNotRemembered, p.Run.Program)
	case p.Run.Program == "git" && scope == ForUser:
		return fmt.Errorf("%w: git obeys the configuration of where it runs, so it is bound to the project", ErrNotRemembered)
	}
	q := decisions.MemoryQuery{UID: uid, Effect: &effects.Effect{Kind: p.Kind}}
	if p.Run != nil {
		run := effects.Run{Program: p.Run.Program}
		for _, w := range p.Run.Words {
			run.Args = append(run.Args, strings.Join(w, "*"))
		}
		q.Effect.Run = &run
	}
	if s.options.Allowable != nil {
		if err := s.options.Allowable(&q); err != nil {
			return fmt.Errorf("%w: %w", ErrNotRemembered, err)
		}
	}
	return nil
}

// update changes a column of a choice whose row is as permd wrote it.
func (s *Store) update(tx *sql.Tx, set string, to any, where string, id string) error {
	_, damaged, err := seals.Update(tx, s.key[:], set, []any{to}, where, id)
	if err == nil && damaged > 0 {
		err = fmt.Errorf("%w: the choice %s is not as it was written", sqlitedb.ErrDamaged, id)
	}
	return err
}

// Confirm confirms choices that a client reported, and rejects of an earlier
// version of permd, which then deny what their lines match.
func (s *Store) Confirm(_ context.Context, ids ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	now := s.now().UnixNano()
	for _, id := range ids {
		if e := s.byID[id]; e == nil || s.expired(e) {
			return fmt.Errorf("%w: %q", ErrNotFound, id)
		} else if !e.acceptable() {
			return fmt.Errorf("%w: choice %s cannot be carried over: %s", ErrNotRemembered, id, e.whyChanged())
		}
	}
	err := s.write(func(tx *sql.Tx) error {
		for _, id := range ids {
			if err := s.update(tx, "confirmed = ?", now, "id = ? AND confirmed IS NULL", id); err != nil {
				return err
			}
			if s.byID[id].whyChanged() == "" {
				continue
			}
			if err := s.update(tx, "looked = ?", now, "id = ? AND looked IS NULL", id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("confirming choices: %w", err)
	}
	for _, id := range ids {
		e := s.byID[id]
		e.confirmed.CompareAndSwap(0, now)
		s.touched([]*entry{e})
		if e.whyChanged() != "" {
			e.accepted.CompareAndSwap(0, now)
		}
	}
	return nil
}
