//go:build cgo

package remember_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/remember/history"
)

// undoLast takes back the last change of ada.
func undoLast(t *testing.T, s *remember.Store) (*remember.Undone, error) {
	t.Helper()
	id, err := s.LastChange(ada)
	if err != nil || id == "" {
		t.Fatalf("the last change is %q, %v", id, err)
	}
	return s.Undo(t.Context(), nil, id, false)
}

func forget(t *testing.T, s *remember.Store, ids ...string) {
	t.Helper()
	if _, err := s.Forget(t.Context(), ids...); err != nil {
		t.Fatal(err)
	}
}

// TestUndoAnswered: what an answer stored matches again what it matched, and no more.
func TestUndoAnswered(t *testing.T) {
	t.Parallel()
	secret := run("curl", "-H", "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789")
	secret.Text = "run curl -H 'Authorization: Bearer ***'"
	script := run("sh", "./x")
	script.Run.Script = &effects.Script{Path: "/p/x", SHA256: "h", Text: "echo 1\n"}
	for name, tt := range map[string]struct {
		effect effects.Effect
		other  effects.Effect
		erased bool
	}{
		"run":    {run("mytool", "a"), run("mytool", "b"), false},
		"file":   {file(effects.KindWrite, "/p/a"), file(effects.KindWrite, "/p/b"), false},
		"host":   {connect("a.dev", 443, effects.MethodGet), connect("b.dev", 443, effects.MethodGet), false},
		"tool":   {use("s", "t", `{"a":1}`), use("s", "u", `{"a":1}`), false},
		"secret": {secret, run("curl", "-H", "Authorization: Bearer else"), true},
		"script": {script, run("sh", "./y"), true},
	} {
		for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
			o := options(path(t))
			s := open(t, o)
			c := save(t, s, remember.Draft{Verdict: verdict, Query: ask(tt.effect), Scope: remember.ForProject, DecisionID: "d"})
			is := func(want string) {
				t.Helper()
				if have := said(t, s, ask(tt.effect)); have != want {
					t.Errorf("%s %s: it is answered %q, want %q", verdict, name, have, want)
				}
				if have := said(t, s, ask(tt.other)); have != "" {
					t.Errorf("%s %s: another one is answered %q", verdict, name, have)
				}
			}
			is(string(verdict))
			forget(t, s, c.ID)
			is("")
			got, err := undoLast(t, s)
			if err != nil || len(got.Restored) != 1 || len(got.Ended) != 0 {
				t.Fatalf("%s %s: %+v, %v", verdict, name, got, err)
			}
			is(string(verdict))
			again := got.Restored[0]
			if again.ID != c.ID || again.DecisionID != c.DecisionID || again.Pins != c.Pins || !again.Created.Equal(c.Created) || again.Erased != (tt.erased && verdict == decisions.Allow) && name == "script" {
				t.Errorf("%s %s: it was\n%+v, and is\n%+v", verdict, name, c, again)
			}
			if again.BoundText != "" {
				t.Errorf("%s %s: the text is back: %q", verdict, name, again.BoundText)
			}
			// The answer itself is the last change now.
			if got, err = undoLast(t, s); err != nil || got.Change.What != history.Answer || len(got.Ended) != 1 {
				t.Fatalf("%s %s: %+v, %v", verdict, name, got, err)
			}
			is("")
			if id, err := s.LastChange(ada); id != "" || err != nil {
				t.Errorf("there is still %q to take back, %v", id, err)
			}
			if _, err := s.Undo(t.Context(), nil, got.ID, false); err != nil {
				t.Fatal(err)
			}
			is(string(verdict))
		}
	}
}

// TestUndoSession: a choice of a session is back while that goes on, and never in a later one
// with the same id.
func TestUndoSession(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	owner := decisions.Owner{UID: ada, Conn: 7}
	draft := func(conn uint64) remember.Draft {
		q := ask(run("mytool", "a"))
		q.Session.Conn = conn
		return remember.Draft{Verdict: decisions.Allow, Query: q, Scope: remember.ForSession, DecisionID: "d"}
	}
	c := save(t, s, draft(7))
	forget(t, s, c.ID)
	if _, err := undoLast(t, s); err != nil || said(t, s, draft(7).Query) != "allow" {
		t.Fatalf("in its session it is not back: %v", err)
	}
	forget(t, s, c.ID)
	s.EndSession(owner, "s")
	if got, err := undoLast(t, s); !errors.Is(err, remember.ErrNotUndone) || !strings.Contains(err.Error(), "session is over") {
		t.Errorf("after its session: %+v, %v", got, err)
	}
	if said(t, s, draft(7).Query) != "" {
		t.Error("a later session has the choice")
	}
	// A choice that is back ends with its session.
	c = save(t, s, draft(7))
	forget(t, s, c.ID)
	if _, err := undoLast(t, s); err != nil {
		t.Fatal(err)
	}
	s.EndSession(owner, "s")
	if said(t, s, draft(7).Query) != "" {
		t.Error("it outlives its session")
	}
	// Nor does it come back after a restart, in which numbers of connections begin anew; not even
	// one of a session without a connection.
	for _, conn := range []uint64{7, 0} {
		o := options(path(t))
		s := open(t, o)
		c := save(t, s, draft(conn))
		forget(t, s, c.ID)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, o)
		if got, err := undoLast(t, again); !errors.Is(err, remember.ErrNotUndone) {
			t.Errorf("connection %d: after a restart: %+v, %v", conn, got, err)
		}
	}
}

// TestUndoRefused: what cannot be taken back says why, and changes nothing.
func TestUndoRefused(t *testing.T) {
	t.Parallel()
	now := noon
	o := options(path(t))
	o.Now = func() time.Time { return now }
	s := open(t, o)
	add := func(uid uint32, line string, limit time.Duration) string {
		t.Helper()
		c, err := s.Add(t.Context(), remember.Line{UID: uid, Verdict: decisions.Allow, Kind: effects.KindRun, Line: line, Scope: remember.ForUser, For: limit})
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	a := add(ada, "a *", time.Hour)
	added := s.ChangeOf(a)
	bob := uint32(ada + 1)
	for _, id := range []string{"none", ""} {
		if _, err := s.Undo(t.Context(), nil, id, false); !errors.Is(err, remember.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := s.Undo(t.Context(), &bob, added, false); !errors.Is(err, remember.ErrNotFound) {
		t.Errorf("another person: %v", err)
	}
	if id, err := s.LastChange(bob); id != "" || err != nil {
		t.Errorf("another person's last change is %q, %v", id, err)
	}
	forget(t, s, a)
	forgotten := s.ChangeOf(a)
	if _, err := s.Undo(t.Context(), nil, added, false); !errors.Is(err, remember.ErrNotUndone) || !strings.Contains(err.Error(), "permd remember undo "+forgotten) {
		t.Errorf("overtaken: %v", err)
	}
	now = now.Add(2 * time.Hour)
	if _, err := s.Undo(t.Context(), nil, forgotten, false); !errors.Is(err, remember.ErrNotUndone) || !strings.Contains(err.Error(), "time has passed") {
		t.Errorf("expired: %v", err)
	}
	// A time limit that was changed is as it was before, also where that is over by now.
	short := add(ada, "short *", time.Hour)
	changed, err := s.Change(t.Context(), []string{short}, remember.Change{For: 8 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	back, err := s.Undo(t.Context(), nil, s.ChangeOf(changed[0].ID), false)
	if err != nil || len(back.Ended) != 1 || len(back.Restored) != 0 || len(back.NotRestored) != 1 || !strings.Contains(back.NotRestored[0].Why, "time has passed") {
		t.Errorf("a longer limit taken back: %+v, %v", back, err)
	}
	if _, err := s.Get(changed[0].ID); !errors.Is(err, remember.ErrNotFound) {
		t.Errorf("the longer limit is in force: %v", err)
	}
	if again, err := s.Undo(t.Context(), nil, back.ID, false); err != nil || len(again.Restored) != 1 || again.Restored[0].ID != changed[0].ID {
		t.Errorf("the longer limit again: %+v, %v", again, err)
	}
	forget(t, s, changed[0].ID)
	// Of several that were forgotten, those are back that can be.
	b, c := add(ada, "b *", time.Hour), add(ada, "c *", 0)
	forget(t, s, b, c)
	now = now.Add(2 * time.Hour)
	got, err := s.Undo(t.Context(), nil, s.ChangeOf(c), false)
	if err != nil || len(got.Restored) != 1 || got.Restored[0].ID != c || len(got.NotRestored) != 1 || got.NotRestored[0].ID != b || got.NotRestored[0].Why == "" {
		t.Errorf("one of two: %+v, %v", got, err)
	}
	if _, err := s.Undo(t.Context(), nil, got.Change.ID, false); !errors.Is(err, remember.ErrNotUndone) || !strings.Contains(err.Error(), "permd remember undo "+got.ID) {
		t.Errorf("a second time: %v", err)
	}
	// A choice that was made again is not in force twice.
	first := add(ada, "d *", 0)
	forget(t, s, first)
	gone := s.ChangeOf(first)
	second := add(ada, "d *", 0)
	if _, err := s.Undo(t.Context(), nil, gone, false); !errors.Is(err, remember.ErrNotUndone) || !strings.Contains(err.Error(), "an equal choice is in force") {
		t.Errorf("made again: %v", err)
	}
	forget(t, s, second)
	if got, err := s.Undo(t.Context(), nil, gone, false); err != nil || len(got.Restored) != 1 || got.Restored[0].ID != first {
		t.Errorf("made again and forgotten: %+v, %v", got, err)
	}
	// An answer that did not count was no change.
	kept := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("mytool", "a")), Scope: remember.ForProject, DecisionID: "d"})
	if err := s.Drop(t.Context(), kept.ID); err != nil {
		t.Fatal(err)
	}
	if id := s.ChangeOf(kept.ID); id != "" {
		t.Errorf("the answer is the change %q", id)
	}
}

// TestUndoLocked: while the database cannot be written, nothing is taken back; what was forgotten
// meanwhile can be, once it is stored.
func TestUndoLocked(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits three times until the database is taken for locked, 15 s; TestUndoneChanges is the quick one of undo")
	}
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	q := ask(run("mytool", "a"))
	c := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: q, Scope: remember.ForProject})
	added := s.ChangeOf(c.ID)
	release := lockDatabase(t, o.Path)
	if _, err := s.Undo(t.Context(), nil, added, false); err == nil || said(t, s, q) != "allow" {
		t.Errorf("it is answered %q: %v", said(t, s, q), err)
	}
	forget(t, s, c.ID)
	if id := s.ChangeOf(c.ID); id != "" {
		t.Errorf("the newest change is %q, and not stored", id)
	}
	if _, err := s.LastChange(ada); err == nil {
		t.Error("changes that are not stored are left out")
	}
	release()
	got, err := undoLast(t, s)
	if err != nil || got.Change.What != history.Forget || said(t, s, q) != "allow" {
		t.Errorf("it is answered %q: %+v, %v", said(t, s, q), got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if said(t, open(t, o), q) != "allow" {
		t.Error("the file of revocations still has it")
	}
}

// TestHistoryBound: as many changes are kept as there should be, the newest.
func TestHistoryBound(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	for i := range history.Kept + 5 {
		save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("mytool", strings.Repeat("x", i+1))), Scope: remember.ForProject})
	}
	if list, err := s.History(ada, 1000); err != nil || len(list) != history.Kept || !strings.Contains(list[0].Choices[0].Label, strings.Repeat("x", history.Kept+5)) {
		t.Errorf("%d are kept: %v", len(list), err)
	}
}
