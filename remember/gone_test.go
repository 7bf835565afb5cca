//go:build cgo

package remember_test

import (
	"errors"
	"os"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/remember"
)

// TestGoneFile: a choice that would be lost on restart is not reported as remembered,
// but a revocation takes effect.
func TestGoneFile(t *testing.T) {
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
