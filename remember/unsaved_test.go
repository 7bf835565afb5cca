//go:build cgo

package remember

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// TestUndoUnsaved: while the file of revocations still names a reject whose revocation the database
// has, the reject is not brought back: the next start would revoke it again.
func TestUndoUnsaved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "data", "remember.db")
	s, err := Open(Options{Path: file, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Add(t.Context(), Line{UID: 1, Verdict: decisions.Deny, Kind: effects.KindRun, Line: "x *", Scope: ForUser})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	s.pending.Unsaved = true // as if the disk had been full
	if err := s.pending.Close(); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Undo(t.Context(), nil, s.ChangeOf(c.ID), false); err == nil {
		t.Errorf("%+v", done)
	}
}
