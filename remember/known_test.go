//go:build cgo

package remember_test

import (
	"os"
	"slices"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

// TestKnown: rejects that were kept elsewhere and that the database has never had make
// everything ask, and those that were revoked, or are still there, do not.
func TestKnown(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	changes := 0
	o.Changed = func() { changes++ }
	s := open(t, o)
	deny := func(program string, scope remember.ScopeKind) remember.Choice {
		return save(t, s, remember.Draft{Verdict: decisions.Deny, Query: ask(run(program)), Scope: scope})
	}
	kept, revoked := deny("kept", remember.ForUser), deny("revoked", remember.ForUser)
	deny("passing", remember.ForSession) // it ends with its connection
	save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(run("make")), Scope: remember.ForUser})
	if got := s.Rejects(); !slices.Contains(got, kept.ID) || !slices.Contains(got, revoked.ID) {
		t.Errorf("the rejects are %q", got)
	}
	if changes != 3 {
		t.Errorf("told of %d changes, want 3", changes)
	}
	all := s.Rejects()
	if _, err := s.Forget(t.Context(), revoked.ID); err != nil || changes != 4 {
		t.Fatal(err, changes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	o.Known = all
	s = open(t, o)
	if st := s.Status(); st.Lost != "" {
		t.Errorf("nothing is lost: %+v", st)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	o.Known = append(all, "another")
	s = open(t, o)
	lost := s.Status().Lost
	if reject, _, _ := s.Match(ask(run("harmless"))); reject == nil || !reject.Unsure || lost == "" {
		t.Errorf("one is lost: reject %v", reject)
	}
	if reject, _, _ := s.Match(ask(run("kept"))); reject == nil || reject.Unsure {
		t.Errorf("the one that is left: %v", reject)
	}
	if got := s.Rejects(); !slices.Contains(got, "another") || slices.Contains(got, lost) {
		t.Errorf("nobody has looked, and the rejects are %q", got)
	}
	if _, err := s.Forget(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	if got := s.Rejects(); slices.Contains(got, "another") {
		t.Errorf("after a person has looked, the rejects are %q", got)
	}
	// Also if the ids are kept as they were, since the daemon was killed just then.
	for range 2 {
		if reject, _, _ := s.Match(ask(file(effects.KindWrite, "/p/a"))); reject != nil {
			t.Errorf("after a person has looked: %v", reject)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, o)
	}
}

// TestKnownPutBack: a database that is put back after a start without it has all that it
// had, and nothing asks.
func TestKnownPutBack(t *testing.T) {
	t.Parallel()
	o := options(path(t))
	s := open(t, o)
	save(t, s, remember.Draft{Verdict: decisions.Deny, Query: ask(run("rm")), Scope: remember.ForUser})
	o.Known = s.Rejects()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	move(t, o.Path, o.Path+".x")
	if err := os.Remove(o.Path + ".revoked"); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	if s.Status().Lost == "" {
		t.Fatal("the loss does not show")
	}
	o.Known = s.Rejects()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	remove(t, o.Path)
	move(t, o.Path+".x", o.Path)
	if st := open(t, o).Status(); st.Lost != "" || st.Rejects != 1 {
		t.Errorf("put back: %+v", st)
	}
}
