//go:build cgo

package remember_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember"
)

// TestChangedLines adds, changes and forgets lines in one memory, with restarts, and compares
// its answers with those of another one, to which only the lines that should be in force were
// added as they should be now.
func TestChangedLines(t *testing.T) {
	t.Parallel()
	changed, refused := 0, 0
	now := noon
	o, other := options(path(t)), options(path(t))
	clock := func() time.Time { return now }
	o.Now, other.Now = clock, clock
	rapid.Check(t, func(t *rapid.T) {
		now = now.Add(24 * time.Hour)
		kind := rapid.SampledFrom([]effects.Kind{effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindConnect, effects.KindUse}).Draw(t, "kind")
		s, err := remember.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		model := map[string]remember.Line{}
		add := func(s *remember.Store, l remember.Line) (remember.Choice, error) {
			c, err := s.Add(t.Context(), l)
			if _, bad := errors.AsType[*pattern.Error](err); err != nil && !bad && !errors.Is(err, remember.ErrNotRemembered) {
				t.Fatal(err)
			}
			return c, err
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			ids := slices.Sorted(maps.Keys(model))
			switch step := rapid.IntRange(0, 7).Draw(t, "step"); {
			case len(ids) == 0 || step < 3:
				l := drawAdded(t, kind)
				if c, err := add(s, l); err == nil {
					model[c.ID] = l
				}
			case step < 6:
				id := rapid.SampledFrom(ids).Draw(t, "changed")
				c := remember.Change{
					Scope:   remember.ScopeKind(rapid.SampledFrom([]string{"", "project", "user"}).Draw(t, "to")),
					Project: rapid.SampledFrom([]string{"/p", "/p2"}).Draw(t, "of"),
					For:     rapid.SampledFrom([]time.Duration{0, time.Hour, 5 * time.Hour}).Draw(t, "for"),
				}
				c.Forever = c.For == 0 && rapid.Bool().Draw(t, "forever")
				got, err := s.Change(t.Context(), []string{id}, c)
				if errors.Is(err, remember.ErrNotRemembered) {
					refused++
					continue
				} else if err != nil || len(got) != 1 {
					t.Fatal(got, err)
				}
				l := model[id]
				if l.Scope = got[0].Scope.Kind; c.Scope != "" && l.Scope != c.Scope {
					t.Fatalf("%+v became %+v", c, got[0])
				}
				if l.Project = got[0].Scope.Key; l.Scope == remember.ForProject && model[id].Scope == remember.ForProject && l.Project != model[id].Project {
					t.Fatalf("a choice of %s is now one of %s", model[id].Project, l.Project)
				}
				switch {
				case c.Forever:
					l.For = 0
				case c.For > 0:
					l.For = c.For
				}
				changed++
				delete(model, id)
				model[got[0].ID] = l
			case step == 6:
				id := rapid.SampledFrom(ids).Draw(t, "forgotten")
				if _, err := s.Forget(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				delete(model, id)
			default:
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if s, err = remember.Open(o); err != nil {
					t.Fatal(err)
				}
			}
		}
		var have []string
		for _, c := range s.List(nil) {
			have = append(have, c.ID)
		}
		if slices.Sort(have); !slices.Equal(have, slices.Sorted(maps.Keys(model))) {
			t.Fatalf("in force are %v, want %v", have, model)
		}
		fresh, err := remember.Open(other)
		if err != nil {
			t.Fatal(err)
		}
		defer fresh.Close()
		for _, l := range model {
			if _, err := add(fresh, l); err != nil {
				t.Fatalf("what there is now cannot be added: %+v: %v", l, err)
			}
		}
		now = now.Add(rapid.SampledFrom([]time.Duration{0, 2 * time.Hour}).Draw(t, "later"))
		for range 30 {
			q := drawQuery(t, kind)
			q.Now = now
			answers := func(s *remember.Store) string {
				reject, allow, err := s.Match(q)
				return fmt.Sprint(reject != nil, allow != nil, err)
			}
			if a, b := answers(s), answers(fresh); a != b {
				t.Fatalf("%+v is answered %q, and %q by what should be there: %v", q.Effect, a, b, model)
			}
		}
		for _, m := range []*remember.Store{s, fresh} {
			for _, c := range m.List(nil) {
				if _, err := m.Forget(t.Context(), c.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	if changed == 0 || refused == 0 && !testing.Short() {
		t.Errorf("nothing was tested: %d were changed, %d refused", changed, refused)
	}
}

// TestChangeAnswered: what a client's answer stored keeps what it is bound to, and gets no
// scope in which it would mean something else.
func TestChangeAnswered(t *testing.T) {
	t.Parallel()
	s := open(t, options(path(t)))
	for name, tt := range map[string]struct {
		effect effects.Effect
		scope  remember.ScopeKind
		level  int
		to     remember.ScopeKind
		ok     bool
	}{
		"run of a session, for the project":  {run("go", "vet"), remember.ForSession, 0, remember.ForProject, true},
		"run, for everywhere":                {run("go", "list"), remember.ForProject, 0, remember.ForUser, false},
		"git, for everywhere":                {run("git", "log", "-1"), remember.ForProject, 0, remember.ForUser, false},
		"file, for everywhere":               {file(effects.KindWrite, "/p/a"), remember.ForProject, 0, remember.ForUser, false},
		"folder, for everywhere":             {file(effects.KindWrite, "/p/b/c/d"), remember.ForProject, 1, remember.ForUser, false},
		"file, from everywhere":              {file(effects.KindWrite, "/p/d"), remember.ForUser, 0, remember.ForProject, false},
		"host, for everywhere":               {connect("a.dev", 443, effects.MethodGet), remember.ForProject, 0, remember.ForUser, true},
		"host, from everywhere":              {connect("b.dev", 443, effects.MethodGet), remember.ForUser, 0, remember.ForProject, true},
		"host of a session, for everywhere":  {connect("c.dev", 443, effects.MethodGet), remember.ForSession, 0, remember.ForUser, true},
		"host of a session, for the project": {connect("d.dev", 443, effects.MethodGet), remember.ForSession, 0, remember.ForProject, false},
		"tool, for everywhere":               {use("s", "t", "{}"), remember.ForProject, 0, remember.ForUser, true},
	} {
		q := ask(tt.effect)
		c := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: q, Scope: tt.scope, Level: tt.level, DecisionID: "d"})
		got, err := s.Change(t.Context(), []string{c.ID}, remember.Change{Scope: tt.to, Project: "/p"})
		if tt.ok != (err == nil) || err != nil && !errors.Is(err, remember.ErrNotRemembered) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if have := said(t, s, q); have != "allow" {
			t.Errorf("%s: the call is answered %q", name, have)
		}
		elsewhere := ask(tt.effect)
		elsewhere.Project, elsewhere.Session = "/p2", decisions.SessionRef{ID: "s2", Conn: 8}
		if have := said(t, s, elsewhere) == "allow"; have != (tt.scope == remember.ForUser && !tt.ok || tt.to == remember.ForUser && tt.ok) {
			t.Errorf("%s: elsewhere it is allowed: %v", name, have)
		}
		if err == nil && (got[0].DecisionID != "d" || got[0].ID == c.ID || !got[0].Confirmed.IsZero()) {
			t.Errorf("%s: %+v", name, got[0])
		}
	}
	// A line that is bound to the content of a file, and one of git.
	q := ask(run("npm", "test"))
	q.Effect.Run.Subcommand, q.Effect.Run.Known, q.Effect.Run.HarmlessFrom = "test", true, 1
	q.Effect.Run.Harmful, q.Effect.Run.OptionsFrom = []int{0}, 1
	q.Target = &effects.Script{Path: "/p/package.json", SHA256: "h"}
	bound := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: q, Scope: remember.ForProject, Level: 1, DecisionID: "d"})
	git, err := s.Add(t.Context(), remember.Line{UID: ada, Verdict: decisions.Allow, Kind: effects.KindRun, Line: "git log *", Scope: remember.ForProject, Project: "/p"})
	if err != nil || !bound.ByLine {
		t.Fatal(bound, err)
	}
	for _, id := range []string{bound.ID, git.ID} {
		if got, err := s.Change(t.Context(), []string{id}, remember.Change{Scope: remember.ForUser}); !errors.Is(err, remember.ErrNotRemembered) {
			t.Errorf("%v became %v, %v", id, got, err)
		}
	}
	if _, err := s.Change(t.Context(), []string{"none"}, remember.Change{Forever: true}); !errors.Is(err, remember.ErrNotFound) {
		t.Errorf("no such choice: %v", err)
	}
}
