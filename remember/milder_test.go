//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

// TestMoveIsNoDelete: an allow of moving a file away allows no delete of it; one of
// deleting it, as earlier versions stored both, allows a move.
func TestMoveIsNoDelete(t *testing.T) {
	t.Parallel()
	deleted := file(effects.KindDelete, "/p/a")
	deleted.File.Recursive = true
	moved := deleted
	moved.File = &effects.File{Path: "/p/a", AsWritten: "a", Recursive: true, Moved: effects.MovedPath}
	for _, scope := range []remember.ScopeKind{remember.ForProject, remember.ForUser} {
		for _, tt := range []struct {
			saved, other effects.Effect
			want         string
		}{{moved, moved, "allow"}, {moved, deleted, ""}, {deleted, moved, "allow"}, {deleted, deleted, "allow"}} {
			s := open(t, options(path(t)))
			save(t, s, remember.Draft{Verdict: decisions.Allow, Query: ask(tt.saved), Scope: scope, DecisionID: "d"})
			if got := said(t, s, ask(tt.other)); got != tt.want {
				t.Errorf("%v, saved as %+v: %q for %+v", scope, *tt.saved.File, got, *tt.other.File)
			}
		}
	}
	s := open(t, options(path(t)))
	save(t, s, remember.Draft{Verdict: decisions.Deny, Query: ask(moved), Scope: remember.ForProject, DecisionID: "d"})
	if got := said(t, s, ask(deleted)); got != "deny" {
		t.Errorf("a reject of the move says %q of the delete", got)
	}
}

// TestEarlierTarget: what was bound to all scripts of a package.json is still in force
// while none of them has changed.
func TestEarlierTarget(t *testing.T) {
	t.Parallel()
	with := func(sum, earlier string) *decisions.MemoryQuery {
		q := ask(effects.Effect{Kind: effects.KindRun, Text: "run npm test", Run: &effects.Run{
			Program: "npm", Args: []string{"test"}, Subcommand: "test", Known: true, Cwd: "/p", HarmlessFrom: 1, Harmful: []int{0}, OptionsFrom: 1,
		}})
		q.Target = &effects.Script{Path: "/p/package.json", SHA256: sum, Earlier: earlier}
		return q
	}
	for level := range 2 {
		for _, scope := range []remember.ScopeKind{remember.ForProject, remember.ForUser} {
			s := open(t, options(path(t)))
			save(t, s, remember.Draft{Verdict: decisions.Allow, Query: with("all", ""), Scope: scope, Level: level, DecisionID: "d"})
			if got := said(t, s, with("one", "all")); got != "allow" {
				t.Errorf("level %d, %v: no script has changed, and it says %q", level, scope, got)
			}
			if got := said(t, s, with("one", "other")); got != "" {
				t.Errorf("level %d, %v: a script has changed, and it says %q", level, scope, got)
			}
			s = open(t, options(path(t)))
			save(t, s, remember.Draft{Verdict: decisions.Allow, Query: with("one", "all"), Scope: scope, Level: level, DecisionID: "d"})
			if got := said(t, s, with("one", "other")); got != "allow" {
				t.Errorf("level %d, %v: another script has changed, and it says %q", level, scope, got)
			}
			if got := said(t, s, with("other", "all")); got != "" {
				t.Errorf("level %d, %v: the script has changed, and it says %q", level, scope, got)
			}
		}
	}
}
