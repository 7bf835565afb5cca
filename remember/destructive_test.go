//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

// TestDestructive: an allow of a tool ends if its server begins to mark the tool as
// destructive; a reject, and a line that a person wrote, do not.
func TestDestructive(t *testing.T) {
	t.Parallel()
	tool := func(destructive bool) effects.Effect {
		e := use("warehouse", "purge", `{"bin":"C-17"}`)
		e.Use.Destructive = destructive
		return e
	}
	for name, tt := range map[string]struct {
		verdict     decisions.Verdict
		saved       bool // destructive when it was saved
		plain, then string
	}{
		"yes":                  {decisions.Allow, false, "allow", ""},
		"yes when destructive": {decisions.Allow, true, "allow", "allow"},
		"no":                   {decisions.Deny, false, "deny", "deny"},
		"no when destructive":  {decisions.Deny, true, "deny", "deny"},
	} {
		for level := range 2 {
			if level > 0 && tt.verdict == decisions.Deny {
				continue // a reject has no width
			}
			s := open(t, options(path(t)))
			d := remember.Draft{Verdict: tt.verdict, Query: ask(tool(tt.saved)), Scope: remember.ForUser, Level: level, DecisionID: "d1"}
			save(t, s, d)
			if plain, then := said(t, s, ask(tool(false))), said(t, s, ask(tool(true))); plain != tt.plain || then != tt.then {
				t.Errorf("%s, level %d: %q, and %q when destructive", name, level, plain, then)
			}
			// Answered again, it is a choice of its own.
			d.Query = ask(tool(true))
			save(t, s, d)
			if got := said(t, s, ask(tool(true))); got != string(tt.verdict) {
				t.Errorf("%s, level %d: said again it is %q", name, level, got)
			}
		}
	}
	s := open(t, options(path(t)))
	if _, err := s.Add(t.Context(), remember.Line{UID: ada, Verdict: decisions.Allow, Kind: effects.KindUse, Line: "warehouse:purge", Scope: remember.ForUser}); err != nil {
		t.Fatal(err)
	}
	if got := said(t, s, ask(tool(true))); got != "allow" {
		t.Errorf("by a line: %q", got)
	}
}
