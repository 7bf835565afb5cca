//go:build cgo

package remember_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/remember"
)

// TestGoneFile: a choice that would be lost on restart is not reported as remembered,
// but a revocation takes effect.
func TestGoneFile(t *testing.T) {
	t.Parallel()
	draft := func(target string) remember.Draft {
		return remember.Draft{Verdict: decisions.Allow, Query: ask(run("make", target)), Scope: remember.ForUser}
	}
	p := path(t)
	s := open(t, options(p))
	kept := save(t, s, draft("lint"))
	if err := os.Rename(p, p+".x"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), draft("test")); !errors.Is(err, sqlitedb.ErrGone) {
		t.Errorf("saving without the file: %v, want ErrGone", err)
	}
	if _, err := s.Forget(t.Context(), kept.ID); err != nil {
		t.Errorf("forgetting without the file: %v", err)
	}
	if got := said(t, s, ask(run("make", "lint"))); got != "" {
		t.Errorf("the revoked choice says %q", got)
	}
	if err := os.Rename(p+".x", p); err != nil {
		t.Fatal(err)
	}
	save(t, s, draft("test"))
}

// TestMovedAway begins with an allow and a reject that hold: wherever the database is
// moved to while the daemon runs, the allow does not count and the reject does, until
// the very files are back.
func TestMovedAway(t *testing.T) {
	t.Parallel()
	rename := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		harm, undo func(t *testing.T, file string)
		looked     bool // only Look notices
	}{
		"the file": {
			harm: func(t *testing.T, file string) { rename(t, file, file+".x") },
			undo: func(t *testing.T, file string) { rename(t, file+".x", file) },
		},
		"its folder": {
			harm: func(t *testing.T, file string) { rename(t, filepath.Dir(file), filepath.Dir(file)+".x") },
			undo: func(t *testing.T, file string) { rename(t, filepath.Dir(file)+".x", filepath.Dir(file)) },
		},
		"the folder above": {
			harm: func(t *testing.T, file string) {
				up := filepath.Dir(filepath.Dir(file))
				rename(t, up, up+".x")
			},
			undo: func(t *testing.T, file string) {
				up := filepath.Dir(filepath.Dir(file))
				rename(t, up+".x", up)
			},
			looked: true,
		},
		"another folder in its place": {
			harm: func(t *testing.T, file string) {
				rename(t, filepath.Dir(file), filepath.Dir(file)+".x")
				if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
			},
			undo: func(t *testing.T, file string) {
				if err := os.Remove(filepath.Dir(file)); err != nil {
					t.Fatal(err)
				}
				rename(t, filepath.Dir(file)+".x", filepath.Dir(file))
			},
		},
		"deleted": {harm: func(t *testing.T, file string) {
			if err := os.RemoveAll(filepath.Dir(file)); err != nil {
				t.Fatal(err)
			}
		}},
		"cut": {harm: func(t *testing.T, file string) {
			if err := os.Truncate(file, 0); err != nil {
				t.Fatal(err)
			}
		}, looked: true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "share", "permd", "remember.db")
			s, err := remember.Open(options(file))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }() // with its files gone it may complain
			save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("make", "lint")), Scope: remember.ForUser})
			save(t, s, remember.Draft{Verdict: decisions.Deny, Query: ask(run("rm", "x")), Scope: remember.ForUser})
			hold := func(when string) {
				t.Helper()
				_, allow, err := s.Match(ask(run("make", "lint")))
				if reject, _, _ := s.Match(ask(run("rm", "x"))); allow == nil || err != nil || reject == nil || s.Look() != nil {
					t.Fatalf("%s: allow %v, %v; reject %v", when, allow, err, reject)
				}
			}
			hold("at first")
			tt.harm(t, file)
			if tt.looked && s.Look() == nil {
				t.Fatal("a look does not notice it")
			}
			for range 2 {
				if _, allow, err := s.Match(ask(run("make", "lint"))); allow != nil || !errors.Is(err, remember.ErrOff) {
					t.Errorf("allow %v, %v", allow, err)
				}
				if reject, _, _ := s.Match(ask(run("rm", "x"))); reject == nil || reject.Unsure {
					t.Errorf("reject %v", reject)
				}
				st := s.Status()
				if !st.AllowsOff || st.Gone == "" || !strings.Contains(strings.Join(st.Degraded, "\n"), st.Gone) {
					t.Errorf("the status is %+v", st)
				}
			}
			if _, err := s.Save(t.Context(), remember.Draft{Verdict: decisions.Deny, Query: ask(run("rm", "y")), Scope: remember.ForUser}); err == nil {
				t.Error("a choice is stored where nobody finds it")
			}
			if tt.undo == nil {
				return
			}
			tt.undo(t, file)
			if err := s.Look(); err != nil {
				t.Errorf("put back: %v", err)
			}
			hold("put back")
			if st := s.Status(); st.AllowsOff || st.Gone != "" {
				t.Errorf("put back, the status is %+v", st)
			}
		})
	}
}
