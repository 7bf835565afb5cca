//go:build cgo

package remember

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// pairwise is Covered by comparing all pairs, without an index, and with nothing kept.
func (s *Store) pairwise(uid uint32) map[string]string {
	var all []*entry
	for _, e := range s.byID {
		if e.choice.UID == uid && e.comparable() && !s.expired(e) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.row, b.row) })
	covered := map[string]string{}
	for _, o := range all {
		// Named is the one with the fewest literal words before its first star; of tools, the oldest.
		named, fewest := "", 0
		for _, e := range all {
			if e == o || !s.coversChoice(e, o) || e.row > o.row && s.coversChoice(o, e) {
				continue
			}
			words := 1 << 10
			for _, p := range e.lines() {
				if o.lines()[0].Tool != nil {
					words = 0
				} else if p.Covers(o.lines()[0], o.choice.Verdict == decisions.Allow) {
					words = min(words, len(p.Starts()))
				}
			}
			if named == "" || words < fewest {
				named, fewest = e.choice.ID, words
			}
		}
		if named != "" {
			covered[o.choice.ID] = named
		}
	}
	return covered
}

// pickLine is a line of few words, so that two of them are often alike.
func pickLine(t *rapid.T, kinds []effects.Kind) Line {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	l := Line{
		UID: rapid.SampledFrom([]uint32{1000, 1000, 1000, 1001}).Draw(t, "uid"), Verdict: decisions.Allow,
		Kind:  rapid.SampledFrom(kinds).Draw(t, "kind"),
		Scope: ScopeKind(pick("scope", "project", "user")), Home: "/home/ada",
		For: rapid.SampledFrom([]time.Duration{0, time.Hour, 3 * time.Hour}).Draw(t, "for"),
	}
	if rapid.Bool().Draw(t, "reject") {
		l.Verdict = decisions.Deny
	}
	if l.Scope == ForProject {
		l.Project = pick("project", "/p", "/p", "/p2")
	}
	switch l.Kind {
	case effects.KindRun:
		l.Line = pick("program", "a", "a", "git") + pick("words", "", " b", " b c", " b *c") + pick("rest", "", " *", " * -f", " * -f --g")
	case effects.KindConnect:
		l.Line = pick("host", "*.dev", "a.dev", "*.a.dev", "x.a.dev", "*.x.a.dev") + pick("port", "", ":443", ":22")
	case effects.KindUse:
		l.Line = pick("server", "", "s:", "t:", "*:", "s*:") + pick("tool", "a", "s", "ab", "a*", "*", "a@1")
	default:
		l.Line = pick("base", "./", "/p/", "/", "~/") + pick("parts", "", "a/", "a/b/", "*/", "a/*/") + pick("end", "**", "**", "a", "*", "a*", ".env")
	}
	return l
}

// TestCoveredPairs: what Covered finds is what comparing all pairs finds, after every change and
// when time passes. The pages of a list are the list.
func TestCoveredPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compares all pairs of many lists; TestCovered is the quick one")
	}
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "permd")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{Path: filepath.Join(dir, "remember.db"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found, uses := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		now = now.Add(24 * time.Hour)
		kinds := rapid.SampledFrom([][]effects.Kind{
			{effects.KindRun}, {effects.KindUse}, {effects.KindConnect}, {effects.KindRead}, {effects.KindRun, effects.KindUse, effects.KindWrite},
		}).Draw(t, "kinds")
		var ids []string
		compare := func() {
			all := map[string]string{}
			for _, uid := range []uint32{1000, 1001} {
				want := s.pairwise(uid)
				if have := s.Covered(&uid); fmt.Sprint(have) != fmt.Sprint(want) {
					t.Fatalf("of %d, %v are covered, want %v; there are\n%+v", uid, have, want, s.List(&uid))
				}
				for id, by := range want {
					all[id] = by
					if s.byID[id].choice.Kind == effects.KindUse {
						uses++
					}
				}
			}
			if have := s.Covered(nil); fmt.Sprint(have) != fmt.Sprint(all) {
				t.Fatalf("of everybody, %v are covered, want %v", have, all)
			}
			found += len(all)
			for _, uid := range []*uint32{nil, &[]uint32{1000}[0]} {
				newest := rapid.Bool().Draw(t, "newest first")
				var paged []Choice
				for after, more := "", true; more; {
					var page []Choice
					var total int
					page, total, more = s.Page(uid, Page{After: after, Limit: rapid.IntRange(1, 5).Draw(t, "limit"), Newest: newest})
					if want := len(s.List(uid)); total != want {
						t.Fatalf("a page says that there are %d choices, not %d", total, want)
					}
					if paged = append(paged, page...); more {
						after = page[len(page)-1].ID
					}
				}
				list := s.List(uid)
				if newest {
					slices.Reverse(list)
				}
				for _, c := range list {
					if got, missing := s.Find(uid, []string{c.ID}); missing != "" || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", []Choice{c}) {
						t.Fatalf("found is %+v, want %+v", got, c)
					}
				}
				if fmt.Sprintf("%+v", paged) != fmt.Sprintf("%+v", list) {
					t.Fatalf("in pages, the list is\n%+v\nwant\n%+v", paged, list)
				}
			}
			if first, _, _ := s.Page(nil, Page{After: "unknown", Limit: 1}); len(first) > 0 && first[0].ID != s.List(nil)[0].ID {
				t.Fatalf("after an unknown id, the list begins with %+v", first)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { compare() },
			"add": func(t *rapid.T) {
				lines := map[uint32][]Line{}
				for range rapid.IntRange(10, 30).Draw(t, "lines") {
					l := pickLine(t, kinds)
					lines[l.UID] = append(lines[l.UID], l)
				}
				for _, l := range lines {
					added, _, err := s.Import(t.Context(), false, l...)
					if err != nil {
						t.Fatal(err)
					}
					for i := range added {
						ids = append(ids, added[i].ID)
					}
				}
			},
			"forget": func(t *rapid.T) {
				if len(ids) > 0 {
					i := rapid.IntRange(0, len(ids)-1).Draw(t, "which")
					_, _ = s.Forget(t.Context(), ids[i])
				}
			},
			"confirm": func(t *rapid.T) {
				if len(ids) > 0 {
					_ = s.Confirm(t.Context(), rapid.SampledFrom(ids).Draw(t, "confirmed"))
				}
			},
			"later": func(*rapid.T) { now = now.Add(2 * time.Hour) },
		})
		if _, err := s.Forget(t.Context(), slices.Collect(maps.Keys(s.byID))...); err != nil && len(s.byID) > 0 {
			t.Fatal(err)
		}
	})
	if !testing.Short() && (found < 300 || uses == 0) {
		t.Errorf("%d were covered, %d of them tools", found, uses)
	}
}
