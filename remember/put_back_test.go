//go:build cgo

package remember_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/remember"
)

// move renames a database together with SQLite's side files.
func move(t *testing.T, from, to string) {
	t.Helper()
	for _, side := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(from+side, to+side); err != nil && (side == "" || !os.IsNotExist(err)) {
			t.Fatal(err)
		}
	}
}

// remove deletes a database, like a person who removes the new one.
func remove(t *testing.T, path string) {
	t.Helper()
	for _, side := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + side); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// closed closes a memory before the end of the test. Failing to store something is not
// an error here.
func closed(s *remember.Store) { _ = s.Close() }

// TestPutBack begins with an allow that is revoked while the database is moved away. The
// daemon starts twice with a new database, and then the old one is put back: the revoked
// allow is not in effect, but another allow in that database is.
func TestPutBack(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]func(t *testing.T, s *remember.Store, revoked remember.Choice){
		"forgotten": func(t *testing.T, s *remember.Store, revoked remember.Choice) {
			if n, err := s.Forget(t.Context(), revoked.ID); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		},
		"its session ended": func(t *testing.T, s *remember.Store, revoked remember.Choice) {
			s.EndSession(decisions.Owner{UID: ada}, revoked.Scope.Key)
		},
	} {
		for starts := range 3 {
			t.Run(fmt.Sprintf("%s, %d starts", name, starts), func(t *testing.T) {
				o := options(path(t))
				s := open(t, o)
				no, yes := ask(run("make", "deploy")), ask(run("make"))
				no.Session.Conn = 0 // outlives the connection
				scope := remember.ForUser
				if name != "forgotten" {
					scope = remember.ForSession
				}
				revoked := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: no, Scope: scope})
				save(t, s, remember.Draft{Verdict: decisions.Allow, Query: yes, Scope: remember.ForUser})
				move(t, o.Path, o.Path+".old")
				reason(t, s, revoked)
				closed(s)
				for range starts {
					s = open(t, o)
					if have := said(t, s, no); have == "allow" {
						t.Fatal("the new database allows it")
					}
					closed(s)
				}
				if starts > 0 {
					remove(t, o.Path)
				}
				move(t, o.Path+".old", o.Path)
				for range 2 {
					s = open(t, o)
					if have := said(t, s, no); have == "allow" {
						t.Error("the revoked allow is back")
					}
					if have := said(t, s, yes); have != "allow" {
						t.Errorf("the other says %q", have)
					}
					closed(s)
				}
				// The old database has it now, so the file does not need it.
				if data, err := os.ReadFile(o.Path + ".revoked"); err != nil || strings.Contains(string(data), revoked.ID) {
					t.Errorf("%v, %q", err, strings.TrimSpace(string(data)))
				}
			})
		}
	}
}

// TestPutBackLimit: as many revocations as the file names leave the other allows
// alone. One more, and no allow holds that may be among them, in whichever
// database; one that is made later holds, over starts.
func TestPutBackLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it remembers and forgets what fills the file; TestPutBack is the quick one")
	}
	t.Parallel()
	const fit = (16<<10 - len("*@9223372037\n")) / len("abcdefghijkl@1772366400\n")
	for _, more := range []int{0, 1} {
		t.Run(fmt.Sprintf("%d more", more), func(t *testing.T) {
			now := noon
			o := options(path(t))
			o.Now = func() time.Time { return now }
			s := open(t, o)
			var drafts []remember.Draft
			for n := range fit + more {
				drafts = append(drafts, remember.Draft{Verdict: decisions.Allow, Query: ask(run("make", fmt.Sprint(n))), Scope: remember.ForUser})
			}
			revoked, err := s.Save(t.Context(), drafts...)
			if err != nil {
				t.Fatal(err)
			}
			other := ask(run("make"))
			save(t, s, remember.Draft{Verdict: decisions.Allow, Query: other, Scope: remember.ForUser})
			now = now.Add(2 * time.Second)
			newer := ask(run("make", "newer"))
			save(t, s, remember.Draft{Verdict: decisions.Allow, Query: newer, Scope: remember.ForUser})
			move(t, o.Path, o.Path+".old")
			for _, c := range revoked {
				if _, err := s.Forget(t.Context(), c.ID); err != nil {
					t.Fatal(err)
				}
			}
			closed(s)
			s = open(t, o)
			closed(s)
			remove(t, o.Path)
			move(t, o.Path+".old", o.Path)
			for range 2 {
				s = open(t, o)
				for _, d := range drafts {
					if have := said(t, s, d.Query); have != "" {
						t.Fatalf("%s says %q", d.Query.Effect.Text, have)
					}
				}
				want := map[int]string{0: "allow"}[more]
				if have := said(t, s, other); have != want {
					t.Errorf("one as old says %q, want %q", have, want)
				}
				if have := said(t, s, newer); have != "allow" {
					t.Errorf("a newer one says %q", have)
				}
				closed(s)
			}
		})
	}
}
