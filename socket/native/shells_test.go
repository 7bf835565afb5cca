package native

import (
	"fmt"
	"slices"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

func TestShells(t *testing.T) {
	moved := func(v decisions.Verdict, folders ...string) *decisions.Decision {
		return &decisions.Decision{Verdict: v, Shell: &decisions.LeftShell{Folders: folders}}
	}
	state := &decisions.Decision{Verdict: decisions.Allow, Effects: []decisions.EffectDecision{{Kind: effects.KindState}}}
	for name, c := range map[string]struct {
		notes   []*decisions.Decision
		changed bool
		folders []string
	}{
		"nothing":             {nil, false, nil},
		"a folder":            {[]*decisions.Decision{moved(decisions.Allow, "/p/a")}, false, []string{"/p/a"}},
		"one that may run":    {[]*decisions.Decision{moved(decisions.Ask, "/p/a")}, false, []string{"/p/a"}},
		"one that does not":   {[]*decisions.Decision{moved(decisions.Deny, "/p/a")}, false, nil},
		"two":                 {[]*decisions.Decision{moved(decisions.Allow, "/p/a"), moved(decisions.Allow, "/p/b", "/p/a")}, false, []string{"/p/a", "/p/b"}},
		"one that is unknown": {[]*decisions.Decision{moved(decisions.Allow, "/p/a", "")}, true, []string{"/p/a"}},
		"a changed state":     {[]*decisions.Decision{state}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var s Shells
			for _, d := range c.notes {
				s.Record("s", d)
			}
			if s.Changed("s") != c.changed || !slices.Equal(told(&s, "s").Folders, c.folders) {
				t.Errorf("changed %v, folders %q", s.Changed("s"), told(&s, "s").Folders)
			}
			if s.Changed("other") || told(&s, "other").Folders != nil {
				t.Error("another session is changed")
			}
			s.forget("s")
			if s.Changed("s") || told(&s, "s").Folders != nil {
				t.Error("the session is not forgotten")
			}
		})
	}
	t.Run("too many folders", func(t *testing.T) {
		var s Shells
		for i := range maxFolders + 1 {
			if s.Changed("s") {
				t.Errorf("changed with %d folders", i)
			}
			s.Record("s", moved(decisions.Allow, fmt.Sprintf("/p/%d", i)))
		}
		if !s.Changed("s") || len(told(&s, "s").Folders) != maxFolders {
			t.Errorf("changed %v with %d folders", s.Changed("s"), len(told(&s, "s").Folders))
		}
	})
	t.Run("environments", func(t *testing.T) {
		var s Shells
		for i := range maxFolders + 2 {
			s.Record("s", &decisions.Decision{Verdict: decisions.Allow, Shell: &decisions.LeftShell{Activated: []string{fmt.Sprintf("/p/%d/bin", i), "/p/0/bin"}}})
		}
		got := told(&s, "s").Activated
		if len(got) != maxFolders+1 || got[0] != "/p/0/bin" || got[maxFolders] != "" {
			t.Errorf("have %q", got)
		}
		s.Record("t", &decisions.Decision{Verdict: decisions.Deny, Shell: &decisions.LeftShell{Activated: []string{"/p/bin"}}})
		if got := told(&s, "t").Activated; got != nil {
			t.Errorf("of a call that was denied: %q", got)
		}
		s.forget("s")
		if got := told(&s, "s").Activated; got != nil {
			t.Errorf("not forgotten: %q", got)
		}
	})
	t.Run("environments of too many sessions", func(t *testing.T) {
		var s Shells
		for i := range maxShells + 1 {
			s.Record(fmt.Sprint(i), &decisions.Decision{Verdict: decisions.Allow, Shell: &decisions.LeftShell{Activated: []string{"/p/bin"}}})
		}
		if c := told(&s, "none of them"); !c.LiveShell || len(c.Activated) != 1 || c.Activated[0] != "" {
			t.Errorf("told %v, %q", c.LiveShell, c.Activated)
		}
	})
	t.Run("a list that others read", func(t *testing.T) {
		var s Shells
		s.Record("s", moved(decisions.Allow, "/p/a"))
		before := told(&s, "s").Folders
		s.Record("s", moved(decisions.Allow, "/p/b"))
		if len(before) != 1 {
			t.Errorf("it became %q", before)
		}
	})
}

// told returns the state of the shell that a call of a session is decided with.
func told(s *Shells, session string) (c effects.Call) {
	s.ApplyTo(session, &c)
	return c
}
