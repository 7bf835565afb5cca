//go:build cgo

package journal

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/names"
)

// filters are all mixtures of what a list can be filtered by.
func filters() []filter {
	uid := uint32(7)
	set := []func(*filter){
		func(f *filter) { f.Verdict = decisions.Ask },
		func(f *filter) { f.By = decisions.ByMemory },
		func(f *filter) { f.Session = "s" },
		func(f *filter) { f.Agent = "a" },
		func(f *filter) { f.Tool = "t" },
		func(f *filter) { f.UID = &uid },
		func(f *filter) { f.Unapproved = true },
		func(f *filter) { f.Since = time.Unix(1, 0) },
		func(f *filter) { f.Until = time.Unix(2, 0) },
		func(f *filter) { f.After = 1 },
		func(f *filter) { f.Before = 9 },
	}
	var all []filter
	for mixture := range 1 << len(set) {
		var f filter
		for i, s := range set {
			if mixture&(1<<i) != 0 {
				s(&f)
			}
		}
		all = append(all, f)
	}
	return all
}

// TestPlans: no query of a list, of a count, of a record, and none of retention
// reads a table of decisions from one end to the other.
func TestPlans(t *testing.T) {
	j := openInside(t)
	seen := map[string]bool{}
	check := func(q query) {
		t.Helper()
		if seen[q.text] {
			return
		}
		seen[q.text] = true
		rows, err := j.db.Read.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+q.text, q.args...)
		if err != nil {
			t.Fatalf("%s: %v", q.text, err)
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(step, "SCAN") && !strings.HasPrefix(step, "SCAN spans") || strings.Contains(step, "AUTOMATIC") {
				t.Errorf("%s\n%s", q.text, step)
			}
			// Sorting is for kinds of one session only.
			if strings.Contains(step, "TEMP B-TREE") && !strings.Contains(q.text, "FROM kinds") {
				t.Errorf("%s\n%s", q.text, step)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range filters() {
		check(f.kinds(bounds{1, 100}, 100))
		for _, newest := range []bool{false, true} {
			q := f.listed("seq, time", 1, bounds{1, 100})
			q.add(map[bool]string{false: " ORDER BY seq LIMIT ?", true: " ORDER BY seq DESC LIMIT ?"}[newest], 1)
			check(q)
			q = query{text: "SELECT " + rowColumns + rowTables + inBounds}
			f.within(&q, bounds{1, 100}, "d.seq", "d.")
			q.add(order(newest), 1)
			check(q)
		}
		check(f.listed("count(*)", 1, bounds{1, 100}))
		check(f.answeredOnes(bounds{1, 100}))
	}
	check(query{"SELECT " + rowColumns + rowTables + bySeq, []any{1}})
	for _, newest := range []bool{false, true} {
		q := bySeqs([]int64{1, 2, 3}, newest)
		check(query{"SELECT " + rowColumns + rowTables + q.text, q.args})
	}
	check(query{"SELECT " + rowColumns + rowTables + byID, []any{"x", "x"}})
	for _, text := range []string{
		removeListed, removeDecisions, fmt.Sprintf(removeBodies, ", ?"), removeKinds, removeSpans, selectCandidates, setWhole, setAnswer, setRan, setEnded,
	} {
		q := query{text: text}
		for range strings.Count(text, "?") {
			q.args = append(q.args, 1)
		}
		check(q)
	}
	var kinds [names.Kinds]bool
	kinds[names.Paths] = true
	timed := filter{decisions.RecordFilter{Since: time.Unix(1, 0), Until: time.Unix(2, 0)}}
	for _, f := range []filter{{}, timed} {
		q := f.named(1, 9, kinds)
		q.add(" ORDER BY n.span")
		check(q)
		one := section{bounds: bounds{1024, 2047}, named: true}
		one.set.Add(7)
		for _, newest := range []bool{false, true} {
			for _, q := range one.queries(&f, [][]byte{[]byte("x")}, newest) {
				q.text = "SELECT " + rowColumns + rowTables + q.text
				check(q)
				if plan := planOf(t, j, q); !strings.Contains(plan, "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)") {
					t.Errorf("%s\n%s", q.text, plan)
				}
			}
		}
	}
	check(query{selectCounts, []any{1, 9}})
	check(query{selectUnnamed, []any{9}})
	check(query{selectLost, []any{1, 9}})
	check(query{removeNames, []any{1, 9}})
	check(query{selectAllNames, []any{1}})
	check(query{selectIDs, []any{"x", "x", "x", "x", 1, 1, 1}})
	check(query{firstSpan, []any{1}})
	check(query{lastSpan, []any{1}})
	if len(seen) < 100 {
		t.Errorf("only %d queries were looked at", len(seen))
	}
}

// planOf returns SQLite's plan of a query.
func planOf(t *testing.T, j *Journal, q query) (plan string) {
	t.Helper()
	rows, err := j.db.Read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.text, q.args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		plan += step + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}
