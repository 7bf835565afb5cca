//go:build cgo

package remember_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/remember"
)

// lockDatabase makes everything that is written to the database wait, as on a slow disk,
// until release is called.
func lockDatabase(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// revokedBecause returns how many choices in the database were revoked for each reason.
func revokedBecause(t *testing.T, path string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT coalesce(revoked_by, 'in force'), count(*) FROM choices GROUP BY 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]int{}
	for rows.Next() {
		var reason string
		var n int
		if err := rows.Scan(&reason, &n); err != nil {
			t.Fatal(err)
		}
		found[reason] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestEndDoesNotWait ends a session and a connection while nothing can be written, and an
// answer for the session is being stored. Their choices match nothing at once, also in a
// new session with the same id, whose own choices stay.
func TestEndDoesNotWait(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	question := func(program string) *decisions.MemoryQuery { return ask(run(program, "x")) }
	draft := func(program string, v decisions.Verdict) remember.Draft {
		return remember.Draft{Verdict: v, Query: question(program), Scope: remember.ForSession}
	}
	save(t, s, draft("make", decisions.Allow))
	save(t, s, draft("wc", decisions.Deny))
	save(t, s, remember.Draft{Verdict: decisions.Allow, Query: question("cat"), Scope: remember.ForUser})
	second := ask(run("ls"))
	second.Session.ID = "s2"
	save(t, s, remember.Draft{Verdict: decisions.Allow, Query: second, Scope: remember.ForSession})

	release := lockDatabase(t, o.Path)
	started, stored := make(chan struct{}), make(chan error, 1)
	go func() {
		close(started)
		_, err := s.Save(context.Background(), draft("late", decisions.Allow))
		stored <- err
	}()
	<-started
	begin := time.Now()
	owner := decisions.Owner{UID: ada, Conn: 7}
	s.EndSession(owner, "s")
	if have := said(t, s, question("make")) + said(t, s, question("wc")); have != "" {
		t.Errorf("after the end of the session: %q", have)
	}
	if have := said(t, s, question("cat")) + said(t, s, second); have != "allowallow" {
		t.Errorf("the other choices: %q", have)
	}
	s.EndConnection(owner)
	if have := said(t, s, second); have != "" {
		t.Errorf("after the end of the connection: %q", have)
	}
	// A write waits for five seconds.
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("took %v while nothing could be written", took)
	}
	release()

	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	save(t, s, draft("new", decisions.Allow))
	eventually.Holds(t, "that the choices of what has ended are revoked in the database", func() bool {
		have := revokedBecause(t, o.Path)
		// "late" may have been stored for the session before or after its end.
		n := have["session ended"]
		return n >= 3 && n+have["in force"] == 6
	})
	if have := said(t, s, question("new")); have != "allow" {
		t.Errorf("what was allowed in the new session: %q", have)
	}
	if have := said(t, s, question("make")) + said(t, s, question("wc")); have != "" {
		t.Errorf("the choices of the old session are back: %q", have)
	}
}

// TestEndThenClose: what ends while nothing can be written is revoked in the database when
// the memory is closed.
func TestEndThenClose(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	const sessions = 50
	for n := range sessions {
		q := ask(run("make"))
		q.Session.ID = fmt.Sprint("s", n)
		save(t, s, remember.Draft{Verdict: decisions.Allow, Query: q, Scope: remember.ForSession})
	}
	release := lockDatabase(t, o.Path)
	for n := range sessions {
		s.EndSession(decisions.Owner{UID: ada, Conn: 7}, fmt.Sprint("s", n))
	}
	if n := len(s.List(nil)); n != 0 {
		t.Errorf("%d choices are listed", n)
	}
	release()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if have := revokedBecause(t, o.Path); have["session ended"] != sessions || len(have) != 1 {
		t.Errorf("revoked: %v", have)
	}
}

// TestSessionOfEarlierAnswer begins with an answer that is stored after its session has
// ended and was declared again: it allows nothing there.
func TestSessionOfEarlierAnswer(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	// A first choice, without which the session would have nothing to end.
	save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("make")), Scope: remember.ForSession})
	release := lockDatabase(t, o.Path)
	stored := make(chan error, 1)
	go func() {
		_, err := s.Save(context.Background(), remember.Draft{Verdict: decisions.Allow, Query: ask(run("late")), Scope: remember.ForSession})
		stored <- err
	}()
	// The lock of the store is held for as long as the answer is being stored, and List
	// waits for it.
	eventually.Holds(t, "that the answer is being stored", func() bool {
		done := make(chan struct{})
		go func() {
			s.List(nil)
			close(done)
		}()
		select {
		case <-done:
			return false
		case <-time.After(50 * time.Millisecond):
			return true
		}
	})
	s.EndSession(decisions.Owner{UID: ada, Conn: 7}, "s")
	release()
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	if have := said(t, s, ask(run("late"))); have != "" {
		t.Errorf("the answer of the earlier session says %q", have)
	}
}
