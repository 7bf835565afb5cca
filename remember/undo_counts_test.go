//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

// TestUndoCounts: what is in force again was used as often as before, and last then, also after a
// restart, although counts are stored only now and then.
func TestUndoCounts(t *testing.T) {
	t.Parallel()
	for name, flush := range map[string]bool{"counts are stored": true, "counts are not stored": false} {
		for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Deny} {
			o := options(path(t))
			s := open(t, o)
			c := save(t, s, remember.Draft{Verdict: verdict, Query: ask(file(effects.KindWrite, "/p/a")), Scope: remember.ForProject, DecisionID: "d"})
			for range 3 {
				said(t, s, ask(file(effects.KindWrite, "/p/a")))
			}
			if flush {
				if err := s.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			before, err := s.Get(c.ID)
			if err != nil || before.Matches != 3 {
				t.Fatalf("%s: %+v, %v", name, before, err)
			}
			is := func() {
				t.Helper()
				got, err := s.Get(c.ID)
				if err != nil || got.Matches != before.Matches || !got.LastMatched.Equal(before.LastMatched) {
					t.Errorf("%s, %s: it was used %d times, last at %v, and is %d, %v: %v", name, verdict, before.Matches, before.LastMatched, got.Matches, got.LastMatched, err)
				}
			}
			forget(t, s, c.ID)
			if _, err := undoLast(t, s); err != nil {
				t.Fatal(err)
			}
			is()
			done, err := undoLast(t, s) // the answer itself
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Undo(t.Context(), nil, done.ID, false); err != nil {
				t.Fatal(err)
			}
			is()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, o)
			is()
		}
	}
}
