//go:build cgo

package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// TestEarlierJournal opens the journal of an earlier permd that was killed: the
// contents of its database and its spool are read, in order and complete, and
// further decisions follow them. remember/testdata/9eb77c9/README.md says how it was
// made.
func TestEarlierJournal(t *testing.T) {
	o := journal.Options{Path: path(t)}
	from := filepath.Join("testdata", "9eb77c9")
	names, err := os.ReadDir(from)
	if err != nil || len(names) < 2 {
		t.Fatalf("the fixture is gone: %v, %v", names, err)
	}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		data, err := os.ReadFile(filepath.Join(from, n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(o.Path), n.Name()), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j := open(t, o)
	recs, err := j.List(t.Context(), decisions.RecordFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[decisions.Verdict]int{}
	answers := 0
	for i, r := range recs {
		if r.Seq != int64(i+1) {
			t.Errorf("record %d is number %d", i, r.Seq)
		}
		if r.Details != nil {
			t.Errorf("record %d has details, which there were none of", i)
		}
		verdicts[r.Decision.Verdict]++
		if r.Answer != nil {
			answers++
			if r.Answer.Author != nil {
				t.Errorf("record %d has an author, which was not stored then", i)
			}
		}
	}
	const spooled = 2 // git status and make last
	if len(recs) != 41+spooled || verdicts[decisions.Ask] == 0 || verdicts[decisions.Allow] == 0 || answers < 30 {
		t.Errorf("%d records, %v, %d with an answer", len(recs), verdicts, answers)
	}
	for i, want := range []string{"run git status", "run make last"} {
		if got := recs[41+i].Decision.Effects[0].Text; got != want {
			t.Errorf("record %d of the spool is about %q, want %q", i, got, want)
		}
	}
	last, err := j.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, j, record(1000))
	if now, err := j.Last(t.Context()); err != nil || now != last+1 {
		t.Errorf("the next record is number %d, %v; want %d", now, err, last+1)
	}
}
