package names

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/tally"
)

// TestRow compares rows with the names that were added, of spans with few and with many of them.
func TestRow(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var b Builder
		of := map[Name][]int{}
		verdicts := map[decisions.Verdict][]int{}
		different := 1 + rnd.IntN(2000)
		for i := range Size {
			if rnd.IntN(3) == 0 {
				continue // retention has removed it
			}
			list := []Name{
				{Projects, ""}, {Programs, "git"}, {Paths, fmt.Sprint("/home/\x00ü\"", rnd.IntN(different), strings.Repeat("x", rnd.IntN(200)))},
				{Hosts, fmt.Sprint(rnd.IntN(5))}, {Hosts, fmt.Sprint(rnd.IntN(5))},
			}[rnd.IntN(3):]
			v := []decisions.Verdict{decisions.Allow, decisions.Ask, decisions.Deny}[rnd.IntN(3)]
			b.Add(i, v, list)
			b.Count(tally.Values{Agent: fmt.Sprint(i % 3), Verdict: string(v)}, 1)
			verdicts[v] = append(verdicts[v], i)
			for _, name := range list {
				if have := of[name]; len(have) == 0 || have[len(have)-1] != i {
					of[name] = append(have, i)
				}
			}
		}
		row := b.Row()
		got := map[Name][]int{}
		for kind := range Kinds {
			if !row.Each(kind, func(text []byte, set *Set) { got[Name{kind, string(text)}] = slices.Collect(set.All()) }) {
				t.Fatal("the row cannot be read")
			}
		}
		if diff := cmp.Diff(of, got); diff != "" {
			t.Fatal(diff)
		}
		for name, want := range of {
			set, ok := row.Having(name.Kind, func(text []byte) bool { return string(text) == name.Text })
			if have := slices.Collect(set.All()); !ok || !slices.Equal(have, want) || set.Len() != len(want) {
				t.Fatalf("%q: %d, want %d", name.Text, have, want)
			}
		}
		counted := map[decisions.Verdict]int{}
		if !row.EachCount(func(v tally.Values, n int64) { counted[decisions.Verdict(v.Verdict)] += int(n) }) {
			t.Fatal("the counts cannot be read")
		}
		for v, want := range verdicts {
			set, ok := row.Verdict(v)
			if have := slices.Collect(set.All()); !ok || !slices.Equal(have, want) || counted[v] != len(want) {
				t.Fatalf("%s: %d and %d, want %d", v, have, counted[v], want)
			}
		}
	}
}

// TestRowOfOdd: where a record cannot be read, has no known verdict, or there are too many names,
// all records are read.
func TestRowOfOdd(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(*Builder){
		"unreadable":      func(b *Builder) { b.Add(1, decisions.Allow, nil) },
		"unknown verdict": func(b *Builder) { b.Add(1, "maybe", []Name{{Projects, ""}}) },
		"too many names": func(b *Builder) {
			for i := range Size {
				b.Add(i, decisions.Allow, []Name{{Paths, fmt.Sprintf("%2000d", i)}})
			}
		},
		"too many short names": func(b *Builder) {
			for i := range maxNames {
				b.Add(i%Size, decisions.Allow, []Name{{Paths, fmt.Sprint(i)}})
			}
		},
	} {
		var b Builder
		b.Add(0, decisions.Allow, []Name{{Projects, ""}})
		add(&b)
		if row := b.Row(); row.Decided != nil {
			t.Errorf("%s: %v", name, row)
		}
	}
}

// TestOf: names are those of a record, masked where they are masked there, and none of other texts.
func TestOf(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	rec := &decisions.Record{
		Project: "/p", Cwd: secret, Tool: secret,
		Details: []decisions.EffectDetail{
			{Words: []string{"/usr/bin/curl", secret}, Host: "example.com"}, {Path: "/p/" + display.Masked}, {Path: "/p/" + display.Masked}, {Tool: secret},
		},
	}
	got := map[Name]int{}
	for _, name := range Of(rec) {
		got[name]++
	}
	want := []Name{{Projects, "/p"}, {Programs, "curl"}, {Hosts, "example.com"}, {Paths, "/p/" + display.Masked}}
	if diff := cmp.Diff(slices.SortedFunc(slices.Values(want), compare), slices.SortedFunc(maps.Keys(got), compare)); diff != "" {
		t.Error(diff)
	}
}

func compare(a, b Name) int { return int(a.Kind) - int(b.Kind) }

// FuzzRow: a row that no permd has written is refused or read, and nothing else happens.
func FuzzRow(f *testing.F) {
	var b Builder
	for i := range Size {
		b.Add(i, decisions.Allow, []Name{{Projects, "/p"}, {Paths, fmt.Sprint(i)}})
	}
	b.Count(tally.Values{Agent: "a"}, Size)
	row := b.Row()
	f.Add(row.Decided, row.Counts, row.Names[Paths])
	f.Add([]byte{}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, []byte{1, 'x', 0x80})
	f.Fuzz(func(t *testing.T, decided, counts, paths []byte) {
		row := Row{Decided: decided, Counts: counts}
		row.Names[Paths] = paths
		var kinds [Kinds]bool
		kinds[Paths] = true
		all, ok := row.Having(Paths, func([]byte) bool { return true })
		if ok != row.Valid(kinds) {
			t.Error("one of two readers refuses the names")
		}
		none, skipped := row.Having(Paths, func([]byte) bool { return false })
		if ok && !skipped || none.Len() > 0 || all.Len() > Size {
			t.Error("names are skipped otherwise than read")
		}
		row.Verdict(decisions.Ask)
		row.EachCount(func(tally.Values, int64) {})
	})
}
