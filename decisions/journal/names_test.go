//go:build cgo

package journal_test

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/sqlitedb"
)

// namedRecord is a record that touches a path of its own.
func namedRecord(n int) *decisions.Record {
	rec := record(n)
	rec.Project = fmt.Sprint("/home/x/p", n%3)
	rec.Details = []decisions.EffectDetail{{Words: []string{"git", "show"}}, {Path: fmt.Sprintf("/home/x/file%d.go", n)}, {Host: fmt.Sprintf("h%d.example.com", n%7)}}
	return rec
}

// ofNamed is a closed journal of n records, with an index of names of its complete spans.
func ofNamed(t *testing.T, n int) journal.Options {
	t.Helper()
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	for first := 0; first < n; first += 100 {
		var recs []*decisions.Record
		for i := first; i < min(first+100, n); i++ {
			recs = append(recs, namedRecord(i+1))
		}
		mustAppend(t, j, recs...)
	}
	named(t, j, n)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return o
}

// execute changes a closed journal's database.
func execute(t *testing.T, o journal.Options, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", o.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range statements {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
}

// numbers returns the numbers of the records that a filter selects.
func numbers(t *testing.T, r *journal.Reader, f decisions.RecordFilter) (seqs []int64) {
	t.Helper()
	f.Limit = 1000
	for {
		p, err := r.Page(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range slices.Backward(p.Records) {
			seqs = append(seqs, rec.Seq)
		}
		if f.Before = p.Next; p.Next == 0 {
			return seqs
		}
	}
}

// counts counts decisions by program, project and host.
func counts(t *testing.T, r *journal.Reader, f decisions.RecordFilter) map[tally.Group]int64 {
	t.Helper()
	all := map[tally.Group]int64{}
	for {
		got, err := r.Tally(t.Context(), f, []tally.By{tally.Program, tally.Project, tally.Host}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range got.Groups {
			all[tally.Group{By: g.By, Name: g.Name}] += g.All()
		}
		if f.Before = got.Next; got.Next == 0 {
			return all
		}
	}
}

// TestNamesOfVersion7: a journal of version 7 gets its index of names, and finds the same before it
// has one.
func TestNamesOfVersion7(t *testing.T) {
	t.Parallel()
	o := ofNamed(t, 2100)
	execute(t, o, "DROP TABLE names", "PRAGMA user_version = 7")
	if _, err := journal.OpenReadOnly(o); !errors.Is(err, sqlitedb.ErrOlder) {
		t.Errorf("opened for reading: %v", err)
	}
	j := open(t, o)
	named(t, j, 2100)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	filters := []decisions.RecordFilter{{Path: "file77"}, {Host: "h3.example.com"}, {Project: "/home/x/p1", Verdict: decisions.Ask}, {Path: "none"}}
	var found [2][][]int64
	var counted [2][]map[tally.Group]int64
	for i := range found {
		r, err := journal.OpenReadOnly(o)
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Named(t); n != 2-2*i {
			t.Errorf("%d spans are in the index", n)
		}
		for _, f := range filters {
			found[i], counted[i] = append(found[i], numbers(t, r, f)), append(counted[i], counts(t, r, f))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		execute(t, o, "DELETE FROM names")
	}
	if diff := cmp.Diff(found[1], found[0]); diff != "" || len(found[0][0]) < 10 {
		t.Errorf("by names %d: %s", len(found[0][0]), diff)
	}
	if diff := cmp.Diff(counted[1], counted[0]); diff != "" {
		t.Error(diff)
	}
}

// TestNamesAreUsed: what the index says is found, and nothing else is read.
func TestNamesAreUsed(t *testing.T) {
	t.Parallel()
	o := ofNamed(t, 2100)
	// Only lists that read all records notice that.
	execute(t, o, "UPDATE bodies SET text = CAST('{}' AS BLOB) WHERE first BETWEEN 1024 AND 2047 AND first <> 1500")
	r, err := journal.OpenReadOnly(o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := numbers(t, r, decisions.RecordFilter{Path: "/file1500."}); !slices.Equal(got, []int64{1500}) {
		t.Errorf("found %d", got)
	}
	if n := counts(t, r, decisions.RecordFilter{})[tally.Group{By: tally.Project, Name: "/home/x/p1"}]; n != 700 {
		t.Errorf("counted %d", n)
	}
}

// TestNamesAreVerified changes the index of names, and nothing else.
func TestNamesAreVerified(t *testing.T) {
	t.Parallel()
	o := ofNamed(t, 2100)
	execute(t, o, "CREATE TABLE kept AS SELECT * FROM names")
	for _, tc := range []struct {
		do   string
		want verify.FaultKind
	}{
		{"UPDATE names SET paths = x'' WHERE span = 1", verify.Changed},
		{"UPDATE names SET hosts = (SELECT hosts FROM kept WHERE span = 0) WHERE span = 1", verify.Changed},
		{"UPDATE names SET counts = x'' WHERE span = 1", verify.Changed},
		{"UPDATE names SET decided = zeroblob(256) WHERE span = 0", verify.Changed},
		{"UPDATE names SET span = 2 WHERE span = 1", verify.Forged},
		{"INSERT INTO names SELECT 77, decided, counts, projects, programs, hosts, paths FROM kept WHERE span = 1", verify.Forged},
		{"DELETE FROM names WHERE span = 1", ""},               // its records are read
		{"UPDATE names SET decided = NULL WHERE span = 0", ""}, // likewise
	} {
		execute(t, o, tc.do)
		r, err := journal.OpenReadOnly(o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Verify(t.Context(), verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		faults := 0
		if tc.want != "" {
			faults = 1
		}
		if len(got.Faults) != faults || faults > 0 && (got.Faults[0].Kind != tc.want || !strings.Contains(got.Faults[0].Text, "names")) {
			t.Errorf("%s: %+v", tc.do, got.Faults)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		execute(t, o, "DELETE FROM names", "INSERT INTO names SELECT * FROM kept")
	}
}

// TestNamesOfTooMany: where decisions have more names than a row may have, they have none, and one
// that was forged hides them.
func TestNamesOfTooMany(t *testing.T) {
	t.Parallel()
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	for n := 1; n <= 1100; n++ {
		rec := namedRecord(n)
		rec.Details[1].Path += strings.Repeat("x", 1200)
		mustAppend(t, j, rec)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for do, want := range map[string]int{
		"INSERT OR REPLACE INTO names (span) VALUES (0)":                                  0,
		"INSERT OR REPLACE INTO names VALUES (0, zeroblob(256), x'', x'', x'', x'', x'')": 1,
	} {
		execute(t, o, do)
		r, err := journal.OpenReadOnly(o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Verify(t.Context(), verify.Options{})
		if err != nil || len(got.Faults) != want || want > 0 && got.Faults[0].Kind != verify.Changed {
			t.Errorf("%s: %+v, %v", do, got, err)
		}
		if n := r.Named(t); n != want {
			t.Errorf("%s: %d spans are in the index", do, n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNamesForged: a row for decisions to come is dropped at the start, so that it hides none of
// them.
func TestNamesForged(t *testing.T) {
	t.Parallel()
	o := ofNamed(t, 1100)
	execute(t, o, "INSERT INTO names SELECT 1, decided, counts, x'', x'', x'', x'' FROM names WHERE span = 0")
	j := open(t, o)
	for n := 1101; n <= 2100; n++ {
		mustAppend(t, j, namedRecord(n))
	}
	named(t, j, 2100)
	if got := numbers(t, j.Reader, decisions.RecordFilter{Path: "/file1500."}); !slices.Equal(got, []int64{1500}) {
		t.Errorf("found %d", got)
	}
}

// TestNamesRemoved: what retention removes has no name left, and what it keeps is found.
func TestNamesRemoved(t *testing.T) {
	t.Parallel()
	o := ofNamed(t, 3200)
	o.MaxBytes = 1 << 20
	j := open(t, o)
	eventually.Holds(t, "old decisions are removed", func() bool { return j.Status().Retention.Removed > 1100 })
	journal.Drained(t, j)
	journal.Consistent(t, j.Reader)
	kept := numbers(t, j.Reader, decisions.RecordFilter{})
	for _, text := range []string{"/file", "file1", "file3000."} {
		var want []int64
		for _, seq := range kept {
			if strings.Contains(fmt.Sprintf("/home/x/file%d.go", seq), text) {
				want = append(want, seq)
			}
		}
		if diff := cmp.Diff(want, numbers(t, j.Reader, decisions.RecordFilter{Path: text})); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// TestNamesFail: where the index cannot be written, decisions are stored and found as before, the log
// says so once, and it is made when that is possible again.
func TestNamesFail(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	o := journal.Options{Path: path(t), Log: slog.New(slog.NewTextHandler(&log, nil))}
	j := open(t, o)
	execute(t, o, "CREATE TRIGGER fails BEFORE INSERT ON names BEGIN SELECT RAISE(ABORT, 'broken'); END")
	for n := 1; n <= 1100; n++ {
		mustAppend(t, j, namedRecord(n))
	}
	eventually.Holds(t, "the log says so", func() bool { return strings.Contains(log.String(), "broken") })
	mustAppend(t, j, namedRecord(1101))
	if got := numbers(t, j.Reader, decisions.RecordFilter{Path: "/file1"}); len(got) != 213 || j.Named(t) != 0 || j.Status().Stalled != "" {
		t.Errorf("found %d, %d spans, %s", len(got), j.Named(t), j.Status().Stalled)
	}
	execute(t, o, "DROP TRIGGER fails")
	mustAppend(t, j, namedRecord(1102))
	named(t, j, 1102)
	if n := strings.Count(log.String(), "broken"); n != 1 {
		t.Errorf("the log says so %d times", n)
	}
}

// lockedBuffer is written and read by several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
