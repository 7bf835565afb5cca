package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/policy/policytest"
)

// longAgo makes it so that files of the user layer have been empty or gone for so long
// that this is believed.
func longAgo(s *Store) {
	doubted := s.state.Load().users[s.opts.UID].doubted
	for name := range doubted {
		doubted[name] = time.Now().Add(-emptyGrace)
	}
}

// TestEmptied: a file that was emptied or removed keeps its denies and loses its allows,
// until it has been so for long, a person requests a reload, or it is written.
func TestEmptied(t *testing.T) {
	t.Parallel()
	both := rulesFor("user", "deny", "rm", "d") + "allow contains \"a\" if input.effect.program == \"rm\"\n"
	other := "package permd.user\nimport rego.v2\nallow contains \"other\" if input.effect.program == \"rm\"\n"
	now := []string{"user deny d", "user allow a", "user allow other", "base ask base"}
	held := []string{"user deny d", "user allow other", "base ask base"}
	after := []string{"user allow other", "base ask base"}
	look := func(t *testing.T, s *Store, want []string, state State) {
		t.Helper()
		_, _ = s.reload(t.Context(), loadOptions{}) // what is wrong is in the status
		if got := reasons(t, s, "", "rm"); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if l := userLayer(s); l.State != state {
			t.Errorf("state %s, want %s: %s", l.State, state, l.Error)
		}
	}
	open := func(t *testing.T) (*world, *Store) {
		w := newWorld(t)
		policytest.Write(t, w.user, map[string]string{"a.rego": both, "b.rego": other})
		s := w.open(t)
		look(t, s, now, StateOK)
		policytest.Write(t, w.user, map[string]string{"a.rego": " \n"})
		look(t, s, held, StateDegraded)
		if l := userLayer(s); !strings.Contains(l.Error, filepath.Join(w.user, "a.rego")+": was emptied; its denies and asks are kept until ") || !l.Removed || s.nextRecheck().IsZero() {
			t.Errorf("status %+v, looks again at %v", l, s.nextRecheck())
		}
		return w, s
	}
	t.Run("written", func(t *testing.T) {
		t.Parallel()
		w, s := open(t)
		policytest.Write(t, w.user, map[string]string{"a.rego": both})
		look(t, s, now, StateOK)
		if !s.nextRecheck().IsZero() {
			t.Errorf("looks again at %v", s.nextRecheck())
		}
	})
	t.Run("long ago", func(t *testing.T) {
		t.Parallel()
		w, s := open(t)
		past := time.Now().Add(-emptyGrace)
		if err := os.Chtimes(filepath.Join(w.user, "a.rego"), past, past); err != nil {
			t.Fatal(err)
		}
		look(t, s, after, StateOK)
	})
	t.Run("with the time of its content", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		policytest.Write(t, w.user, map[string]string{"a.rego": both, "b.rego": other})
		s := w.open(t)
		info, err := os.Stat(filepath.Join(w.user, "a.rego"))
		if err != nil {
			t.Fatal(err)
		}
		// As it is read between truncating it and setting its time.
		policytest.Write(t, w.user, map[string]string{"a.rego": ""})
		if err := os.Chtimes(filepath.Join(w.user, "a.rego"), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		look(t, s, held, StateDegraded)
		look(t, s, held, StateDegraded)
		if rest := time.Until(s.nextRecheck()); rest <= 0 || rest > emptyGrace {
			t.Errorf("looks again in %v", rest)
		}
		if changed, err := s.Reload(t.Context()); !changed || err != nil {
			t.Errorf("reload: %v, %v", changed, err)
		}
		look(t, s, after, StateOK)
	})
	t.Run("a person says so", func(t *testing.T) {
		t.Parallel()
		_, s := open(t)
		if changed, err := s.Reload(t.Context()); !changed || err != nil {
			t.Errorf("reload: %v, %v", changed, err)
		}
		look(t, s, after, StateOK)
	})
	t.Run("only comments left", func(t *testing.T) {
		t.Parallel()
		w, s := open(t)
		policytest.Write(t, w.user, map[string]string{"a.rego": "# deny nothing\n"})
		look(t, s, after, StateOK)
	})
	removed := func(t *testing.T) (*world, *Store) {
		w := newWorld(t)
		policytest.Write(t, w.user, map[string]string{"a.rego": both, "b.rego": other})
		s := w.open(t)
		look(t, s, now, StateOK)
		remove(t, w.user, "a.rego")
		look(t, s, held, StateDegraded)
		if l := userLayer(s); !strings.Contains(l.Error, filepath.Join(w.user, "a.rego")+": was removed; its denies and asks are kept until ") || !l.Removed || s.nextRecheck().IsZero() {
			t.Errorf("status %+v, looks again at %v", l, s.nextRecheck())
		}
		return w, s
	}
	t.Run("removed", func(t *testing.T) {
		t.Parallel()
		_, s := removed(t)
		look(t, s, held, StateDegraded)
		if rest := time.Until(s.nextRecheck()); rest <= 0 || rest > emptyGrace {
			t.Errorf("looks again in %v", rest)
		}
		longAgo(s)
		look(t, s, after, StateOK)
	})
	t.Run("removed, and its folder has an old time", func(t *testing.T) {
		t.Parallel()
		w, s := removed(t)
		past := time.Now().Add(-time.Hour)
		for _, name := range []string{w.user, filepath.Join(w.user, "b.rego")} {
			if err := os.Chtimes(name, past, past); err != nil {
				t.Fatal(err)
			}
		}
		look(t, s, held, StateDegraded)
	})
	t.Run("removed, and a person says so", func(t *testing.T) {
		t.Parallel()
		_, s := removed(t)
		if changed, err := s.Reload(t.Context()); !changed || err != nil {
			t.Errorf("reload: %v, %v", changed, err)
		}
		look(t, s, after, StateOK)
	})
	t.Run("removed and put back", func(t *testing.T) {
		t.Parallel()
		w, s := removed(t)
		policytest.Write(t, w.user, map[string]string{"a.rego": both})
		look(t, s, now, StateOK)
	})
	t.Run("renamed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		policytest.Write(t, w.user, map[string]string{"a.rego": both, "b.rego": other})
		s := w.open(t)
		rename(t, filepath.Join(w.user, "a.rego"), filepath.Join(w.user, "z.rego"))
		look(t, s, []string{"user allow other", "user deny d", "user allow a", "base ask base"}, StateOK)
	})
	t.Run("removed, and another written", func(t *testing.T) {
		t.Parallel()
		w, s := removed(t)
		// What is new does not wait until the removal is believed.
		policytest.Write(t, w.user, map[string]string{"c.rego": rulesFor("user", "deny", "rm", "c")})
		look(t, s, []string{"user deny d", "user allow other", "user deny c", "base ask base"}, StateDegraded)
		longAgo(s)
		look(t, s, []string{"user allow other", "user deny c", "base ask base"}, StateOK)
	})
	t.Run("removed, and what does not go with it written", func(t *testing.T) {
		t.Parallel()
		w, s := removed(t)
		policytest.Write(t, w.user, map[string]string{"b.rego": other + "broken"})
		look(t, s, held, StateDegraded)
		policytest.Write(t, w.user, map[string]string{"b.rego": other})
		look(t, s, held, StateDegraded)
		longAgo(s)
		look(t, s, after, StateOK)
	})
	t.Run("emptied, and then too large", func(t *testing.T) {
		t.Parallel()
		w, s := open(t)
		policytest.Write(t, w.user, map[string]string{"a.rego": both + strings.Repeat("#", 1<<20)})
		look(t, s, held, StateDegraded)
		longAgo(s)
		look(t, s, held, StateDegraded)
		policytest.Write(t, w.user, map[string]string{"a.rego": both})
		look(t, s, now, StateOK)
	})
	t.Run("all removed", func(t *testing.T) {
		t.Parallel()
		w, s := open(t)
		policytest.Write(t, w.user, map[string]string{"a.rego": both})
		look(t, s, now, StateOK)
		remove(t, w.user, "a.rego", "b.rego")
		look(t, s, []string{"user deny d", "base ask base"}, StateDegraded)
		longAgo(s)
		look(t, s, []string{"base ask base"}, StateAbsent)
	})
	t.Run("a list", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		policytest.Write(t, w.user, map[string]string{"rules.yaml": "allow:\n  run: [\"rm\"]\ndeny:\n  run: [\"rm\"]\n"})
		s := w.open(t)
		before := reasons(t, s, "", "rm")
		policytest.Write(t, w.user, map[string]string{"rules.yaml": ""})
		_, _ = s.reload(t.Context(), loadOptions{}) // what is wrong is in the status
		got := reasons(t, s, "", "rm")
		if len(before) != 3 || len(got) != 2 || !strings.HasPrefix(got[0], "user deny ") {
			t.Errorf("before %q, emptied %q", before, got)
		}
	})
}
