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

// drawAdded is a line of few words, so that two of them are often alike.
func drawAdded(t *rapid.T, kind effects.Kind) remember.Line {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	l := remember.Line{
		UID: ada, Verdict: decisions.Allow, Kind: kind,
		Scope: remember.ScopeKind(pick("scope", "project", "project", "user")), Home: "/home/ada",
		For: rapid.SampledFrom([]time.Duration{0, 0, time.Hour, 3 * time.Hour}).Draw(t, "for"),
	}
	if rapid.IntRange(0, 2).Draw(t, "verdict") == 0 {
		l.Verdict = decisions.Deny
	}
	if l.Scope == remember.ForProject {
		l.Project = pick("project", "/p", "/p", "/p2")
	}
	switch l.Kind {
	case effects.KindRun:
		l.Line = pick("program", "a", "a", "git") + pick("words", "", " b", " b", " b c", " -f") + pick("rest", "", " *", " *", " * -f")
	case effects.KindConnect:
		l.Line = pick("host", "a.dev", "*.a.dev", "*.a.dev", "*.x.a.dev", "x.a.dev") + pick("port", "", ":443", ":22")
	case effects.KindUse:
		l.Line = pick("server", "s:", "t:", "*:") + pick("tool", "a", "ab", "a*", "*", "a@1", "a@*")
	default:
		l.Line = pick("base", "./", "/p/", "/") + pick("parts", "", "a/", "a/b/", "*/") + pick("end", "**", "**", "a", "b", "*", "a*", ".env")
	}
	return l
}

func drawQuery(t *rapid.T, kind effects.Kind) *decisions.MemoryQuery {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	var e effects.Effect
	switch kind {
	case effects.KindRun:
		e = run(append([]string{pick("is", "a", "git")}, rapid.SliceOfN(rapid.SampledFrom([]string{"b", "c", "-f"}), 0, 3).Draw(t, "args")...)...)
		e.Run.HarmlessFrom = rapid.IntRange(0, len(e.Run.Args)).Draw(t, "harmless")
		e.Run.Known = rapid.Bool().Draw(t, "known")
		e.Run.Stdin = effects.Stdin(pick("stdin", "none", "none", "pipe", "network"))
	case effects.KindConnect:
		e = connect(pick("to", "a.dev", "x.a.dev", "y.x.a.dev", "b.dev"), rapid.SampledFrom([]int{22, 443}).Draw(t, "at"), effects.MethodGet)
	case effects.KindUse:
		e = use(pick("from", "s", "t"), pick("called", "a", "ab", "b"), "{}")
		e.Use.Version = pick("version", "", "1", "2")
		e.Use.Destructive = rapid.Bool().Draw(t, "destructive")
	default:
		e = file(kind, pick("in", "/p", "/p2", "/q")+pick("file", "/a", "/b", "/a/a", "/a/b/a", "/c/a", "/a/.env", "/.env"))
		if e.File.Path[len(e.File.Path)-1] == 'v' {
			e.Tags = e.Tags.With(effects.Secret)
		}
	}
	e.Claimed = rapid.IntRange(0, 5).Draw(t, "claimed") == 0
	q := ask(e)
	if pick("where", "/p", "/p", "/p2") == "/p2" {
		q.Project = "/p2"
		if e.Run != nil {
			e.Run.Cwd = "/p2"
		}
	}
	return q
}

// TestCovered forgets every choice that another one is said to cover, and compares the answers
// to generated questions, now and when some of the choices are over.
func TestCovered(t *testing.T) {
	t.Parallel()
	now := noon
	o := options(path(t))
	o.Now = func() time.Time { return now }
	s := open(t, o)
	forgotten, counted := 0, map[effects.Kind]int{}
	rapid.Check(t, func(t *rapid.T) {
		now = now.Add(24 * time.Hour) // the store's time never goes back
		kind := rapid.SampledFrom([]effects.Kind{effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindConnect, effects.KindUse}).Draw(t, "kind")
		var ids []string
		defer func() {
			for _, id := range ids {
				if _, err := s.Forget(t.Context(), id); err != nil && !errors.Is(err, remember.ErrNotFound) {
					t.Fatal(err)
				}
			}
		}()
		kinds := map[string]effects.Kind{}
		for range rapid.IntRange(2, 14).Draw(t, "choices") {
			l := drawAdded(t, kind)
			c, err := s.Add(t.Context(), l)
			if _, bad := errors.AsType[*pattern.Error](err); bad || errors.Is(err, remember.ErrNotRemembered) {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			ids, kinds[c.ID] = append(ids, c.ID), c.Kind
		}
		for range rapid.IntRange(0, 4).Draw(t, "answers") {
			d := remember.Draft{
				Verdict: rapid.SampledFrom([]decisions.Verdict{decisions.Allow, decisions.Deny}).Draw(t, "said"), Query: drawQuery(t, kind),
				Scope: rapid.SampledFrom([]remember.ScopeKind{remember.ForProject, remember.ForUser}).Draw(t, "for"), DecisionID: "d",
			}
			if d.Verdict == decisions.Allow {
				d.Level = rapid.IntRange(0, 2).Draw(t, "level")
			}
			if saved, err := s.Save(t.Context(), d); err == nil {
				ids, kinds[saved[0].ID] = append(ids, saved[0].ID), saved[0].Kind
			}
		}
		covered := s.Covered(nil)
		var questions []*decisions.MemoryQuery
		for range 40 {
			questions = append(questions, drawQuery(t, kind))
		}
		now = now.Add(rapid.SampledFrom([]time.Duration{0, 2 * time.Hour}).Draw(t, "later"))
		answers := func() []string {
			var list []string
			for _, q := range questions {
				q.Now = now
				reject, allow, err := s.Match(q)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, fmt.Sprint(reject != nil, allow != nil))
			}
			return list
		}
		before := answers()
		for id, by := range covered {
			if kinds[by] == "" || by == id {
				t.Fatalf("%s is said to be covered by %q", id, by)
			}
			counted[kinds[id]]++
		}
		gone := slices.Collect(maps.Keys(covered))
		if len(gone) == 0 {
			return
		}
		list := s.List(nil)
		if _, err := s.Forget(t.Context(), gone...); err != nil {
			t.Fatal(err)
		}
		forgotten += len(gone)
		for i, have := range answers() {
			if have != before[i] {
				t.Fatalf("%+v was answered %q, and now %q without %v; there were\n%+v", questions[i].Effect, before[i], have, covered, list)
			}
		}
	})
	if testing.Short() {
		return // too few draws for every kind
	}
	for _, kind := range []effects.Kind{effects.KindRun, effects.KindRead, effects.KindConnect, effects.KindUse} {
		if counted[kind] == 0 {
			t.Errorf("no choice of %s was covered, of %d", kind, forgotten)
		}
	}
}
