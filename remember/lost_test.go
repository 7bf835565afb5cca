//go:build cgo

package remember_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

// TestLost begins with a reject of an effect that a rule would allow: in whatever
// way the database is lost, the effect is rejected or asks after this start and the
// next one, until a person forgets the replacement.
func TestLost(t *testing.T) {
	t.Parallel()
	change := func(queries ...string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			db, err := sql.Open("sqlite3", path)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range queries {
				if _, err := db.Exec(q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"empty":       write(""),
		"garbage":     write(strings.Repeat("garbage ", 4096)),
		"cut off":     func(t *testing.T, path string) { _ = os.Truncate(path, 6000) },
		"no key":      change("DELETE FROM meta WHERE name = 'digest_key'"),
		"no meta":     change("DROP TABLE meta"),
		"no choices":  change("DROP TABLE choices"),
		"a rule":      change("UPDATE choices SET pattern = 'a \"'"),
		"parts":       change("UPDATE choices SET parts = CAST('[{' AS BLOB)"),
		"a part":      change(`UPDATE choices SET parts = CAST('[{"kind":"run","rule":"a \""}]' AS BLOB), pattern = 'zap x' || char(10) || 'read ./y'`),
		"digest":      change("UPDATE choices SET digest = x'00'"),
		"of no part":  change(`UPDATE choices SET parts = CAST('[]' AS BLOB), pattern = 'a "'`),
		"an odd kind": change("UPDATE choices SET kind = 'fly', parts = NULL, facts = 77"),
	} {
		t.Run(name, func(t *testing.T) {
			o := options(path(t))
			s := open(t, o)
			rejected := []*decisions.MemoryQuery{ask(run("zap", "x")), ask(file(effects.KindWrite, "/p/a")), ask(use("github", "delete_repo", "{}"))}
			for _, q := range rejected {
				save(t, s, remember.Draft{Verdict: decisions.Deny, Query: q, Scope: remember.ForUser})
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, o.Path)
			for range 2 {
				s = open(t, o)
				for _, q := range rejected {
					if reject, allow, _ := s.Match(q); reject == nil || allow != nil {
						t.Errorf("%s: reject %v, allow %v", q.Effect.Text, reject, allow)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			s = open(t, o)
			for _, c := range s.List(nil) {
				if c.Changed == "" {
					continue
				}
				if c.Label == "anything that was rejected before" {
					if err := s.Confirm(t.Context(), c.ID); err == nil {
						t.Error("what nobody can read is confirmed")
					}
				}
				if _, err := s.Forget(t.Context(), c.ID); err != nil {
					t.Error(err)
				}
			}
			if reject, _, _ := s.Match(ask(run("harmless"))); reject != nil {
				t.Errorf("after a person has looked: %v", reject)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if reject, _, _ := open(t, o).Match(ask(run("harmless"))); reject != nil {
				t.Errorf("and a start later: %v", reject)
			}
		})
	}
}

// TestLostScope: a reject that cannot be read asks where it applied, and nowhere
// else.
func TestLostScope(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	save(t, s, remember.Draft{Verdict: decisions.Deny, Query: ask(file(effects.KindWrite, "/p/a")), Scope: remember.ForProject})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", o.Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`UPDATE choices SET parts = CAST('[{' AS BLOB)` + unsealed); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	if reject, _, _ := s.Match(ask(file(effects.KindWrite, "/p/b"))); reject == nil || !reject.Unsure {
		t.Errorf("another file of the project: %v", reject)
	}
	elsewhere := ask(file(effects.KindWrite, "/q/a"))
	elsewhere.Project = "/q"
	if reject, _, _ := s.Match(elsewhere); reject != nil {
		t.Errorf("another project: %v", reject)
	}
}
