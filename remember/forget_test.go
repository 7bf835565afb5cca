//go:build cgo

package remember_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

func TestListAndForget(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	q := ask(run("git", "commit", "-m", "canary-value"))
	q.Effect.Text = "git commit -m …"
	saved := save(t, s, remember.Draft{
		Verdict: decisions.Allow, Query: q, Scope: remember.ForProject, DecisionID: "d1", Expires: noon.Add(time.Hour),
	})
	for range 2 {
		if said(t, s, q) != "allow" {
			t.Fatal("no match")
		}
	}
	want := remember.Choice{
		ID: saved.ID, Verdict: decisions.Allow, Kind: effects.KindRun, Label: "git commit -m …",
		Pins: remember.Pins{Project: "/p", Stdin: "none"}, Scope: remember.Scope{Kind: remember.ForProject, Key: "/p"},
		UID: ada, DecisionID: "d1", Created: noon, Expires: noon.Add(time.Hour), Matches: 2, LastMatched: noon,
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	have, err := s.Get(saved.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	uid := uint32(ada)
	if diff := cmp.Diff([]remember.Choice{want}, s.List(&uid)); diff != "" {
		t.Error(diff)
	}
	uid++
	if list := s.List(&uid); len(list) != 0 {
		t.Errorf("another person's list has %v", list)
	}
	for _, name := range []string{o.Path, o.Path + "-wal"} {
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte("canary-value")) {
			t.Errorf("%s holds an argument", filepath.Base(name))
		}
	}
	n, err := s.Forget(t.Context(), saved.ID, "nosuch", saved.ID)
	if n != 1 || !errors.Is(err, remember.ErrNotFound) {
		t.Errorf("have %d, %v", n, err)
	}
	if said(t, s, q) != "" {
		t.Error("a forgotten choice matches")
	}
	if _, err := s.Get(saved.ID); !errors.Is(err, remember.ErrNotFound) {
		t.Errorf("have %v, want %v", err, remember.ErrNotFound)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if said(t, open(t, o), q) != "" {
		t.Error("a forgotten choice is back after a restart")
	}
}

// TestForgottenText: the line of a choice that is revoked, which stays for the record, keeps
// nothing around what is masked.
func TestForgottenText(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	secret := ask(run("curl", "-H", "Authorization: Bearer secret-canary", "https://x.example/near-canary"))
	secret.Effect.Text = "curl -H 'Authorization: Bearer ***' https://x.example/near-canary"
	plain := ask(run("make", "plain-canary"))
	plain.Effect.Text = "make plain-canary"
	over := ask(run("curl", "-u", "a:secret-canary", "over-canary"))
	over.Effect.Text = "curl -u *** over-canary"
	ofSession := ask(run("curl", "-u", "a:secret-canary", "session-canary"))
	ofSession.Effect.Text = "curl -u *** session-canary"
	var ids []string
	for _, d := range []remember.Draft{
		{Query: secret, Scope: remember.ForProject}, {Query: plain, Scope: remember.ForProject},
		{Query: over, Scope: remember.ForProject, Expires: noon.Add(time.Hour)}, {Query: ofSession, Scope: remember.ForSession},
	} {
		d.Verdict, d.DecisionID = decisions.Allow, "d1"
		ids = append(ids, save(t, s, d).ID)
	}
	stored := func(id string) (line string) {
		t.Helper()
		db, err := sql.Open("sqlite3", o.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow("SELECT pattern FROM choices WHERE id = ?", id).Scan(&line); err != nil {
			t.Fatal(err)
		}
		return line
	}
	for _, id := range []string{ids[0], ids[2], ids[3]} {
		if got := stored(id); !strings.Contains(got, "***") || !strings.Contains(got, "canary") {
			t.Fatalf("the choice is stored as %q", got)
		}
	}
	if _, err := s.Forget(t.Context(), ids[0], ids[1]); err != nil {
		t.Fatal(err)
	}
	if got := []string{stored(ids[0]), stored(ids[1])}; got[0] != "curl …" || got[1] != "make plain-canary" {
		t.Errorf("%q are left of forgotten choices", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return noon.Add(2 * time.Hour) }
	s = open(t, o)
	said(t, s, over)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := stored(ids[3]); got != "curl …" {
		t.Errorf("%q is left of a session's choice", got)
	}
	for _, name := range []string{o.Path, o.Path + "-wal"} {
		if data, err := os.ReadFile(name); err == nil && (bytes.Contains(data, []byte("near-canary")) || bytes.Contains(data, []byte("session-canary"))) {
			t.Errorf("%s holds the rest of a forgotten line", filepath.Base(name))
		}
	}
}

func TestMatchWhileChanging(t *testing.T) {
	s := open(t, options(path(t)))
	stays := ask(run("ls"))
	save(t, s, remember.Draft{Verdict: decisions.Allow, Query: stays, Scope: remember.ForProject})
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			q := *stays
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, allow, err := s.Match(&q); allow == nil || err != nil {
					t.Errorf("have %v, %v", allow, err)
					return
				}
			}
		})
	}
	rounds := 30
	if testing.Short() {
		rounds = 10
	}
	for i := range rounds {
		q := ask(run("make", fmt.Sprint(i)))
		c := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: q, Scope: remember.ForProject})
		if said(t, s, q) != "allow" {
			t.Fatal("no match right after saving")
		}
		if _, err := s.Forget(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		if said(t, s, q) != "" {
			t.Fatal("a match right after forgetting")
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
}
