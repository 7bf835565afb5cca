package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// TestListTables decides the calls in the tables of the list language, with the entry as
// the only rule.
func TestListTables(t *testing.T) {
	doc := read(t, "policy.md")
	for _, set := range []struct{ name, does, not string }{
		{"allow", "allows", "does not allow"},
		{"deny", "denies", "does not deny"},
	} {
		kinds := map[string]int{}
		for _, tab := range doc.find("kind", set.name+" entry", set.does, set.not) {
			for _, row := range tab.rows {
				kind, entry := row[0], spans(row[1])[0]
				kinds[kind]++
				t.Run(set.name+" "+kind+" "+entry, func(t *testing.T) {
					list := fmt.Sprintf("%s:\n  %s:\n    - '%s'\n", set.name, kind, strings.ReplaceAll(entry, "'", "''"))
					w := newWorld(t, rules{user: folder(t, map[string]string{"rules.yaml": list}), noBase: true})
					for i, calls := range [][]string{spans(row[2]), spans(row[3])} {
						if len(calls) == 0 {
							t.Errorf("there is no call in column %d", i+2)
						}
						for _, call := range calls {
							got := speaks(t, w.decide(t, w.call(t, call)), effects.Kind(kind), decisions.Verdict(set.name))
							if want := i == 0; got != want {
								t.Errorf("%s: the entry speaks of it: %v, want %v", call, got, want)
							}
						}
					}
				})
			}
		}
		if len(kinds) < 3 || set.name == "allow" && len(kinds) < 6 {
			t.Errorf("the tables of %s speak of %v only", set.name, kinds)
		}
	}
}

// speaks reports whether an entry has decided a call: a deny, and an allow of a
// run, all of it; every other allow its effects of that kind.
func speaks(t *testing.T, d *decisions.Decision, kind effects.Kind, verdict decisions.Verdict) bool {
	t.Helper()
	if verdict == decisions.Deny || kind == effects.KindRun {
		return d.Verdict == verdict
	}
	found := slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool { return e.Kind == kind })
	if !found {
		t.Errorf("the call has no effect of kind %s: %+v", kind, d.Effects)
	}
	return !slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool { return e.Kind == kind && e.Verdict != verdict })
}

// TestRefusedEntries checks that the entries that the documents call invalid are.
func TestRefusedEntries(t *testing.T) {
	tables := read(t, "policy.md").find("kind", "entry", "because")
	if len(tables) != 1 || len(tables[0].rows) < 8 {
		t.Fatalf("the table is missing: %v", tables)
	}
	for _, row := range tables[0].rows {
		if p, err := pattern.Parse(effects.Kind(row[0]), spans(row[1])[0]); err == nil {
			t.Errorf("%s %s is taken for %s", row[0], row[1], p)
		}
	}
}

// TestKindExamples makes the effects of the calls that the table of the kinds
// without facts of their own names.
func TestKindExamples(t *testing.T) {
	w := newWorld(t, rules{})
	found := 0
	for _, tab := range read(t, "policy.md").find("kind", "is", "example") {
		for _, row := range tab.rows {
			kind := effects.Kind(strings.Trim(row[0], "`"))
			for _, call := range spans(row[2]) {
				found++
				d := w.decide(t, w.call(t, call))
				if !slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool { return e.Kind == kind }) {
					t.Errorf("%s has no effect of kind %s: %+v", call, kind, d.Effects)
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d examples", found)
	}
}
