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
		return &decisions.Decision{Verdict: v, Folders: folders}
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
				s.Note("s", d)
			}
			if s.Changed("s") != c.changed || !slices.Equal(s.Folders("s"), c.folders) {
				t.Errorf("changed %v, folders %q", s.Changed("s"), s.Folders("s"))
			}
			if s.Changed("other") || s.Folders("other") != nil {
				t.Error("another session is changed")
			}
			s.forget("s")
			if s.Changed("s") || s.Folders("s") != nil {
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
			s.Note("s", moved(decisions.Allow, fmt.Sprintf("/p/%d", i)))
		}
		if !s.Changed("s") || len(s.Folders("s")) != maxFolders {
			t.Errorf("changed %v with %d folders", s.Changed("s"), len(s.Folders("s")))
		}
	})
	t.Run("a list that others read", func(t *testing.T) {
		var s Shells
		s.Note("s", moved(decisions.Allow, "/p/a"))
		before := s.Folders("s")
		s.Note("s", moved(decisions.Allow, "/p/b"))
		if len(before) != 1 {
			t.Errorf("it became %q", before)
		}
	})
}
