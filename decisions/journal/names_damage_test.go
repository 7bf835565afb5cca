//go:build cgo

package journal_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/internal/eventually"
)

// TestNamesUnreadable: where a page of the index cannot be read, decisions are found and counted.
func TestNamesUnreadable(t *testing.T) {
	t.Parallel()
	o := ofNamed(t, 2100)
	var found [2][]int64
	var counted [2]map[tally.Group]int64
	for i := range found {
		r, err := journal.OpenReadOnly(o)
		if err != nil {
			t.Fatal(err)
		}
		found[i], counted[i] = numbers(t, r, decisions.RecordFilter{Path: "file77"}), counts(t, r, decisions.RecordFilter{Host: "h3.example.com"})
		if n := total(t, r); n != 2100 {
			t.Errorf("counted %d", n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		spoil(t, o, "names")
	}
	if diff := cmp.Diff(found[0], found[1]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(counted[0], counted[1]); diff != "" {
		t.Error(diff)
	}
}

// TestNamesNotRemoved: where names cannot be removed, decisions are, and what has names of removed
// ones is not used.
func TestNamesNotRemoved(t *testing.T) {
	t.Parallel()
	o := ofNamed(t, 1100)
	o.MaxBytes = 2 << 20
	var log lockedBuffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	j := open(t, o)
	execute(t, o, "CREATE TRIGGER fails BEFORE DELETE ON names BEGIN SELECT RAISE(ABORT, 'broken'); END")
	for n := 1101; n <= 6000; n++ {
		mustAppend(t, j, namedRecord(n))
	}
	eventually.Holds(t, "old decisions are removed", func() bool { return j.Status().Retention.Removed > 1100 })
	journal.Drained(t, j)
	if !strings.Contains(log.String(), "until the next start") {
		t.Error(log.String())
	}
	if n, kept := total(t, j.Reader), numbers(t, j.Reader, decisions.RecordFilter{}); int(n) != len(kept) {
		t.Errorf("counted %d, %d are there", n, len(kept))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, o, "DROP TRIGGER fails")
	var found [2]map[tally.Group]int64
	for i := range found {
		r, err := journal.OpenReadOnly(o)
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Named(t); (n > 0) != (i == 0) {
			t.Errorf("%d spans are in the index", n)
		}
		found[i] = counts(t, r, decisions.RecordFilter{})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		execute(t, o, "DELETE FROM names")
	}
	if diff := cmp.Diff(found[1], found[0]); diff != "" {
		t.Error(diff)
	}
}

// total counts all decisions.
func total(t *testing.T, r *journal.Reader) (n int64) {
	t.Helper()
	got, err := r.Tally(t.Context(), decisions.RecordFilter{}, []tally.By{tally.Verdict}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range got.Groups {
		n += g.All()
	}
	return n
}

// spoil overwrites the first page of a table in a closed journal.
func spoil(t *testing.T, o journal.Options, table string) {
	t.Helper()
	db, err := sql.Open("sqlite3", o.Path)
	if err != nil {
		t.Fatal(err)
	}
	var root, size int64
	if err := db.QueryRow("SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?", table).Scan(&root, &size); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(o.Path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, int(size)), (root-1)*size); err != nil {
		t.Fatal(err)
	}
}

// TestNamesStale: names of a span that has lost decisions since they were stored are not used.
func TestNamesStale(t *testing.T) {
	t.Parallel()
	o := ofNamed(t, 2100)
	const removed = " WHERE seq < 1024 AND seq % 100 > 0"
	execute(t, o, "DELETE FROM listed"+removed, "DELETE FROM decisions"+removed, "UPDATE retained SET cut = 1023")
	var counted [2]map[tally.Group]int64
	for i := range counted {
		r, err := journal.OpenReadOnly(o)
		if err != nil {
			t.Fatal(err)
		}
		counted[i] = counts(t, r, decisions.RecordFilter{})
		if n := total(t, r); n != 2100-1023+10 {
			t.Errorf("counted %d", n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		execute(t, o, "DELETE FROM names")
	}
	if diff := cmp.Diff(counted[1], counted[0]); diff != "" {
		t.Error(diff)
	}
}

// TestNamesEmpty: a row that lacks what each decision has is not used.
func TestNamesEmpty(t *testing.T) {
	t.Parallel()
	o := ofNamed(t, 2100)
	for _, column := range []string{"counts", "projects", "programs"} {
		execute(t, o, "UPDATE names SET "+column+" = x'' WHERE span = 1")
		r, err := journal.OpenReadOnly(o)
		if err != nil {
			t.Fatal(err)
		}
		if n := total(t, r); n != 2100 {
			t.Errorf("%s: counted %d", column, n)
		}
		if n := len(numbers(t, r, decisions.RecordFilter{Project: "/home/x/p1"})); n != 700 {
			t.Errorf("%s: found %d", column, n)
		}
		have := counts(t, r, decisions.RecordFilter{})
		if p, g := have[tally.Group{By: tally.Project, Name: "/home/x/p1"}], have[tally.Group{By: tally.Program, Name: "git"}]; p != 700 || g != 2100 {
			t.Errorf("%s: counted %d and %d", column, p, g)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNamesFailOfOne: where the row of one span cannot be made, those of older ones are, and the log
// says when all are.
func TestNamesFailOfOne(t *testing.T) {
	t.Parallel()
	o := journal.Options{Path: path(t)}
	var log lockedBuffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	j := open(t, o)
	const trigger = "CREATE TRIGGER fails BEFORE INSERT ON names WHEN NEW.span >= %d BEGIN SELECT RAISE(ABORT, 'broken'); END"
	execute(t, o, fmt.Sprintf(trigger, 0))
	n := 0
	add := func() { n++; mustAppend(t, j, namedRecord(n)) }
	for n < 5200 {
		add()
	}
	eventually.Holds(t, "the log says so", func() bool { return strings.Contains(log.String(), "broken") })
	execute(t, o, "DROP TRIGGER fails", fmt.Sprintf(trigger, 4))
	eventually.Holds(t, "the older ones are made", func() bool { add(); return j.Named(t) == 4 })
	execute(t, o, "DROP TRIGGER fails")
	eventually.Holds(t, "the log says that all are made", func() bool { add(); return strings.Contains(log.String(), "kept again") })
	if n, broken := j.Named(t), strings.Count(log.String(), "broken"); n < 5 || broken != 1 {
		t.Errorf("%d are made, and the log says %d times that one cannot be", n, broken)
	}
}
