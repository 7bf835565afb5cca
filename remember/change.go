package remember

import (
	"context"
	"database/sql"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember/history"
)

// changed is the reason of a revocation: another choice has taken the place of this one.
const changed = "changed"

// Change is what a person changes of choices, over the management socket.
type Change struct {
	Scope ScopeKind // ForProject or ForUser, "" to keep it
	// Project is the project of a choice for the user that becomes one for a project
	// (paths.ProjectKey). Others keep theirs.
	Project string
	For     time.Duration // from now on, 0 to keep the time limit
	Forever bool          // without a time limit
	// Line is the line that the choice is matched by from now on, as in Add, "" to keep it. Home
	// is that of the person, for ~/.
	Line, Home string
}

// Change replaces choices in force by others that differ in line, scope or time limit, all of
// them or none, and returns the new ones. They have ids of their own,
// and match from the next request on what the former ones matched; those are revoked. A
// scope that an answer, or a line in words, could not have had is ErrNotRemembered. The
// caller must check whether the person may change them.
func (s *Store) Change(_ context.Context, ids []string, c Change) ([]Choice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	now := s.now()
	s.expireBeforeClockBack(now.UnixNano())
	var result, fresh, old []*entry
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		e := s.byID[id]
		if e == nil || s.expired(e) {
			return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
		}
		n, err := s.changedEntry(e, &c, now)
		if err != nil {
			return nil, err
		}
		if same := s.equalChoice(n, fresh); same != nil {
			if result = append(result, same); same != e {
				old = append(old, e)
			}
			continue
		}
		if err := s.checkRoom(n, fresh); err != nil {
			return nil, err
		}
		result, fresh, old = append(result, n), append(fresh, n), append(old, e)
	}
	err := s.write(func(tx *sql.Tx) error {
		for _, n := range fresh {
			if err := s.insert(tx, n); err != nil {
				return err
			}
		}
		if err := s.endRows(tx, old, now, changed); err != nil {
			return err
		}
		_, err := s.record(tx, history.Edit, now, fresh, old)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("changing choices: %w", err)
	}
	// In this order, so that a session in which both count has at least one.
	s.hold(old)
	s.add(fresh...)
	s.drop(old...)
	if len(old) > 0 {
		_ = s.db.Fold() // as for a revocation, the log must not be needed
	}
	_ = s.storePending() // the status reports a failure
	choices := make([]Choice, len(result))
	for i, e := range result {
		choices[i] = e.snapshot()
	}
	return choices, nil
}

// changedEntry returns what takes the place of an entry.
func (s *Store) changedEntry(e *entry, c *Change, now time.Time) (*entry, error) {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: choice %s %w", ErrNotRemembered, e.choice.ID, fmt.Errorf(format, args...))
	}
	switch off := s.state.Load().off; {
	case e.changed, e.choice.UID == allUsers, e.choice.Verdict == decisions.Deny && e.stored != factsParts && e.stored != factsLine:
		return nil, refuse("is of an earlier permd: forget it, and answer again")
	case off != nil && e.choice.Verdict == decisions.Allow:
		return nil, off
	}
	n := &entry{
		choice: e.choice, digest: e.digest, line: e.line, bound: e.bound, stored: e.stored, expire: e.expire, life: e.life,
	}
	for _, p := range e.parts {
		n.parts = append(n.parts, &rejectPart{Part: p.Part, line: p.line, sums: p.sums, unsure: p.unsure})
	}
	n.matchCount.Store(e.matchCount.Load())
	n.flushed = e.matchCount.Load()
	n.lastMatch.Store(e.lastMatch.Load())
	n.confirmed.Store(e.confirmed.Load())
	n.accepted.Store(e.accepted.Load())
	if err := checkExpiry(c.For); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRemembered, err)
	}
	switch {
	case c.Forever:
		n.choice.Expires, n.expire = time.Time{}, 0
	case c.For > 0:
		n.choice.Expires = now.Add(c.For).UTC()
		n.expire = n.choice.Expires.UnixNano()
	}
	if c.Scope != "" && c.Scope != e.choice.Scope.Kind {
		if err := s.moveTo(n, c); err != nil {
			return nil, refuse("%w", err)
		}
		n.life = nil
	}
	if c.Line != "" && c.Line != n.choice.Label {
		return s.withLine(n, c, now)
	}
	n.finish()
	n.setID(newID())
	return n, nil
}

// withLine returns what takes the place of a choice that gets another line. It is as one that
// the person adds in words: it counts at once, and answers no question.
func (s *Store) withLine(e *entry, c *Change, now time.Time) (*entry, error) {
	ch := &e.choice
	if byLine := e.line != nil || len(e.parts) == 1 && e.parts[0].line != nil; !byLine {
		return nil, fmt.Errorf("%w: choice %s is matched by more than a line: forget it, and add one", ErrNotRemembered, ch.ID)
	}
	// A condition that the new line knows nothing of must not be lost unseen.
	if p := ch.Pins; ch.Verdict == decisions.Allow && (p.Project != "" && ch.Scope.Kind != ForProject || p.Script != "" || p.Cwd != "" || p.Method != "" || p.Given != "" || p.For != "" || p.Claimed || p.Stdin != "" && p.Stdin != string(effects.StdinNone)) {
		return nil, fmt.Errorf("%w: choice %s depends on more than its line: forget it, and add one", ErrNotRemembered, ch.ID)
	}
	n, err := s.entryOfLine(&Line{
		UID: ch.UID, Verdict: ch.Verdict, Kind: ch.Kind, Line: c.Line, Scope: ch.Scope.Kind, Project: ch.Scope.Key, Home: c.Home,
	}, now)
	if err != nil {
		return nil, err
	}
	n.choice.Expires, n.expire = ch.Expires, e.expire
	n.finish()
	return n, nil
}

// moveTo changes the scope of an entry that is not in force yet, or returns why it cannot
// have that scope.
func (s *Store) moveTo(n *entry, c *Change) error {
	ch := &n.choice
	from := ch.Scope
	switch c.Scope {
	case ForProject:
		ch.Scope = Scope{Kind: ForProject, Key: c.Project}
		if from.Kind.ofSession() {
			// Within a project all is compared as in a session of it.
			if ch.Scope.Key = ch.Pins.Project; ch.Scope.Key == "" {
				return fmt.Errorf("does not say of which project its session was: answer the next question for the project")
			}
			return nil
		}
		if !path.IsAbs(c.Project) {
			return fmt.Errorf("would be for a project, and the folder belongs to none")
		}
	case ForUser:
		ch.Scope = Scope{Kind: ForUser}
	case ForSession, ForChildren:
		fallthrough
	default:
		return fmt.Errorf("can be for a project or for the user")
	}
	// Files of a project are compared by their paths in it, and everywhere by absolute
	// paths, which is part of each digest.
	if ch.Verdict == decisions.Deny {
		for _, p := range n.parts {
			if len(p.Sums) > 0 && p.Kind != effects.KindUse || p.line != nil && inProjectOnly(p.line) {
				return fmt.Errorf("is about files as they are named in its scope: reject the call again in the other one")
			}
		}
		return nil
	}
	if n.line == nil && ch.Kind != effects.KindConnect && ch.Kind != effects.KindUse || n.line != nil && inProjectOnly(n.line) ||
		ch.Pins.Script != "" || ch.Pins.Cwd != "" {
		return fmt.Errorf("is bound to files as they are named in its scope: answer again in the other one")
	}
	if ch.Pins.Project != "" {
		if n.line == nil || n.line.Run == nil {
			return fmt.Errorf("is bound to its project")
		}
		ch.Pins.Project = ""
	}
	if n.line != nil {
		return s.allowableLine(ch.UID, n.line, c.Scope)
	}
	return nil
}

// inProjectOnly reports whether a line names something by where it is in a project.
func inProjectOnly(p *pattern.Pattern) bool {
	return p.Path != nil && p.Path.Base == pattern.Project || p.Run != nil && strings.Contains(p.Run.Program, "/") && !path.IsAbs(p.Run.Program)
}
