//go:build cgo

package journal_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// TestListAgainstModel compares lists and counts with what a filter selects of all
// records, for random records and filters, while the records are in the spool, in
// the database, and both.
func TestListAgainstModel(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	var all []*decisions.Record
	records, filters := 2000, 80
	if testing.Short() {
		records, filters = 700, 30
	}
	for n := range records {
		rec := record(n)
		// Some records are of a time when the clock was wrong.
		rec.Time = noon.Add(time.Duration(n) * time.Second).Add(time.Duration(rnd.IntN(40)/39) * 1000 * time.Hour)
		rec.Session.ID, rec.Tool, rec.Agent.Name = pick("", "s1", "s2", fmt.Sprint("s", n)), pick("Bash", "Read", "Edit"), pick("a", "b")
		rec.Decision.Verdict = decisions.Verdict(pick("allow", "allow", "ask", "deny"))
		rec.Decision.By = decisions.DecidedBy(pick("policy", "memory"))
		rec.Peer.UID = uint32(rnd.IntN(2))
		if rnd.IntN(50) == 0 {
			rec.Decision.Outcome = decisions.Outcome(pick("unasked", string(decisions.RanDespiteDeny), "passed"))
		}
		mustAppend(t, j, rec)
		all = append(all, rec)
		if n == records/2 { // the first half is in the database
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			j = open(t, o)
		}
	}
	compareWithModel(t, j.Reader, all, rnd, filters)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := journal.OpenReadOnly(o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	compareWithModel(t, r, all, rnd, filters)
}

func compareWithModel(t *testing.T, r *journal.Reader, all []*decisions.Record, rnd *rand.Rand, n int) {
	t.Helper()
	some := func() *decisions.Record { return all[rnd.IntN(len(all))] }
	for range n {
		var f decisions.RecordFilter
		for _, set := range []func(){
			func() { f.Verdict = some().Decision.Verdict },
			func() { f.By = some().Decision.By },
			func() { f.Session = some().Session.ID },
			func() { f.Agent = some().Agent.Name },
			func() { f.Tool = some().Tool },
			func() { f.UID = &some().Peer.UID },
			func() { f.Unapproved = true },
			func() { f.Since = some().Time },
			func() { f.Until = some().Time },
			func() { f.After = some().Seq },
			func() { f.Before = some().Seq },
		} {
			if rnd.IntN(4) == 0 {
				set()
			}
		}
		var want []int64
		for _, rec := range all {
			if selects(&f, rec) {
				want = append(want, rec.Seq)
			}
		}
		if have, err := r.Count(t.Context(), f); err != nil || int(have) != len(want) {
			t.Fatalf("%+v: counted %d, %v; want %d", f, have, err, len(want))
		}
		f.Limit = 1 + rnd.IntN(60)
		if cut := len(want) - f.Limit; cut > 0 && f.After > 0 {
			want = want[:f.Limit]
		} else if cut > 0 {
			want = want[cut:]
		}
		recs, err := r.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var have []int64
		for _, rec := range recs {
			have = append(have, rec.Seq)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatalf("%+v: %s", f, diff)
		}
	}
}

// selects is a filter's meaning.
func selects(f *decisions.RecordFilter, r *decisions.Record) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return is(string(f.Verdict), string(r.Decision.Verdict)) && is(string(f.By), string(r.Decision.By)) && is(f.Session, r.Session.ID) &&
		is(f.Agent, r.Agent.Name) && is(f.Tool, r.Tool) && (f.UID == nil || *f.UID == r.Peer.UID) &&
		(!f.Unapproved || r.Decision.Outcome == decisions.RanUnprompted || r.Decision.Outcome == decisions.RanDespiteDeny) &&
		(f.Since.IsZero() || !r.Time.Before(f.Since)) && (f.Until.IsZero() || r.Time.Before(f.Until)) &&
		(f.After == 0 || r.Seq > f.After) && (f.Before == 0 || r.Seq < f.Before)
}

// TestListEarlierJournal: the records of an earlier permd are found by the same
// filters once they were migrated.
func TestListEarlierJournal(t *testing.T) {
	o := journal.Options{Path: path(t)}
	copyEarlier(t, o.Path)
	j := open(t, o)
	all, err := j.List(t.Context(), decisions.RecordFilter{Limit: 1000})
	if err != nil || len(all) < 40 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	filters := 200
	if testing.Short() {
		filters = 30
	}
	compareWithModel(t, j.Reader, all, rand.New(rand.NewPCG(3, 4)), filters)
	if names, err := filepath.Glob(filepath.Join(filepath.Dir(o.Path), "*.backup-*")); err != nil || len(names) > 0 {
		t.Errorf("a migration that only adds left backups: %v, %v", names, err)
	}
}

// copyEarlier puts the journal of an earlier permd at a path.
func copyEarlier(t *testing.T, path string) {
	t.Helper()
	from := filepath.Join("testdata", "9eb77c9")
	names, err := os.ReadDir(from)
	if err != nil || len(names) < 2 {
		t.Fatalf("the fixture is gone: %v, %v", names, err)
	}
	for _, n := range names {
		data, err := os.ReadFile(filepath.Join(from, n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), n.Name()), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIDs: ids are found by their beginning, in the database and before they are there.
func TestIDs(t *testing.T) {
	t.Parallel()
	j := open(t, journal.Options{Path: path(t)})
	ids := []string{"01a209f2-9f88-7daa-b9b7-1227f0f5bc93", "01a209f2-9f88-7daa-b9b7-1227f0f5bc94", "01a209f2-9f88-7dab-0000-000000000000", "02", "01A"}
	for _, id := range ids {
		rec := record(1)
		rec.Decision.ID = id
		if err := j.Append(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string][]string{
		"01a209f2": ids[:3], "01a209f2-9f88-7daa": ids[:2], "01a209f2-9f88-7daa-b9b7-1227f0f5bc9": ids[:2], ids[1]: ids[1:2], "0": ids, "02": ids[3:4], "%": nil, "_1": nil, "03": nil,
	} {
		got, err := j.IDs(t.Context(), nil, prefix, 10)
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", prefix, got, err, want)
		}
	}
	if got, err := j.IDs(t.Context(), nil, "0", 2); err != nil || len(got) != 2 {
		t.Errorf("two: %q, %v", got, err)
	}
}
