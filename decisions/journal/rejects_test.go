//go:build cgo

package journal_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// TestRejects: the ids that were kept last are there at the next start.
func TestRejects(t *testing.T) {
	o := journal.Options{Path: path(t)}
	for n, ids := range [][]string{{"a", "b", "c"}, {"b", "d"}, nil, {"e"}} {
		j, err := journal.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		j.KeepRejects([]string{"never stored"})
		j.KeepRejects(ids)
		mustAppend(t, j, record(n+1))
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if j, err = journal.Open(o); err != nil {
			t.Fatal(err)
		}
		got := j.Rejects()
		slices.Sort(got)
		if !slices.Equal(got, ids) {
			t.Errorf("kept %q, have %q", ids, got)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRejectsBounded: what is too much is left out, and the rest is kept.
func TestRejectsBounded(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	ids := []string{strings.Repeat("x", 65)}
	for n := range journal.MaxRejects + 10 {
		ids = append(ids, fmt.Sprintf("id%d", n))
	}
	j.KeepRejects(ids)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	got := open(t, o).Rejects()
	if len(got) != journal.MaxRejects || !slices.Contains(got, "id0") || slices.Contains(got, ids[0]) {
		t.Errorf("%d ids are kept, want the first %d that fit", len(got), journal.MaxRejects)
	}
}

// TestRejectsOfVersion2: a journal without the table gets it, and keeps what it has.
func TestRejectsOfVersion2(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	mustAppend(t, j, record(1))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", o.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"DROP TABLE names", "DROP INDEX decisions_answered", "DROP TABLE chain", "DROP TABLE notes", "ALTER TABLE retained DROP COLUMN hash", "ALTER TABLE retained DROP COLUMN entries",
		"DROP TABLE rejects", "ALTER TABLE decisions DROP COLUMN ran_at",
		"ALTER TABLE decisions DROP COLUMN ended_at", "ALTER TABLE decisions DROP COLUMN ended_as", "PRAGMA user_version = 2"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, o)
	if got := j.Rejects(); len(got) != 0 {
		t.Errorf("rejects: %q", got)
	}
	if recs, err := j.List(t.Context(), decisions.RecordFilter{}); err != nil || len(recs) != 1 {
		t.Errorf("%d records, %v; want the one that was there", len(recs), err)
	}
	if s := j.Status(); s.Damaged != "" {
		t.Errorf("set aside: %s", s.Damaged)
	}
}
